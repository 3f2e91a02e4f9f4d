//! What a source tells the cache: an object appeared or changed, one is gone, a whole list replaces what was known.
//!
//! Objects are compiled where they are read, so that neither the queue nor the thread that applies them ever holds more
//! than what is kept. Start at [`Change`]; a [`Compiler`] makes what is kept out of an object.

use std::sync::Arc;

use nodesift_cache::metadata::{self, Labels, NodeFacts, PodRecord, Pool, StorageRecord};
use nodesift_object::{Kind, Object, Workload};

/// Which object, at which version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its kind.
    pub kind: Kind,
    /// `namespace/name` of what is in a namespace, the name of anything else.
    pub key: Arc<str>,
    /// `metadata.uid`; the key where the source has none.
    pub uid: Arc<str>,
    /// `metadata.resourceVersion`; empty where the source has none.
    pub version: Arc<str>,
}

/// What is kept of an object.
#[derive(Debug, Clone)]
pub enum Record {
    /// A node.
    Node(Box<NodeFacts>),
    /// A pod that takes room, or waits for some.
    Pod(Arc<PodRecord>),
    /// A pod that has ended for good: known to exist, and kept nowhere.
    EndedPod,
    /// A namespace's labels.
    Namespace(Labels),
    /// The extended resources that a DeviceClass serves.
    DeviceClass(Vec<Arc<str>>),
    /// A service or controller.
    Workload(Box<Workload>),
    /// A storage object.
    Storage(Box<StorageRecord>),
    /// An object that is there and cannot be read, as a whole list finds it: what was known of it stays, since it is not
    /// gone; if nothing was known, nothing is.
    Unreadable,
}

/// An object, compiled.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Which object.
    pub identity: Identity,
    /// What is kept of it.
    pub record: Record,
}

impl Compiled {
    /// Whether its UID was not given, or could not be read.
    pub(super) fn is_without_uid(&self) -> bool {
        self.identity.uid == self.identity.key
    }
}

/// Something that a source has seen.
#[derive(Debug)]
pub enum Change {
    /// An object appeared or changed.
    Applied(Compiled),
    /// An object is gone.
    Gone(Identity),
    /// A whole list of one kind: what is not in it is gone. Applied as one step.
    Replaced {
        /// The kind of all objects of the list.
        kind: Kind,
        /// All of them.
        objects: Vec<Compiled>,
        /// `metadata.resourceVersion` of the list; empty where the source has none.
        version: Arc<str>,
    },
    /// Everything of a kind up to a version has been delivered before this.
    Seen {
        /// The kind.
        kind: Kind,
        /// `metadata.resourceVersion` of a bookmark.
        version: Arc<str>,
    },
}

/// Compiles objects where they are read; clones share what compiled objects have in common, on any number of threads.
#[derive(Debug, Clone)]
pub struct Compiler {
    own_schedulers: Arc<[String]>,
    annotation_keys: Arc<[String]>,
    pool: Pool,
}

impl Compiler {
    /// `own_schedulers` are the schedulers of the policy: the pods of any other are foreign.
    pub fn new(own_schedulers: &[String]) -> Self {
        Self { own_schedulers: own_schedulers.into(), annotation_keys: Arc::default(), pool: Pool::default() }
    }

    /// Keeps the annotations with these keys, which are sorted. Without this, all annotations are dropped.
    #[must_use]
    pub fn with_annotations(self, annotation_keys: &[String]) -> Self {
        Self { annotation_keys: annotation_keys.into(), ..self }
    }

    /// Compiles an object.
    pub fn compile(&self, object: &Object) -> Compiled {
        let record = match object {
            Object::Node(node) => Record::Node(Box::new(self.pool.node(node, &self.annotation_keys))),
            Object::Pod(pod) if metadata::is_terminated(pod) => Record::EndedPod,
            Object::Pod(pod) => {
                Record::Pod(Arc::new(self.pool.pod_record(pod, &self.own_schedulers, &self.annotation_keys)))
            }
            Object::DeviceClass(class) => Record::DeviceClass(metadata::served_resources(class).collect()),
            Object::Namespace(namespace) => Record::Namespace(self.pool.labels(&namespace.metadata.labels)),
            Object::Workload(workload) => Record::Workload(workload.clone()),
            Object::Storage(object) => Record::Storage(Box::new(metadata::storage(object))),
        };
        Compiled { identity: identity(object, &record), record }
    }
}

/// Which object; what is kept of a pod says so already.
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

/// Compiles a single object, which shares nothing with any other.
pub fn compile(object: &Object, own_schedulers: &[String]) -> Compiled {
    Compiler::new(own_schedulers).compile(object)
}
