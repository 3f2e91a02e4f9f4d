//! Predicates as a function of one pod and one node. Start at [`NodePredicate`].
//!
//! Facts are still columns: the first read of a fact fetches its column for the whole batch, and later reads use the
//! cached column. A column that the predicate does not read is not fetched. Nodes that share what the predicate reads of them share
//! one call of it (`decisions`). [`NodeScorer`] is the form for components that score nodes.

mod decisions;
mod memo;
mod scorer;

use std::cell::{Cell, OnceCell, RefCell};

use serde::de::DeserializeOwned;

use crate::columns::node_info::Field;
use crate::columns::node_taints::Taint;
use crate::columns::pod_tolerations::Toleration;
use crate::columns::{
    namespace_labels, node_annotations, node_conditions, node_identity, node_images, node_info, node_labels,
    node_resources, node_sums, node_taints, pod_annotations, pod_labels, pod_owner, pod_placement, pod_resources,
    pod_spec, pod_tolerations,
};
use crate::predicate::Predicate;
use crate::verdict::{Failure, Verdict, VerdictBuilder};
use decisions::{Decision, Decisions};
use memo::Memo;
pub use scorer::{NodeScorer, Unscored};

/// A predicate over one pod and one node. Every `NodePredicate` is a [`Predicate`], which documents the associated
/// items.
pub trait NodePredicate: Sized + 'static {
    /// The predicate's name, as used in policies.
    const NAME: &'static str;
    /// One line that says what the predicate rejects.
    const SUMMARY: &'static str;
    /// Type that the policy's JSON arguments are deserialized to.
    type Args: DeserializeOwned;

    /// Creates the predicate from its arguments.
    ///
    /// # Errors
    ///
    /// Where the arguments are invalid. The host refuses the policy with this text, which should begin with the path of
    /// the argument.
    fn new(args: Self::Args) -> Result<Self, String>;

    /// Decides whether one node can run the pod. The result must depend only on the pod, the node and the arguments: it is
    /// called once for nodes of which it reads the same labels, annotations, taints, conditions, info and images, and nothing
    /// else.
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
        let mut decisions = Decisions::new(&columns, rows);
        let mut verdict = VerdictBuilder::new(rows);
        for row in 0..rows {
            let known = decisions.decide(row);
            if let Decision::Code(code) = known {
                verdict.set(row, code);
                continue;
            }
            columns.reads.begin(known == Decision::Unknown);
            let code = match NodePredicate::filter(self, &pod, &Node { row, columns: &columns }) {
                Ok(()) => 0,
                Err(failure) => verdict.code(failure).number(),
            };
            if known == Decision::Unknown {
                decisions.note(&columns.reads.path.borrow(), columns.reads.recording.get(), code);
            }
            verdict.set(row, code);
        }
        verdict.finish()
    }
}

/// The pod being filtered.
#[derive(Debug, Default)]
pub struct Pod {
    namespace: OnceCell<String>,
    texts: Memo<Text, Option<String>>,
    priority: OnceCell<i32>,
    host_network: OnceCell<bool>,
    images: OnceCell<Vec<String>>,
    controller: OnceCell<Option<pod_owner::Owner>>,
    node_name: OnceCell<Option<String>>,
    tolerations: OnceCell<Vec<Toleration>>,
    requests: OnceCell<Vec<pod_resources::Request>>,
    amounts: Memo<(), i64>,
}

impl Pod {
    /// Returns the namespace, `metadata.namespace`.
    pub fn namespace(&self) -> &str {
        self.namespace.get_or_init(pod_labels::namespace)
    }

    /// The value of a label; none where the pod does not have it.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.texts.get(Text::Label, key, pod_labels::label).1.as_deref()
    }

    /// The value of a label of the pod's Namespace; none where it does not have it, or there is no such object.
    pub fn namespace_label(&self, key: &str) -> Option<&str> {
        self.texts.get(Text::NamespaceLabel, key, namespace_labels::label).1.as_deref()
    }

    /// The value of an annotation; none where the pod does not have it, or the policy does not list the key.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.texts.get(Text::Annotation, key, pod_annotations::annotation).1.as_deref()
    }

    /// `spec.priority`; 0 where it is absent.
    pub fn priority(&self) -> i32 {
        *self.priority.get_or_init(pod_spec::priority)
    }

    /// `spec.priorityClassName`; none where it is absent or empty.
    pub fn priority_class(&self) -> Option<&str> {
        self.texts.get(Text::PriorityClass, "", |_| pod_spec::priority_class()).1.as_deref()
    }

    /// `spec.serviceAccountName`; none where it is absent or empty.
    pub fn service_account(&self) -> Option<&str> {
        self.texts.get(Text::ServiceAccount, "", |_| pod_spec::service_account()).1.as_deref()
    }

    /// `spec.runtimeClassName`; none where it is absent or empty.
    pub fn runtime_class(&self) -> Option<&str> {
        self.texts.get(Text::RuntimeClass, "", |_| pod_spec::runtime_class()).1.as_deref()
    }

    /// Whether the pod uses the node's network, `spec.hostNetwork`.
    pub fn host_network(&self) -> bool {
        *self.host_network.get_or_init(pod_spec::host_network)
    }

    /// The images of containers and init containers, sorted, each once.
    pub fn images(&self) -> &[String] {
        self.images.get_or_init(pod_spec::images)
    }

    /// The controller; none where the pod has none.
    pub fn controller(&self) -> Option<&pod_owner::Owner> {
        self.controller.get_or_init(pod_owner::controller).as_ref()
    }

    /// `spec.nodeName`; none where it is absent or empty.
    pub fn node_name(&self) -> Option<&str> {
        self.node_name.get_or_init(pod_placement::node_name).as_deref()
    }

    /// Returns the tolerations of `spec.tolerations`, in order.
    pub fn tolerations(&self) -> &[Toleration] {
        self.tolerations.get_or_init(pod_tolerations::tolerations)
    }

    /// The requested amount of a resource: `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in
    /// bytes, others as a count. 0 where the pod does not request the resource.
    pub fn request(&self, resource: &str) -> i64 {
        let amount = |resource: &str| {
            let requests = self.requests.get_or_init(pod_resources::requests);
            requests.iter().find(|request| request.resource == resource).map_or(0, |request| request.amount)
        };
        *self.amounts.get((), resource, amount).1
    }
}

/// One node of the batch. Amounts are in the units of [`Pod::request`].
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    row: usize,
    columns: &'a Columns,
}

/// Kinds of texts by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Label,
    NamespaceLabel,
    /// Has no key: the key is empty.
    PriorityClass,
    ServiceAccount,
    RuntimeClass,
    Annotation,
    /// A column of codes without texts; its key is empty.
    Taints,
    Unschedulable,
    /// The key is the type.
    Condition,
    /// The key is empty.
    Info(Field),
    Image,
}

/// Kinds of amounts by resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    Allocatable,
    Requested,
    Free,
    /// Of accounting; the resource is the name of a sum.
    Sum,
    /// A moment; the resource is its interface and function.
    Moment,
    /// About pods; the resource is empty.
    Pods,
    PodLimit,
}

/// A column of codes.
#[derive(Debug)]
struct Coded {
    /// One entry per row, each below `values`.
    codes: Vec<u32>,
    values: usize,
    /// The text of each code; empty where codes stand for something else.
    texts: Vec<String>,
}

impl Coded {
    fn from_texts(codes: Vec<u32>, texts: Vec<String>) -> Self {
        Self { codes, values: texts.len(), texts }
    }
}

/// The columns that have been read, over the whole batch.
#[derive(Debug, Default)]
struct Columns {
    names: OnceCell<Vec<String>>,
    coded: Memo<Text, Coded>,
    taints: OnceCell<Vec<Vec<Taint>>>,
    amounts: Memo<Amount, Vec<i64>>,
    reads: Reads,
}

/// Facts of the node that the running call of the predicate has read.
#[derive(Debug, Default)]
struct Reads {
    /// Whether all of it is in `path`.
    recording: Cell<bool>,
    /// The place of each column of codes, and the code.
    path: RefCell<Vec<(usize, u32)>>,
}

impl Reads {
    fn begin(&self, recording: bool) {
        self.recording.set(recording);
        self.path.borrow_mut().clear();
    }

    /// A code of a column was read.
    #[inline]
    fn code(&self, place: usize, code: u32) {
        if self.recording.get() {
            let mut path = self.path.borrow_mut();
            if !path.iter().any(|(known, _)| *known == place) {
                path.push((place, code));
            }
        }
    }

    /// Something was read that few nodes share.
    #[inline]
    fn other(&self) {
        self.recording.set(false);
    }
}

impl<'a> Node<'a> {
    /// Returns the name of the node, `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.columns.reads.other();
        self.entry(self.columns.names.get_or_init(node_identity::names)).map_or("", String::as_str)
    }

    /// The value of a label; none where the node does not have it.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&'a str> {
        self.text(Text::Label, key, |key| Coded::from_texts(node_labels::column(key), node_labels::dictionary(key)))
    }

    /// The value of an annotation; none where the node does not have it, or the policy does not list the key.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        let read = |key: &str| Coded::from_texts(node_annotations::column(key), node_annotations::dictionary(key));
        self.text(Text::Annotation, key, read)
    }

    /// Whether the node is cordoned, `spec.unschedulable`.
    #[must_use]
    pub fn unschedulable(&self) -> bool {
        let read = |_: &str| {
            let flags = node_taints::unschedulable();
            Coded { codes: flags.into_iter().map(|flag| u32::from(flag != 0)).collect(), values: 2, texts: Vec::new() }
        };
        self.code(Text::Unschedulable, "", read).0 != 0
    }

    /// Returns the taints of `spec.taints`, in order.
    #[must_use]
    pub fn taints(&self) -> &'a [Taint] {
        let sets = self.columns.taints.get_or_init(node_taints::sets);
        let read = |_: &str| Coded { codes: node_taints::column(), values: sets.len(), texts: Vec::new() };
        let (set, _) = self.code(Text::Taints, "", read);
        sets.get(set as usize).map_or(&[], Vec::as_slice)
    }

    /// The status of the condition of this type: a constant of [`node_conditions`].
    #[must_use]
    pub fn condition(&self, kind: &str) -> u8 {
        let read = |kind: &str| {
            let statuses = node_conditions::column(kind);
            Coded { codes: statuses.into_iter().map(u32::from).collect(), values: 4, texts: Vec::new() }
        };
        // It is one of four.
        u8::try_from(self.code(Text::Condition, kind, read).0).unwrap_or(node_conditions::UNKNOWN)
    }

    /// Returns a field of the node's `status.nodeInfo`, or its `spec.providerID`; `None` where that is absent or empty.
    #[must_use]
    pub fn info(&self, field: Field) -> Option<&'a str> {
        let read = |_: &str| Coded::from_texts(node_info::column(field), node_info::dictionary(field));
        self.text(Text::Info(field), "", read)
    }

    /// Whether the node lists an image under this name, compared as written. A kubelet reports only the largest images.
    #[must_use]
    pub fn has_image(&self, image: &str) -> bool {
        let read = |image: &str| {
            let flags = node_images::present(image);
            Coded { codes: flags.into_iter().map(|flag| u32::from(flag != 0)).collect(), values: 2, texts: Vec::new() }
        };
        self.code(Text::Image, image, read).0 != 0
    }

    // contract: moments, made by `make contract`

    /// `created` of `node-age`, in seconds since 1970-01-01T00:00:00Z; none where that is not known.
    #[must_use]
    pub fn created(&self) -> Option<i64> {
        self.moment("node-age.created", crate::columns::node_age::created)
    }
    // contract: end

    /// `status.allocatable` of a resource; 0 where the node does not list it.
    #[must_use]
    pub fn allocatable(&self, resource: &str) -> i64 {
        self.amount(Amount::Allocatable, resource, node_resources::allocatable)
    }

    /// The amount of a resource that all pods on the node request together.
    #[must_use]
    pub fn requested(&self, resource: &str) -> i64 {
        self.amount(Amount::Requested, resource, node_resources::requested)
    }

    /// [`allocatable`](Self::allocatable) minus [`requested`](Self::requested); negative where the node is
    /// overcommitted.
    #[must_use]
    pub fn free(&self, resource: &str) -> i64 {
        self.amount(Amount::Free, resource, node_resources::free)
    }

    /// Returns the value of a sum of the policy's accounting component: the total of what the node and the pods on it add; 0 for a name
    /// that none declares.
    #[must_use]
    pub fn sum(&self, name: &str) -> i64 {
        self.amount(Amount::Sum, name, node_sums::column)
    }

    /// The number of pods on the node.
    #[must_use]
    pub fn pods(&self) -> i64 {
        self.amount(Amount::Pods, "", |_| node_resources::pods())
    }

    /// `status.allocatable.pods`, a number of pods; 0 where the node does not list it.
    #[must_use]
    pub fn pod_limit(&self) -> i64 {
        self.amount(Amount::PodLimit, "", |_| node_resources::pod_limit())
    }

    /// This node's text of a dictionary-encoded column.
    #[inline]
    fn text(&self, kind: Text, key: &str, read: impl FnOnce(&str) -> Coded) -> Option<&'a str> {
        match self.code(kind, key, read) {
            (0, _) => None,
            (code, column) => column.texts.get(code as usize).map(String::as_str),
        }
    }

    /// This node's code in a column.
    #[inline]
    fn code(&self, kind: Text, key: &str, read: impl FnOnce(&str) -> Coded) -> (u32, &'a Coded) {
        let (place, column) = self.columns.coded.get(kind, key, read);
        let code = self.entry(&column.codes).copied().unwrap_or(0);
        self.columns.reads.code(place, code);
        (code, column)
    }

    #[inline]
    fn amount(&self, kind: Amount, resource: &str, read: impl FnOnce(&str) -> Vec<i64>) -> i64 {
        self.columns.reads.other();
        self.entry(self.columns.amounts.get(kind, resource, read).1).copied().unwrap_or(0)
    }

    fn moment(&self, name: &str, read: impl FnOnce() -> Vec<i64>) -> Option<i64> {
        Some(self.amount(Amount::Moment, name, |_| read())).filter(|moment| *moment != i64::MIN)
    }

    /// This node's entry of a column.
    #[inline]
    fn entry<T>(&self, column: &'a [T]) -> Option<&'a T> {
        column.get(self.row)
    }
}

#[cfg(test)]
mod tests;
