//! DeviceClasses: which extended resources they serve.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// All DeviceClasses, as the writer keeps them.
#[derive(Debug, Default)]
pub(crate) struct DeviceClasses {
    by_name: FxHashMap<Arc<str>, Vec<Arc<str>>>,
    served: Arc<FxHashSet<Arc<str>>>,
}

impl DeviceClasses {
    /// The extended resources that some class serves.
    pub(crate) fn served(&self) -> &Arc<FxHashSet<Arc<str>>> {
        &self.served
    }

    /// Whether a class is held that serves just these resources.
    pub(crate) fn holds(&self, name: &str, serves: &[Arc<str>]) -> bool {
        self.by_name.get(name).is_some_and(|held| held == serves)
    }

    /// Adds a class, or replaces the resources that it serves; true where that changes what all classes serve.
    pub(crate) fn insert(&mut self, name: &str, serves: &[Arc<str>]) -> bool {
        if self.holds(name, serves) {
            return false;
        }
        self.by_name.insert(Arc::from(name), serves.to_vec());
        self.update_served()
    }

    /// Removes a class; true where that changes what all classes serve.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some() && self.update_served()
    }

    fn update_served(&mut self) -> bool {
        let served: FxHashSet<Arc<str>> = self.by_name.values().flatten().map(Arc::clone).collect();
        let changes = *self.served != served;
        if changes {
            self.served = Arc::new(served);
        }
        changes
    }
}
