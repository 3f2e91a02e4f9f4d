//! DeviceClasses by name, and by the extended resource that they serve. Start at [`Classes`].

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::metadata::ClassRecord;
use crate::metadata::requests::DEVICE_CLASS_PREFIX;

/// All classes. They are few and seldom change: a change copies both maps.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    by_name: BTreeMap<Arc<str>, Arc<ClassRecord>>,
    /// Classes by the extended resource that they serve by their `extendedResourceName`.
    serving: FxHashMap<Arc<str>, Arc<ClassRecord>>,
}

impl Classes {
    /// The class of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Arc<ClassRecord>> {
        self.by_name.get(name)
    }

    /// All classes, in the order of names.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<ClassRecord>> {
        self.by_name.values()
    }

    /// The class that serves an extended resource: by the name of the resource the class in it, else of those that name it the
    /// youngest, then the one with the lower name.
    pub(super) fn serving(&self, resource: &str) -> Option<&Arc<ClassRecord>> {
        match resource.strip_prefix(DEVICE_CLASS_PREFIX) {
            Some(class) => self.get(class),
            None => self.serving.get(resource),
        }
    }

    /// Adds a class, or replaces the one of its name.
    pub(super) fn insert(&mut self, class: ClassRecord) {
        self.by_name.insert(Arc::clone(&class.name), Arc::new(class));
        self.update_serving();
    }

    /// Removes the class of this name, if there is one.
    pub(super) fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
        self.update_serving();
    }

    fn update_serving(&mut self) {
        self.serving.clear();
        for class in self.by_name.values() {
            let Some(resource) = &class.serves else { continue };
            let best = self.serving.entry(Arc::clone(resource)).or_insert_with(|| Arc::clone(class));
            let rank = |class: &ClassRecord| (class.created, Reverse(Arc::clone(&class.name)));
            if rank(class) > rank(best) {
                *best = Arc::clone(class);
            }
        }
    }
}
