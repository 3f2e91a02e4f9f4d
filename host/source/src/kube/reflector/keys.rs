//! Which annotations the objects of a kind are compiled with. They change only with a list: so what is held of a kind always
//! has the same. Start at [`Keys`].

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::change::Compiler;
use nodesift_object::Kind;

/// The annotation keys of one kind.
#[derive(Debug)]
pub(in crate::kube) struct Keys {
    /// Those that policies list, sorted. `None` for a kind whose annotations no predicate reads.
    wanted: Option<watch::Receiver<Arc<[String]>>>,
    /// Of the newest list that was delivered; before the first, of those wanted at the beginning.
    compiler: Mutex<Compiler>,
}

impl Keys {
    /// Of a kind that has not been listed yet.
    pub(in crate::kube) fn new(kind: Kind, compiler: Compiler, wanted: &watch::Receiver<Arc<[String]>>) -> Self {
        let wanted = has_annotations(kind).then(|| wanted.clone());
        let first = wanted.as_ref().map(|wanted| Arc::clone(&wanted.borrow()));
        let compiler = compiler.with_annotations(&first.unwrap_or_default());
        Self { wanted, compiler: Mutex::new(compiler) }
    }

    /// The compiler of the newest list that was delivered.
    pub(in crate::kube) fn compiler(&self) -> Compiler {
        self.compiler.lock().clone()
    }

    /// A compiler with the keys that are wanted now.
    pub(super) fn wanted(&self) -> Compiler {
        let compiler = self.compiler();
        match &self.wanted {
            Some(wanted) => compiler.with_annotations(&wanted.borrow()),
            None => compiler,
        }
    }

    /// Tells of changes of the keys that are wanted.
    pub(super) fn changes(&self) -> Option<watch::Receiver<Arc<[String]>>> {
        self.wanted.clone()
    }

    /// Whether the newest list that was delivered has these keys, as far as they matter to the kind.
    pub(in crate::kube) fn cover(&self, keys: &[String]) -> bool {
        self.wanted.is_none() || covers(&self.compiler.lock(), keys)
    }

    /// A list has been delivered that this has compiled.
    pub(super) fn delivered(&self, compiler: &Compiler) {
        *self.compiler.lock() = compiler.clone();
    }
}

/// Whether predicates can read annotations of a kind.
pub(in crate::kube) fn has_annotations(kind: Kind) -> bool {
    matches!(kind, Kind::Node | Kind::Pod)
}

/// Whether a compiler keeps the annotations with these keys.
pub(super) fn covers(compiler: &Compiler, keys: &[String]) -> bool {
    keys.iter().all(|key| compiler.annotation_keys().binary_search(key).is_ok())
}

/// Waits until other keys are wanted; for ever where that cannot happen.
pub(super) async fn changed(wanted: Option<watch::Receiver<Arc<[String]>>>) {
    if let Some(mut wanted) = wanted
        && wanted.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
