//! Predicates as a function of one pod and one node. Start at [`NodePredicate`].
//!
//! Facts are still columns: the first read of a fact fetches its column for the whole batch, and later reads use the
//! cached column. A column that the predicate does not read is not fetched.

use std::cell::OnceCell;

use serde::de::DeserializeOwned;

use crate::columns::node_taints::Taint;
use crate::columns::pod_tolerations::Toleration;
use crate::columns::{
    node_annotations, node_identity, node_labels, node_resources, node_taints, pod_annotations, pod_labels,
    pod_placement, pod_resources, pod_tolerations,
};
use crate::predicate::Predicate;
use crate::verdict::{Failure, Verdict, VerdictBuilder};

/// A predicate over one pod and one node. Every `NodePredicate` is a [`Predicate`], which documents the associated
/// items.
pub trait NodePredicate: Sized + 'static {
    /// The predicate's name, as used in policies.
    const NAME: &'static str;
    /// One line that says what the predicate rejects.
    const SUMMARY: &'static str;
    /// The policy's arguments.
    type Args: DeserializeOwned;

    /// Creates the predicate from its arguments.
    ///
    /// # Errors
    ///
    /// Where the arguments are invalid. The host refuses the policy with this text, which should begin with the path of
    /// the argument.
    fn new(args: Self::Args) -> Result<Self, String>;

    /// Decides whether one node can run the pod. The result must depend only on the pod, the node and the arguments.
    ///
    /// # Errors
    ///
    /// Why the node cannot run the pod. Nodes are grouped by reasons, so reasons must not contain node names.
    fn filter(&self, pod: &Pod, node: &Node) -> Result<(), Failure>;
}

impl<P: NodePredicate> Predicate for P {
    const NAME: &'static str = P::NAME;
    const SUMMARY: &'static str = P::SUMMARY;
    type Args = P::Args;

    fn new(args: P::Args) -> Result<Self, String> {
        P::new(args)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let (pod, columns) = (Pod::default(), Columns::default());
        let mut verdict = VerdictBuilder::new(rows);
        for row in 0..rows {
            if let Err(failure) = NodePredicate::filter(self, &pod, &Node { row, columns: &columns }) {
                verdict.reject(row, failure);
            }
        }
        verdict.finish()
    }
}

/// The pod being filtered.
#[derive(Debug, Default)]
pub struct Pod {
    namespace: OnceCell<String>,
    labels: Memo<Option<String>>,
    annotations: Memo<Option<String>>,
    node_name: OnceCell<Option<String>>,
    tolerations: OnceCell<Vec<Toleration>>,
    requests: OnceCell<Vec<pod_resources::Request>>,
}

impl Pod {
    /// `metadata.namespace`.
    pub fn namespace(&self) -> &str {
        self.namespace.get_or_init(pod_labels::namespace)
    }

    /// The value of a label; none where the pod does not have it.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key, pod_labels::label).as_deref()
    }

    /// The value of an annotation; none where the pod does not have it, or the policy does not list the key.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key, pod_annotations::annotation).as_deref()
    }

    /// `spec.nodeName`; none where it is absent or empty.
    pub fn node_name(&self) -> Option<&str> {
        self.node_name.get_or_init(pod_placement::node_name).as_deref()
    }

    /// `spec.tolerations`, in order.
    pub fn tolerations(&self) -> &[Toleration] {
        self.tolerations.get_or_init(pod_tolerations::tolerations)
    }

    /// The requested amount of a resource: `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in
    /// bytes, others as a count. 0 where the pod does not request the resource.
    pub fn request(&self, resource: &str) -> i64 {
        let requests = self.requests.get_or_init(pod_resources::requests);
        requests.iter().find(|request| request.resource == resource).map_or(0, |request| request.amount)
    }
}

/// One node of the batch. Amounts are in the units of [`Pod::request`].
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    row: usize,
    columns: &'a Columns,
}

/// The columns that have been read, over the whole batch.
#[derive(Debug, Default)]
struct Columns {
    names: OnceCell<Vec<String>>,
    labels: Memo<(Vec<u32>, Vec<String>)>,
    annotations: Memo<(Vec<u32>, Vec<String>)>,
    unschedulable: OnceCell<Vec<u8>>,
    taints: OnceCell<(Vec<u32>, Vec<Vec<Taint>>)>,
    allocatable: Memo<Vec<i64>>,
    requested: Memo<Vec<i64>>,
    free: Memo<Vec<i64>>,
    pods: OnceCell<Vec<i64>>,
    pod_limit: OnceCell<Vec<i64>>,
}

impl<'a> Node<'a> {
    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.entry(self.columns.names.get_or_init(node_identity::names)).map_or("", String::as_str)
    }

    /// The value of a label; none where the node does not have it.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&'a str> {
        let read = |key: &str| (node_labels::column(key), node_labels::dictionary(key));
        self.text(self.columns.labels.get(key, read))
    }

    /// The value of an annotation; none where the node does not have it, or the policy does not list the key.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        let read = |key: &str| (node_annotations::column(key), node_annotations::dictionary(key));
        self.text(self.columns.annotations.get(key, read))
    }

    /// `spec.unschedulable`.
    #[must_use]
    pub fn unschedulable(&self) -> bool {
        self.entry(self.columns.unschedulable.get_or_init(node_taints::unschedulable)).is_some_and(|flag| *flag != 0)
    }

    /// `spec.taints`.
    #[must_use]
    pub fn taints(&self) -> &'a [Taint] {
        let (column, sets) = self.columns.taints.get_or_init(|| (node_taints::column(), node_taints::sets()));
        self.entry(column).and_then(|set| sets.get(*set as usize)).map_or(&[], Vec::as_slice)
    }

    /// `status.allocatable` of a resource; 0 where the node does not list it.
    #[must_use]
    pub fn allocatable(&self, resource: &str) -> i64 {
        self.amount(&self.columns.allocatable, resource, node_resources::allocatable)
    }

    /// The amount of a resource that all pods on the node request together.
    #[must_use]
    pub fn requested(&self, resource: &str) -> i64 {
        self.amount(&self.columns.requested, resource, node_resources::requested)
    }

    /// [`allocatable`](Self::allocatable) minus [`requested`](Self::requested); negative where the node is
    /// overcommitted.
    #[must_use]
    pub fn free(&self, resource: &str) -> i64 {
        self.amount(&self.columns.free, resource, node_resources::free)
    }

    /// The number of pods on the node.
    #[must_use]
    pub fn pods(&self) -> i64 {
        self.entry(self.columns.pods.get_or_init(node_resources::pods)).copied().unwrap_or(0)
    }

    /// `status.allocatable.pods`, a number of pods; 0 where the node does not list it.
    #[must_use]
    pub fn pod_limit(&self) -> i64 {
        self.entry(self.columns.pod_limit.get_or_init(node_resources::pod_limit)).copied().unwrap_or(0)
    }

    /// This node's text of a dictionary-encoded column.
    fn text(&self, (codes, dictionary): &'a (Vec<u32>, Vec<String>)) -> Option<&'a str> {
        match *self.entry(codes)? {
            0 => None,
            code => dictionary.get(code as usize).map(String::as_str),
        }
    }

    fn amount(&self, memo: &'a Memo<Vec<i64>>, resource: &str, read: fn(&str) -> Vec<i64>) -> i64 {
        self.entry(memo.get(resource, read)).copied().unwrap_or(0)
    }

    /// This node's entry of a column.
    fn entry<T>(&self, column: &'a [T]) -> Option<&'a T> {
        column.get(self.row)
    }
}

/// Cached values by key. It is a linked list that only grows, so that references into it stay valid. It stays short,
/// because a predicate reads few keys.
#[derive(Debug)]
struct Memo<T>(OnceCell<Box<Entry<T>>>);

#[derive(Debug)]
struct Entry<T> {
    key: String,
    value: T,
    next: Memo<T>,
}

impl<T> Memo<T> {
    /// The value of `key`; calls `read` where it is not cached yet.
    fn get(&self, key: &str, read: impl Fn(&str) -> T) -> &T {
        let mut memo = self;
        loop {
            let entry =
                memo.0.get_or_init(|| Box::new(Entry { key: key.into(), value: read(key), next: Self::default() }));
            if entry.key == key {
                return &entry.value;
            }
            memo = &entry.next;
        }
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(OnceCell::new())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_key_is_read_once() {
        let reads = Cell::new(0);
        let memo = Memo::default();
        for key in ["a", "b", "a", "c", "b"] {
            let value = memo.get(key, |key| {
                reads.set(reads.get() + 1);
                key.to_uppercase()
            });
            assert_eq!(*value, key.to_uppercase());
        }
        assert_eq!(reads.get(), 3);
    }
}
