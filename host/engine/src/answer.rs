//! Answers: per pod the feasible rows, the grouped failures, kube-scheduler's message, the faults.

use std::sync::Arc;

use nodesift_sandbox::Code;

use crate::Error;
use crate::evaluate::row_set::RowSet;
use crate::party::PartySeat;
use crate::scores::PodScores;
use nodesift_cache::metadata::Account;
use nodesift_cache::{Row, Snapshot};
use nodesift_sandbox::fault::Fault;

/// Answers for all pods of a query, from one snapshot and one policy.
#[derive(Debug)]
pub struct Answer {
    /// The snapshot from which all answers were computed. Row numbers refer to it.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy that all answers were computed with.
    pub policy_generation: u64,
    /// One entry per pod of the query, in its order.
    pub pods: Vec<PodAnswer>,
    /// Names of the query that are no nodes of the snapshot, sorted; only with
    /// [`Options::with_unknown_named`](crate::Options::with_unknown_named).
    pub unknown_nodes: Vec<String>,
}

impl Answer {
    /// Returns the answer if any of its pods is in the cache.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`], for the first pod, where there are pods and none is in the cache.
    pub fn require_known_pod(mut self) -> Result<Self, Error> {
        let is_unknown = |pod: &PodAnswer| matches!(pod.error.as_deref(), Some(Error::UnknownPod { .. }));
        let error = self.pods.iter().all(is_unknown).then(|| self.pods.first_mut()?.error.take()).flatten();
        error.map_or(Ok(self), |error| Err(*error))
    }
}

/// The answer for one pod.
#[derive(Debug, Default)]
pub struct PodAnswer {
    /// The pod as `namespace/name`.
    pub pod: String,
    /// The number of evaluated nodes.
    pub nodes: usize,
    /// Rows that every predicate fits.
    pub feasible: Arc<RowSet>,
    /// Rejected rows, each under the first predicate that rejects it. Sorted by policy order of the predicates, then by code,
    /// then by reasons.
    pub failures: Arc<[FailureGroup]>,
    /// Each predicate alone, in policy order; empty unless the query has [`Depth::Each`](crate::Depth::Each).
    pub predicates: Vec<PredicateAnswer>,
    /// Counts of devices for each request of the pod's claims; empty unless the query has [`Depth::Each`](crate::Depth::Each).
    pub devices: Vec<RequestedDevices>,
    /// Resources that the pod takes of its node by the accounting component; none where those are its requests, and unless the
    /// query has [`Depth::Each`](crate::Depth::Each).
    pub account: Option<Arc<Account>>,
    /// The parties of the policy that decide about the pod; `None` where the policy has no parties.
    pub parties: Option<ExplainedParties>,
    /// kube-scheduler's message; only where no node is feasible.
    pub message: Option<Arc<str>>,
    /// How far kube-scheduler's scheduling cycle gets with the pod.
    pub cycle: Cycle,
    /// Rows that the pod names, ascending; `None` where it names none. The filters run on no others.
    pub named: Option<Arc<[u32]>>,
    /// `namespace/name` of allocated claims that keep the pod from some evaluated node and that nobody else uses, in the order of the
    /// pod; only where no node is feasible.
    pub claims_to_release: Vec<String>,
    /// Predicates whose call failed, and the effect of their failure policy.
    pub faults: Vec<FaultReport>,
    /// Scores of the feasible nodes; `None` where the query asks for none.
    pub scores: Option<Box<PodScores>>,
    /// Why there is no answer for this pod, which is not in the cache; all other fields but the name are empty. Only with
    /// [`Options::with_unknown_named`](crate::Options::with_unknown_named).
    pub error: Option<Box<Error>>,
    /// For a query with a limit, the row after the last evaluated one: the start row of the next such query.
    pub next: Option<Row>,
}

/// Counts of devices for one request of a claim, over the evaluated nodes. Each of the four counts is a part of the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedDevices {
    /// `namespace/name` of the claim.
    pub claim: String,
    /// Whether the claim is allocated. Then `nodes` are those that it can be used on, and the rest is empty.
    pub is_allocated: bool,
    /// The request, or `request/alternative`.
    pub request: String,
    /// The DeviceClass that it names.
    pub class: String,
    /// Devices that it asks for; 0 for all.
    pub wanted: u64,
    /// Devices of the class that some node reaches.
    pub of_class: usize,
    /// Devices of the class that the request's own selectors match.
    pub matching: usize,
    /// Matching devices without a taint that the request does not tolerate.
    pub tolerated: usize,
    /// Tolerated devices that are not allocated, or that claims share.
    pub free: usize,
    /// Nodes that reach as many free devices as the request asks for, which meet its constraints.
    pub nodes: usize,
    /// Claims that hold those that are not free, the first few by name.
    pub holders: Vec<String>,
    /// Attributes of which all of its devices must have the same value.
    pub match_attributes: Vec<String>,
    /// Attributes of which no two of its devices may have the same value.
    pub distinct_attributes: Vec<String>,
}

/// A pod, and the parties of the policy that decide about it. What they have said, and since when, is the negotiation's to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedParties {
    /// The UID by which negotiations know the pod.
    pub pod: Arc<str>,
    /// The parties, in the order of the policy.
    pub seats: Arc<[PartySeat]>,
    /// Numbers of nodes of which an answer to the pod's subject stands in the snapshot: one entry per seat.
    pub known: Vec<usize>,
}

impl RequestedDevices {
    fn bytes(&self) -> usize {
        let texts = [&self.claim, &self.request, &self.class].map(String::len).iter().sum::<usize>();
        let lists = [&self.holders, &self.match_attributes, &self.distinct_attributes];
        let listed = lists.into_iter().flatten().map(|text| size_of::<String>() + text.len());
        size_of::<Self>() + texts + listed.sum::<usize>()
    }
}

impl PodAnswer {
    /// No answer about a pod of several, because of an error.
    pub(crate) fn failed(pod: String, error: Error) -> Self {
        Self { pod, error: Some(Box::new(error)), ..Self::default() }
    }

    /// Heap bytes; what is shared with cached verdicts counts in full.
    pub(crate) fn heap_bytes(&self) -> usize {
        let group = |failure: &FailureGroup| {
            let reasons: usize = failure.reasons.iter().map(|reason| size_of::<String>() + reason.len()).sum();
            size_of::<FailureGroup>() + size_of::<RowSet>() + failure.rows.bytes() + reasons
        };
        let alone = |predicate: &PredicateAnswer| {
            size_of::<PredicateAnswer>() + predicate.failures.iter().map(group).sum::<usize>()
        };
        let fault = |report: &FaultReport| size_of::<FaultReport>() + report.fault.detail.len();
        size_of::<Self>()
            + self.pod.len()
            + self.feasible.bytes()
            + self.devices.iter().map(RequestedDevices::bytes).sum::<usize>()
            + self.parties.as_ref().map_or(0, |parties| size_of_val(&*parties.seats) + size_of_val(&*parties.known))
            + self.failures.iter().map(group).sum::<usize>()
            + self.predicates.iter().map(alone).sum::<usize>()
            + self.named.as_ref().map_or(0, |named| size_of_val(&**named))
            + self.message.as_ref().map_or(0, |message| message.len())
            + self.claims_to_release.iter().map(|claim| size_of::<String>() + claim.len()).sum::<usize>()
            + self.faults.iter().map(fault).sum::<usize>()
            + self.scores.as_ref().map_or(0, |scores| scores.heap_bytes())
    }
}

/// How far kube-scheduler's scheduling cycle gets with a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cycle {
    /// The filters run on each node.
    #[default]
    EachNode,
    /// The filters run only on the nodes that the pod names.
    NamedNodes,
    /// The pod as a whole is rejected before the filters run on any node.
    Rejected,
    /// A malformed object ends the cycle with an error.
    Aborted,
}

/// One predicate alone over all rows of the query.
#[derive(Debug)]
pub struct PredicateAnswer {
    /// The predicate's name in the policy.
    pub predicate: Arc<str>,
    /// Sorted by code, then reasons. Rows that are not listed fit.
    pub failures: Vec<FailureGroup>,
}

/// Rows that one predicate rejects with the same code and reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    /// The predicate that rejects the rows.
    pub predicate: Arc<str>,
    /// Status code of kube-scheduler for these nodes.
    pub code: Code,
    /// Every reason that applies, sorted.
    pub reasons: Arc<[String]>,
    /// The rejected rows of the snapshot.
    pub rows: Arc<RowSet>,
}

/// A predicate or scorer whose call failed for a pod, or a plugin of kube-scheduler that the pod needs and no predicate evaluates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// The name of the predicate or scorer in the policy, or the plugin's.
    pub predicate: Arc<str>,
    /// Kind and detail of the failed call.
    pub fault: Fault,
    /// The effect of the failure policy.
    pub effect: FaultEffect,
}

/// The effect of a failure policy on a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultEffect {
    /// Every node of the query counts as rejected by the predicate; for what is not evaluated, every node that needs it. Of a scorer: the
    /// pod has no scores.
    Rejected,
    /// Every node of the query counts as feasible for the predicate. A scorer adds nothing on any node.
    Ignored,
}

impl FaultEffect {
    /// The name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rejected => "Rejected",
            Self::Ignored => "Ignored",
        }
    }
}
