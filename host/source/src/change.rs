//! Reports of a source: compiled objects, and the changes that bring them into the cache.
//!
//! Objects are compiled where they are decoded. So neither the queue of the feed nor the cache's writer ever holds more of an object than
//! the cache keeps. Start at [`Change`]; a [`Compiler`] makes a [`Record`] of an object.

use std::sync::Arc;

use nodesift_cache::CurrentAccountant;
use nodesift_cache::metadata::{Accountant, AccountedNode, NodeFacts, PodFacts, Pool, Selection};
pub use nodesift_cache::{Identity, Record};
use nodesift_object::{Kind, Object};

/// Kind and UID: what identifies an object for as long as it exists.
pub type ObjectId = (Kind, Arc<str>);

/// Compiled object with its identity.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Kind, key, UID and resourceVersion of the object.
    pub identity: Identity,
    /// Compiled object, in the form in which the cache keeps it.
    pub record: Record,
}

impl Compiled {
    /// Whether the object has no UID, or none that could be read, and its key stands for it.
    pub(crate) fn is_without_uid(&self) -> bool {
        self.identity.uid == self.identity.key
    }
}

/// Change that a source delivers to the feed.
#[derive(Debug)]
pub enum Change {
    /// A change of one object.
    Object(ObjectChange),
    /// A whole list of one kind, which replaces all that is held of it. Applied and published as one step.
    Replaced {
        /// The kind of all objects of the list.
        kind: Kind,
        /// All objects of the list.
        objects: Vec<Compiled>,
        /// `metadata.resourceVersion` of the list; empty where the source has none.
        version: Arc<str>,
    },
    /// A whole list of one kind that was compiled otherwise than the list before, such as with more annotations: an object of the list also
    /// replaces what is held of it at the same resourceVersion. The kind is synced again once all of them have been applied.
    Recompiled {
        /// The kind of all objects of the list.
        kind: Kind,
        /// All objects of the list.
        objects: Vec<Compiled>,
        /// `metadata.resourceVersion` of the list.
        version: Arc<str>,
    },
    /// A whole list of one kind after the cluster was restored from a backup: the list is right although its versions are older than those
    /// before, and replaces all that is held of the kind, at whatever version. The versions that were known of it are forgotten.
    Restored {
        /// The kind of all objects of the list.
        kind: Kind,
        /// All objects of the list.
        objects: Vec<Compiled>,
        /// `metadata.resourceVersion` of the list.
        version: Arc<str>,
    },
    /// The kind is not followed any more: all that is held of it goes, and what is known of its versions. Until its next list
    /// nothing of it is applied.
    Dropped {
        /// Kind that is dropped.
        kind: Kind,
    },
    /// Everything of a kind up to a resourceVersion was delivered before this.
    Bookmark {
        /// Kind of the objects.
        kind: Kind,
        /// `metadata.resourceVersion` of the bookmark.
        version: Arc<str>,
    },
}

/// A change of one object.
#[derive(Debug, Clone)]
pub enum ObjectChange {
    /// It was added or modified.
    Applied(Compiled),
    /// It was deleted, at this resourceVersion.
    Deleted(Identity),
    /// Like [`ObjectChange::Applied`], but it also replaces what is held at the same resourceVersion: an audit found drift, or
    /// an earlier attempt may have stopped halfway.
    Repaired(Compiled),
    /// The object is to be looked at again: a waiting retry is attempted now, and the counts of a pod are recounted.
    Requeued(ObjectId),
}

impl From<ObjectChange> for Change {
    fn from(change: ObjectChange) -> Self {
        Self::Object(change)
    }
}

impl ObjectChange {
    /// Kind and UID of the object.
    pub fn id(&self) -> ObjectId {
        match self {
            Self::Applied(object) | Self::Repaired(object) => object.identity.id(),
            Self::Deleted(deleted) => deleted.id(),
            Self::Requeued((kind, uid)) => (*kind, Arc::clone(uid)),
        }
    }

    /// The object's identity; `None` for [`ObjectChange::Requeued`], which knows only the UID.
    pub fn identity(&self) -> Option<&Identity> {
        match self {
            Self::Applied(object) | Self::Repaired(object) => Some(&object.identity),
            Self::Deleted(deleted) => Some(deleted),
            Self::Requeued(_) => None,
        }
    }

    /// The resourceVersion; empty where there is none.
    pub(crate) fn version(&self) -> &str {
        self.identity().map_or("", |identity| &identity.version)
    }
}

/// Compiles objects. Clones share a pool: equal labels, facts and texts of all objects are held once. Any number of threads
/// can compile at the same time.
#[derive(Debug, Clone)]
pub struct Compiler {
    own_schedulers: Arc<[String]>,
    selection: Selection,
    pool: Pool,
    accountant: CurrentAccountant,
}

impl Compiler {
    /// A compiler with an empty pool. `own_schedulers` are the scheduler names of the policy: the pods of any other are
    /// foreign.
    pub fn new(own_schedulers: &[String]) -> Self {
        let (selection, pool, accountant) = (Selection::default(), Pool::default(), CurrentAccountant::default());
        Self { own_schedulers: own_schedulers.into(), selection, pool, accountant }
    }

    /// Has this account for pods and nodes, while it has an accountant.
    #[must_use]
    pub fn accounting_by(self, accountant: &CurrentAccountant) -> Self {
        Self { accountant: accountant.clone(), ..self }
    }

    /// Keeps this as well. Without it, only what every policy may read is kept.
    #[must_use]
    pub fn selecting(self, selection: &Selection) -> Self {
        Self { selection: selection.clone(), ..self }
    }

    /// Returns the selection that it keeps beyond what every policy may read.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Compiles an object, and accounts for it.
    pub fn compile(&self, object: &Object) -> Compiled {
        let mut compiled = self.compile_unaccounted(object);
        self.account(std::slice::from_mut(&mut compiled));
        compiled
    }

    /// Compiles objects, and accounts for them together.
    pub fn compile_all(&self, objects: &[Object]) -> Vec<Compiled> {
        let mut compiled: Vec<Compiled> = objects.iter().map(|object| self.compile_unaccounted(object)).collect();
        self.account(&mut compiled);
        compiled
    }

    /// Accounts for objects that have been compiled without. Pods of one template are accounted for once.
    pub(crate) fn account(&self, objects: &mut [Compiled]) {
        if let Some(accountant) = self.accountant.get() {
            account_for_pods(&*accountant, objects);
            account_for_nodes(&*accountant, objects);
        }
    }

    /// Compiles an object. [`Self::account`] is left to the caller, who has more of them.
    pub(crate) fn compile_unaccounted(&self, object: &Object) -> Compiled {
        let record = Record::compile(object, &self.pool, &self.own_schedulers, &self.selection);
        Compiled { identity: identity(object, &record), record }
    }
}

/// Gives pods their accounts. The account of one that is not known is left to whoever knows the last one.
fn account_for_pods(accountant: &dyn Accountant, objects: &mut [Compiled]) {
    let facts = objects.iter().filter_map(|object| match &object.record {
        Record::Pod(pod) => Some(&pod.facts),
        _ => None,
    });
    let facts: Vec<&Arc<PodFacts>> = facts.collect();
    if facts.is_empty() {
        return;
    }
    let accounts = accountant.pods(&facts);
    let pods = objects.iter_mut().filter_map(|object| match &mut object.record {
        Record::Pod(pod) => Some(pod),
        _ => None,
    });
    for (pod, account) in pods.zip(accounts) {
        if let Ok(Some(account)) = account {
            Arc::make_mut(pod).account = Some(account);
        }
    }
}

/// Gives nodes what they add to sums.
fn account_for_nodes(accountant: &dyn Accountant, objects: &mut [Compiled]) {
    let nodes = objects.iter_mut().filter_map(|object| match &mut object.record {
        Record::Node(node) => Some(Arc::make_mut(node)),
        _ => None,
    });
    let mut nodes: Vec<&mut NodeFacts> = nodes.collect();
    if nodes.is_empty() {
        return;
    }
    let read: Vec<AccountedNode> = nodes.iter().map(|node| AccountedNode::new(node)).collect();
    for (node, sums) in nodes.iter_mut().zip(accountant.nodes(&read)) {
        node.sums = sums.unwrap_or_default();
    }
}

/// An object's identity. That of a pod shares its texts with the record.
fn identity(object: &Object, record: &Record) -> Identity {
    let kind = object.kind();
    let key: Arc<str> = object.key().into();
    if let Record::Pod(pod) = record {
        return Identity { kind, key, uid: Arc::clone(&pod.uid), version: Arc::clone(&pod.resource_version) };
    }
    let (uid, version) = object.identity();
    let uid = if uid.is_empty() { Arc::clone(&key) } else { Arc::from(uid) };
    Identity { kind, key, uid, version: Arc::from(version) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// A kind that is declared and not compiled, applied, compared or removed fails here.
    #[test]
    fn an_object_of_every_kind_is_held_until_it_is_removed() {
        let (mut writer, _reader) = nodesift_cache::new();
        for kind in Kind::ALL {
            let json = r#"{"metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7"}}"#;
            let object = nodesift_object::decode::decode(kind, json).unwrap();
            assert_eq!(object.kind(), kind);
            let Compiled { identity, record } = Compiler::new(&[]).compile(&object);
            let key = if kind.info().namespaced { "ns/a" } else { "a" };
            assert_eq!((&*identity.key, &*identity.uid, &*identity.version), (key, "u", "7"), "{kind}");
            assert!(!writer.holds(&record), "{kind}");
            writer.apply(record.clone());
            assert!(writer.holds(&record), "{kind}");
            writer.publish();
            writer.remove(&identity);
            assert!(!writer.holds(&record), "{kind}");
        }
    }
}
