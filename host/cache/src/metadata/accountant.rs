//! Interface of the policy's accounting component, all that the cache uses of it. Start at [`Accountant`].

use std::fmt;
use std::sync::Arc;

use super::account::{Account, AccountFault, Sums};
use super::facts::{NodeFacts, PodFacts};
use super::labels::{Amounts, Labels};

/// Account of a pod by an accountant: none where the pod takes what the API says. The error is the reason why it is not known, in a line.
pub type Accounted = Result<Option<Arc<Account>>, Arc<str>>;

/// Facts of a node that an accountant reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccountedNode {
    /// Annotations of the node, those that are kept.
    pub annotations: Labels,
    /// Amounts of `status.allocatable`, without `pods`.
    pub allocatable: Amounts,
}

impl AccountedNode {
    /// Selects the facts of a node that an accountant reads.
    pub fn new(node: &NodeFacts) -> Self {
        Self { annotations: Arc::clone(&node.annotations), allocatable: node.allocatable.clone() }
    }
}

/// Watermark of a named sum. Nodes cross it by the share that the sum has of something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watermark {
    /// Name of the sum.
    pub sum: Arc<str>,
    /// Name of another sum, or else of the resource whose allocatable amount is the whole.
    pub whole: Arc<str>,
    /// Percent of the whole: a node with more is above.
    pub above: u32,
    /// Percent of the whole, less than `above`: a node that was above and has at most this is below again.
    pub below: u32,
}

/// Source of the accounts of pods and of the sums of nodes, by their compiled facts. Answers about the same facts are repeated until they
/// are forgotten, so that a repeated question is answered at once.
pub trait Accountant: fmt::Debug + Send + Sync {
    /// Returns the names of all sums.
    fn sums(&self) -> &[Arc<str>];

    /// Whether a pod or node of which no account is known keeps the last one.
    fn keeps_last(&self) -> bool;

    /// Returns the watermarks of sums.
    fn watermarks(&self) -> &[Watermark] {
        &[]
    }

    /// Returns the accounts of pods with these facts, in their order.
    fn pods(&self, pods: &[&Arc<PodFacts>]) -> Vec<Accounted>;

    /// Returns the amounts that nodes add to sums themselves, in the order of the nodes; each list is sorted by name, each name once. An
    /// error is the reason why they are not known, in a line.
    fn nodes(&self, nodes: &[AccountedNode]) -> Vec<Result<Sums, Arc<str>>>;

    /// Forgets the account of pods with these facts.
    fn forget_pod(&self, pod: &Arc<PodFacts>);

    /// Forgets the sums of nodes with these facts.
    fn forget_node(&self, node: &AccountedNode);
}

impl Account {
    /// Returns the account of a pod whose own is not known: the last one if it is given, else the amounts of the API.
    pub fn unknown(facts: &PodFacts, last: Option<&Self>, text: &Arc<str>) -> Self {
        let fault = |is_last| Some(AccountFault { text: Arc::clone(text), is_last });
        match last {
            Some(last) => Self { fault: fault(true), ..last.clone() },
            None => Self {
                requests: facts.requests.clone(),
                usage: facts.usage.clone(),
                fault: fault(false),
                ..Self::default()
            },
        }
    }
}
