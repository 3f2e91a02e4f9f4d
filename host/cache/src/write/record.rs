//! The writer's one way in for objects of every kind: what is compiled of an object, and its identity.
//!
//! Start at [`Writer::apply`]. Kinds that have rows, or that change what rows show, are named here; all others are
//! [`ObjectRecord`]s and are named in `objects` alone.

use std::sync::Arc;

use super::Writer;
use crate::limits::PENDING_OBJECTS_BYTES;
use crate::metadata::{
    self, ClaimRecord, ClassRecord, Labels, NodeFacts, PodRecord, Pool, Selection, SliceRecord, StorageRecord,
    TaintRuleRecord,
};
use crate::objects::{Changed, ObjectRecord};
use nodesift_object::{Kind, Object};

/// Which object, at which resourceVersion.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Kind of the object.
    pub kind: Kind,
    /// `namespace/name` of a namespaced object, else the name.
    pub key: Arc<str>,
    /// `metadata.uid`; the key where the source has none.
    pub uid: Arc<str>,
    /// `metadata.resourceVersion`; empty where the source has none.
    pub version: Arc<str>,
}

impl Identity {
    /// Creates the identity of an object of which neither UID nor resourceVersion is known: its key stands for the UID.
    pub fn new(kind: Kind, key: &str) -> Self {
        let key: Arc<str> = Arc::from(key);
        Self { kind, uid: Arc::clone(&key), key, version: Arc::default() }
    }

    /// Creates the identity of the node of this name.
    pub fn node(name: &str) -> Self {
        Self::new(Kind::Node, name)
    }

    /// Creates the identity of the pod of this UID, which is enough to remove it.
    pub fn pod(uid: &str) -> Self {
        Self::new(Kind::Pod, uid)
    }

    /// Returns kind and UID of the object.
    pub fn id(&self) -> (Kind, Arc<str>) {
        (self.kind, Arc::clone(&self.uid))
    }
}

/// Compiled object, in the form in which the cache keeps it.
#[derive(Debug, Clone)]
pub enum Record {
    /// Compiled facts about a node.
    Node(Arc<NodeFacts>),
    /// A pod that has not ended: bound or pending.
    Pod(Arc<PodRecord>),
    /// UID of a pod that has succeeded or failed: it uses nothing, and the cache keeps nothing of it.
    EndedPod(Arc<str>),
    /// Name and labels of a Namespace.
    Namespace(Arc<str>, Labels),
    /// Compiled facts about a DeviceClass.
    DeviceClass(Box<ClassRecord>),
    /// Compiled facts about a ResourceSlice.
    ResourceSlice(Box<SliceRecord>),
    /// Compiled facts about a ResourceClaim.
    ResourceClaim(Box<ClaimRecord>),
    /// Compiled facts about a DeviceTaintRule.
    DeviceTaintRule(Box<TaintRuleRecord>),
    /// An object of a kind that has no rows and that no row shows.
    Other(ObjectRecord),
    /// An object that a list shows and that does not decode. It exists, so what the cache holds of it stays as it is.
    Unreadable,
}

impl Record {
    /// Compiles an object. Pods of schedulers other than `own_schedulers` are foreign; of nodes and pods, what is selected is kept too.
    pub fn compile(object: &Object, pool: &Pool, own_schedulers: &[String], selection: &Selection) -> Self {
        match object {
            Object::Node(node) => pool.node(node, selection).into(),
            Object::Pod(pod) if metadata::is_terminated(pod) => Self::EndedPod(match &*pod.metadata.uid {
                "" => pod.key().into(),
                uid => uid.into(),
            }),
            Object::Pod(pod) => pool.pod_record(pod, own_schedulers, selection).into(),
            Object::Namespace(it) => {
                Self::Namespace(it.metadata.name.as_str().into(), pool.labels(&it.metadata.labels))
            }
            Object::DeviceClass(class) => metadata::device_class(class).into(),
            Object::ResourceSlice(slice) => SliceRecord::compile(slice).into(),
            Object::ResourceClaim(claim) => metadata::resource_claim(claim).into(),
            Object::DeviceTaintRule(rule) => TaintRuleRecord::compile(rule).into(),
            other => ObjectRecord::compile(other).map_or(Self::Unreadable, Self::Other),
        }
    }
}

macro_rules! from {
    ($($it:ident: $compiled:ty => $record:expr,)*) => {
        $(impl From<$compiled> for Record {
            fn from($it: $compiled) -> Self {
                $record
            }
        })*
    };
}

from! {
    node: NodeFacts => Record::Node(Arc::new(node)),
    pod: PodRecord => Record::Pod(Arc::new(pod)),
    pod: Arc<PodRecord> => Record::Pod(pod),
    class: ClassRecord => Record::DeviceClass(Box::new(class)),
    slice: SliceRecord => Record::ResourceSlice(Box::new(slice)),
    claim: ClaimRecord => Record::ResourceClaim(Box::new(claim)),
    rule: TaintRuleRecord => Record::DeviceTaintRule(Box::new(rule)),
    object: ObjectRecord => Record::Other(object),
    object: StorageRecord => Record::Other(ObjectRecord::Storage(Box::new(object))),
}

impl Writer {
    /// Adds an object, or replaces what is known of it.
    pub fn apply(&mut self, record: impl Into<Record>) {
        match record.into() {
            Record::Node(node) => self.apply_node(&node),
            Record::Pod(pod) => self.apply_pod(self.within_object_bytes(pod)),
            // A list shows very many pods that ended long ago and were never held: there is nothing to remember of them.
            Record::EndedPod(uid) if self.pods.by_uid(&uid).is_none() => {}
            Record::EndedPod(uid) => self.remove_pod(&uid),
            Record::Namespace(name, labels) => self.apply_namespace(&name, &labels),
            Record::DeviceClass(class) => self.apply_device_class(*class),
            Record::ResourceSlice(slice) => self.devices.apply_slice(*slice),
            Record::ResourceClaim(claim) => self.apply_resource_claim(*claim),
            Record::DeviceTaintRule(rule) => self.devices.apply_taint_rule(&rule),
            Record::Other(record) => {
                let changed = self.objects.apply(record);
                self.objects_changed(changed);
            }
            // It exists, so what is held of it stays.
            Record::Unreadable => {}
        }
    }

    /// The pod, without its object where those of others take all the room.
    fn within_object_bytes(&self, pod: Arc<PodRecord>) -> Arc<PodRecord> {
        let bytes = pod.object_bytes();
        // The object that this one replaces makes room.
        let of_others = || {
            let own = self.pods.by_uid(&pod.uid).map_or(0, |known| known.object_bytes());
            self.pods.object_bytes().saturating_sub(own)
        };
        let is_over = bytes > 0 && of_others().saturating_add(bytes) > PENDING_OBJECTS_BYTES;
        if is_over { Arc::new(pod.without_object()) } else { pod }
    }

    /// Removes an object: a pod by its UID, any other by its key. One that is not held is ignored.
    pub fn remove(&mut self, object: &Identity) {
        let key = &object.key;
        match object.kind {
            Kind::Node => self.remove_node(key),
            Kind::Pod => self.remove_pod(&object.uid),
            Kind::Namespace => self.remove_namespace(key),
            Kind::DeviceClass => self.remove_device_class(key),
            Kind::ResourceSlice => self.devices.remove_slice(key),
            Kind::ResourceClaim => self.remove_resource_claim(key),
            Kind::DeviceTaintRule => self.devices.remove_taint_rule(key),
            kind => {
                let changed = self.objects.remove(kind, key);
                self.objects_changed(changed);
            }
        }
    }

    /// Whether this is what is held of an object. Nothing is held of a pod that has ended.
    pub fn holds(&self, record: &Record) -> bool {
        match record {
            Record::Node(node) => self.holds_node(node),
            Record::Pod(pod) => self.holds_pod(pod),
            Record::EndedPod(_) => false,
            Record::Namespace(name, labels) => self.nodes.population().namespaces().get(&**name) == Some(labels),
            Record::DeviceClass(class) => self.claims.holds_class(class),
            Record::ResourceSlice(slice) => self.devices.holds_slice(slice),
            Record::ResourceClaim(claim) => self.claims.holds(claim),
            Record::DeviceTaintRule(rule) => self.devices.holds_taint_rule(rule),
            Record::Other(record) => self.objects.holds(record),
            Record::Unreadable => true,
        }
    }

    fn objects_changed(&mut self, changed: Changed) {
        if changed == Changed::Nothing {
            return;
        }
        self.advance_generation();
        if changed == Changed::Storage {
            self.nodes.storage_changed();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::PENDING_OBJECT_BYTES;

    #[test]
    fn an_update_of_a_pod_keeps_its_object_where_there_is_room_for_no_other() {
        let mut large: nodesift_object::Pod = serde_json::from_str(r#"{"metadata":{"name":"p"}}"#).unwrap();
        large.spec.scheduler_name = "s".repeat(PENDING_OBJECT_BYTES - 1024);
        let large = Pool::default().pod_record(&large, &[], &Selection::default());
        let pod = |number: usize| {
            let name: Arc<str> = format!("p{number}").into();
            PodRecord { uid: Arc::clone(&name), name, ..large.clone() }
        };
        let (mut writer, _) = crate::new();
        let fit = PENDING_OBJECTS_BYTES / large.object_bytes();
        (0..=fit).for_each(|number| writer.apply(pod(number)));
        let has_object = |writer: &Writer, number| writer.pods.by_uid(&pod(number).uid).unwrap().object().is_some();
        assert!(has_object(&writer, 0) && has_object(&writer, fit - 1) && !has_object(&writer, fit));
        writer.apply(PodRecord { priority: 7, ..pod(0) });
        assert_eq!(writer.pods.by_uid("p0").unwrap().priority, 7);
        assert!(has_object(&writer, 0));
        // Its room is that of another once it is gone.
        writer.remove(&Identity::pod("p0"));
        writer.apply(pod(fit));
        assert!(has_object(&writer, fit));
    }
}
