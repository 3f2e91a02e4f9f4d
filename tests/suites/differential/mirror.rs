//! Loads the reference's objects into the cache as a source does, one event at a time.

use std::sync::{Arc, LazyLock};

use nodesift_cache::metadata::{self, Account, NodeFacts, PodRecord, Pool, Selection};
use nodesift_cache::{self as cache, Identity, Reader, Record, Semantics, Writer};
use nodesift_fixtures::json;
use nodesift_fixtures::random::Event;
use nodesift_object::{self as object, Object};
use nodesift_policy::Policy;
use nodesift_source::change::Compiler;
use nodesift_source::{Loader, files};
use serde_json::Value;

/// A cache, its writer, and the scheduler names whose pods are its own.
pub(super) struct Mirror {
    writer: Writer,
    reader: Reader,
    own_schedulers: Vec<String>,
    selection: Selection,
    is_accounting: bool,
}

/// The sum to which pods and nodes add where the mirror is accounting.
pub(super) const SUM: &str = "s";

impl Mirror {
    /// An empty cache, which keeps what the default policy reads, and counts as it says.
    pub(super) fn new(own_schedulers: Vec<String>) -> Self {
        static DEFAULT: LazyLock<Semantics> = LazyLock::new(|| crate::default_policy().settings.kubernetes.semantics);
        let (mut writer, reader) = cache::new();
        writer.set_semantics(*DEFAULT);
        let selection = Selection { pod_claims: true, ..Selection::default() };
        Self { writer, reader, own_schedulers, selection, is_accounting: false }
    }

    /// Counts as a policy says.
    pub(super) fn under(mut self, policy: &Policy) -> Self {
        self.writer.set_semantics(policy.settings.kubernetes.semantics);
        self
    }

    /// Counts as another policy says, which replaces one with the same schedulers, and publishes.
    pub(super) fn recount(&mut self, policy: &Policy) {
        self.writer.recount_semantics(policy.settings.kubernetes.semantics);
        self.writer.recount_ownership(&policy.scheduler_names);
        self.writer.publish();
    }

    /// Keeps what only some policies read.
    pub(super) fn selecting(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// Has pods with the label `app` add 1 more than their priority to [`SUM`], and nodes the number of their labels.
    pub(super) fn accounting(self) -> Self {
        Self { is_accounting: true, ..self }
    }

    pub(super) fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// The writer, for changes that are not events; [`Self::follow`] publishes them.
    pub(super) fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Loads the objects of a new cluster, as a source does.
    pub(super) fn load<'a>(&mut self, objects: impl Iterator<Item = &'a Value>) {
        if self.is_accounting {
            objects.for_each(|object| self.apply(object));
            self.writer.publish();
            return;
        }
        let compiler = Compiler::new(&self.own_schedulers).selecting(&self.selection);
        let mut loader = Loader::new(&compiler, &mut self.writer);
        objects.filter_map(decode).for_each(|object| loader.apply(&object));
        loader.publish();
    }

    /// Applies events and publishes.
    pub(super) fn follow(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.change(event));
        self.writer.publish();
    }

    /// Applies an event without publishing it.
    pub(super) fn change(&mut self, event: &Event) {
        match event {
            Event::Apply(object) => self.apply(object),
            Event::Remove(object) => self.remove(object),
        }
    }

    /// Holds the allocation that a claim shows in flight, without publishing it.
    pub(super) fn hold(&mut self, claim: &Value) {
        let Some(Object::ResourceClaim(claim)) = decode(claim) else { panic!("a claim and not {claim}") };
        let allocation = claim.status.allocation.as_ref().expect("an allocation");
        self.writer.hold_in_flight(&claim.metadata.uid, &allocation.devices.results).expect("nothing else is held");
    }

    fn apply(&mut self, object: &Value) {
        match decode(object) {
            Some(Object::Node(node)) => self.writer.apply(self.node(&node)),
            Some(Object::Pod(pod)) if metadata::is_terminated(&pod) => {
                self.writer.remove(&Identity::pod(&pod.metadata.uid))
            }
            Some(Object::Pod(pod)) => self.writer.apply(self.record(&pod)),
            Some(object) => {
                self.writer.apply(Record::compile(&object, &Pool::default(), &self.own_schedulers, &self.selection));
            }
            None => {}
        }
    }

    fn node(&self, node: &object::Node) -> NodeFacts {
        let facts = metadata::node_selecting(node, &self.selection);
        if !self.is_accounting {
            return facts;
        }
        let own = i64::try_from(node.metadata.labels.len()).unwrap_or(i64::MAX);
        NodeFacts { sums: [(SUM.into(), own)].into(), ..facts }
    }

    /// The record of a pod.
    pub(super) fn record(&self, pod: &object::Pod) -> PodRecord {
        let record = metadata::pod_record_selecting(pod, &self.own_schedulers, &self.selection);
        if !self.is_accounting || !pod.metadata.labels.contains_key("app") {
            return record;
        }
        let (requests, usage) = (record.facts.requests.clone(), record.facts.usage.clone());
        let sums = vec![(SUM.into(), i64::from(record.priority) + 1)];
        PodRecord { account: Some(Arc::new(Account::new(requests, usage, sums, Vec::new()))), ..record }
    }

    fn remove(&mut self, object: &Value) {
        if let Some(object) = decode(object) {
            let identity = Identity::new(object.kind(), &object.key());
            self.writer.remove(&Identity { uid: object.identity().0.into(), ..identity });
        }
    }
}

/// An object as a source delivers it; `None` for a kind that no predicate reads.
fn decode(object: &Value) -> Option<Object> {
    let mut decoded = None;
    let text = object.to_string();
    let read = files::read_bytes("an object of the reference", text.as_bytes(), &mut |object| decoded = Some(object));
    read.unwrap_or_else(|error| panic!("{} {}: {error}", object["kind"], json::key(object)));
    decoded
}

/// A pod as in a query.
pub(super) fn pod(pod: &Value) -> object::Pod {
    match decode(pod) {
        Some(Object::Pod(pod)) => *pod,
        other => panic!("a pod and not {other:?}"),
    }
}

/// A node as in an overlay.
pub(super) fn node(node: &Value) -> object::Node {
    match decode(node) {
        Some(Object::Node(node)) => *node,
        other => panic!("a node and not {other:?}"),
    }
}
