//! A small cluster of plain values for unit tests of predicates. Start at [`Cluster`].
//!
//! It is slow and obvious; [`Batch`] is how a predicate sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::batch::Batch;
use super::node::Node;
use super::pod::Pod;
use super::storage::Storage;
use super::with_facts;
use crate::predicate::Predicate;
use crate::verdict::{Failure, Verdict};

/// A pod and nodes to judge it against.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    pub(super) pod: Pod,
    pub(super) nodes: Vec<Node>,
    pub(super) device_classes: BTreeSet<String>,
    pub(super) namespaces: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) storage: Storage,
}

impl Cluster {
    /// A cluster without nodes.
    #[must_use]
    pub fn new(pod: Pod) -> Self {
        Self { pod, ..Self::default() }
    }

    /// Adds a node.
    #[must_use]
    pub fn node(mut self, node: Node) -> Self {
        self.nodes.push(node);
        self
    }

    /// Makes a DeviceClass serve an extended resource.
    #[must_use]
    pub fn device_class(mut self, resource: &str) -> Self {
        self.device_classes.insert(resource.into());
        self
    }

    /// Adds a Namespace object with these labels. Pods may be of namespaces without one.
    #[must_use]
    pub fn namespace(mut self, name: &str, labels: &[(&str, &str)]) -> Self {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        self.namespaces.insert(name.into(), labels);
        self
    }

    /// Sets the storage objects.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// What the predicate says of the pod on all nodes at once.
    pub fn verdict(&self, predicate: &impl Predicate) -> Verdict {
        self.run(|rows| predicate.filter(rows))
    }

    /// Runs `f` with the facts of all nodes; it is told how many there are.
    pub fn run<T>(&self, f: impl FnOnce(usize) -> T) -> T {
        let rows = self.nodes.len();
        with_facts(Rc::new(Batch::new(self.clone(), (0..rows).collect())), || f(rows))
    }

    /// The failure of each node, none where the pod fits. Asks for all nodes at once and, unless the predicate then
    /// read facts of the whole cluster, for every node alone.
    ///
    /// # Panics
    ///
    /// Where the verdict does not answer for its batch, or the two ways differ: without facts of the whole cluster, a
    /// verdict for a node must depend on that node alone.
    pub fn failures(&self, predicate: &impl Predicate) -> Vec<Option<Failure>> {
        let (together, cluster_wide) = self.ask((0..self.nodes.len()).collect(), predicate);
        if !cluster_wide {
            let alone: Vec<_> = (0..self.nodes.len()).flat_map(|row| self.ask(vec![row], predicate).0).collect();
            assert_eq!(together, alone, "the verdict for a node depends on the other nodes of the batch");
        }
        together
    }

    /// The nodes that cannot run the pod: `name: reason, reason`, in the order in which they were added.
    ///
    /// # Panics
    ///
    /// As [`Cluster::failures`].
    pub fn rejected(&self, predicate: &impl Predicate) -> Vec<String> {
        let rejected = |(node, failure): (&Node, Option<Failure>)| {
            failure.map(|failure| format!("{}: {}", node.name, failure.reasons.join(", ")))
        };
        self.nodes.iter().zip(self.failures(predicate)).filter_map(rejected).collect()
    }

    /// Asks the predicate about some of the nodes, and says whether it read facts of the whole cluster.
    #[allow(clippy::panic, reason = "fails the author's test")]
    fn ask(&self, rows: Vec<usize>, predicate: &impl Predicate) -> (Vec<Option<Failure>>, bool) {
        let count = rows.len();
        let batch = Rc::new(Batch::new(self.clone(), rows));
        let verdict = with_facts(batch.clone(), || predicate.filter(count));
        match verdict.failures(count) {
            Ok(failures) => {
                (failures.into_iter().map(Option::<&Failure>::cloned).collect(), batch.was_asked_about_the_cluster())
            }
            Err(error) => panic!("the verdict does not answer for its {count} rows: {error:?}"),
        }
    }
}
