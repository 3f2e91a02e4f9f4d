//! What says what pods and nodes take: the cache knows no more of an accounting component. Start at [`Accountant`].

use std::fmt;
use std::sync::Arc;

use super::account::{Account, AccountFault, Sums};
use super::facts::{NodeFacts, PodFacts};
use super::labels::{Amounts, Labels};

/// What an accountant says of a pod: none where it takes what the API says. The error is why that is not known, in a line.
pub type Accounted = Result<Option<Arc<Account>>, Arc<str>>;

/// What an accountant reads of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccountedNode {
    /// Annotations of the node, those that are kept.
    pub annotations: Labels,
    /// `status.allocatable` without `pods`.
    pub allocatable: Amounts,
}

impl AccountedNode {
    /// What is read of a node.
    pub fn of(node: &NodeFacts) -> Self {
        Self { annotations: Arc::clone(&node.annotations), allocatable: node.allocatable.clone() }
    }
}

/// Says what pods and nodes take, by what is kept of them. What was said of some facts is said again until it is forgotten, so that
/// whoever asks once more has the answer at once.
pub trait Accountant: fmt::Debug + Send + Sync {
    /// The names of the sums that there are.
    fn sums(&self) -> &[Arc<str>];

    /// Whether a pod or node of which no account is known keeps the last one.
    fn keeps_last(&self) -> bool;

    /// What is said of pods with these facts, in their order.
    fn pods(&self, pods: &[&Arc<PodFacts>]) -> Vec<Accounted>;

    /// What nodes add to sums themselves, in their order; sorted by name, each name once. Errors are as those of pods.
    fn nodes(&self, nodes: &[AccountedNode]) -> Vec<Result<Sums, Arc<str>>>;

    /// Forgets what was said of pods with these facts.
    fn forget_pod(&self, pod: &Arc<PodFacts>);

    /// Forgets what was said of such a node.
    fn forget_node(&self, node: &AccountedNode);
}

impl Account {
    /// That of a pod of which none is known: the last one if it is given, else what the API says.
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
