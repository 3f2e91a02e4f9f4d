//! Selection with which the objects of a kind are compiled, beyond what every policy reads, such as annotations. It changes only with a
//! list: so what is held of a kind always has the same. Start at [`Keys`].

use std::sync::Arc;

use nodesift_cache::metadata::Selection;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::change::Compiler;
use nodesift_object::Kind;

/// Compiler of one kind's objects, and the selection that policies want.
#[derive(Debug)]
pub(in crate::kube) struct Keys {
    kind: Kind,
    /// Selection of all policies; `None` for a kind of which all read the same.
    wanted: Option<watch::Receiver<Arc<Selection>>>,
    /// Of the newest list that was delivered; before the first, of what was wanted at the beginning.
    compiler: Mutex<Compiler>,
}

impl Keys {
    /// Of a kind that has not been listed yet.
    pub(in crate::kube) fn new(kind: Kind, compiler: Compiler, wanted: &watch::Receiver<Arc<Selection>>) -> Self {
        let wanted = has_annotations(kind).then(|| wanted.clone());
        let keys = Self { kind, wanted, compiler: Mutex::new(compiler) };
        let first = keys.wanted();
        Self { compiler: Mutex::new(first), ..keys }
    }

    /// The compiler of the newest list that was delivered.
    pub(in crate::kube) fn compiler(&self) -> Compiler {
        self.compiler.lock().clone()
    }

    /// A compiler with what is wanted now.
    pub(super) fn wanted(&self) -> Compiler {
        let compiler = self.compiler();
        match &self.wanted {
            Some(wanted) => compiler.selecting(&selection_of(self.kind, &wanted.borrow())),
            None => compiler,
        }
    }

    /// Tells of changes of what is wanted.
    pub(super) fn changes(&self) -> Option<watch::Receiver<Arc<Selection>>> {
        self.wanted.clone()
    }

    /// Whether the newest list that was delivered has all of this, as far as it matters to the kind.
    pub(in crate::kube) fn cover(&self, selection: &Selection) -> bool {
        self.wanted.is_none() || covers(&self.compiler.lock(), self.kind, selection)
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

/// Returns the part of a selection that is about a kind.
pub(in crate::kube) fn selection_of(kind: Kind, selection: &Selection) -> Selection {
    match kind {
        Kind::Pod => selection.for_pods(),
        Kind::Node => selection.for_nodes(),
        Kind::ConfigMap => selection.for_config_maps(),
        _ => Selection::default(),
    }
}

/// Whether a compiler keeps what is selected of a kind.
pub(super) fn covers(compiler: &Compiler, kind: Kind, selection: &Selection) -> bool {
    compiler.selection().covers(&selection_of(kind, selection))
}

/// Waits until something else is wanted; for ever where that cannot happen.
pub(super) async fn changed(wanted: Option<watch::Receiver<Arc<Selection>>>) {
    if let Some(mut wanted) = wanted
        && wanted.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
