//! Why a query has no answer. Start at [`Error`].

use crate::allocation::AllocationError;
use crate::scenarios::overlay::OverlayPart;
use nodesift_cache::OverlayError;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The pod is not in the cache.
    #[error("pod {pod} is not in the cache: name a pod that exists, or send the whole pod")]
    UnknownPod {
        /// The UID or `namespace/name`, as in the query.
        pod: String,
    },
    /// A query that explains one pod has none, or several.
    #[error("name one pod: an explanation is about one")]
    NotOnePod,
    /// A pod that is not pending: it is bound, or assumed.
    #[error("pod {pod} is on node {node:?} already: only a pod without a node is pending")]
    AlreadyPlaced {
        /// The UID or `namespace/name`, as in the query.
        pod: String,
        /// Name of its node.
        node: String,
    },
    /// The pod is on no node of the cache, bound or assumed.
    #[error("pod {pod} is on no node of the cache: only a pod that is bound or assumed has room there")]
    NotOnNode {
        /// The UID or `namespace/name`, as in the query.
        pod: String,
    },
    /// The cache does not have a pod in the version that the query asks for.
    #[error("pod {pod}: not in the cache with resourceVersion {wanted:?}: the cache {found}; send the whole pod")]
    OtherVersion {
        /// The UID or `namespace/name`, as in the query.
        pod: String,
        /// The version asked for.
        wanted: String,
        /// End of the sentence "the cache …": the version that it has, or that it does not have the pod.
        found: String,
    },
    /// A node of the subset is not in the cache.
    #[error("node {node:?} is not in the cache: name a node that exists")]
    UnknownNode {
        /// The name, as in the query.
        node: String,
    },
    /// A predicate that is to be skipped is not in the policy.
    #[error("the policy has no predicate {predicate:?} to skip; it has {known}")]
    UnknownPredicate {
        /// The name, as in the query.
        predicate: String,
        /// The names of all predicates of the policy.
        known: String,
    },
    /// The overlay does not fit the cluster.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    /// There are more nominated rows than one query may evaluate again.
    #[error(
        "pod {pod}: evaluating the nodes with nominated pods again takes more than {limit} rows in this request: send \
         fewer pods or nodes per request"
    )]
    TooManyNominated {
        /// The pod as `namespace/name`.
        pod: String,
        /// Most rows that one query may evaluate again: [`crate::limits::NOMINATED_ROWS`].
        limit: usize,
    },
    /// The deadline of the request passed before every predicate had a verdict.
    #[error(
        "the request's deadline passed before every predicate was evaluated: send fewer pods or nodes per request, or a later \
         deadline"
    )]
    DeadlineExceeded,
    /// One pod of several took more than its share of the time that the request had left ([`crate::limits::POD_SHARE`]).
    #[error("pod {pod} takes more than its share of the request's time: ask about it alone")]
    PodTooSlow {
        /// The pod as `namespace/name`.
        pod: String,
    },
    /// The answers for the pods of one query take more memory than one query may hold.
    #[error("the answers for these pods take more than {limit} bytes of memory: send fewer pods or nodes per request")]
    AnswerTooLarge {
        /// Most bytes of all answers of a query: [`crate::limits::ANSWER_BYTES`].
        limit: usize,
    },
    /// A part of the overlay names a pod or node that does not exist.
    #[error("{part}: {error}")]
    OverlayPart {
        /// The entry of the overlay that could not be resolved.
        part: OverlayPart,
        /// The error of the lookup.
        error: Box<Error>,
    },
    /// The snapshot is older than the active policy, and may lack what only this policy reads.
    #[error("the snapshot is older than the active policy: try again with the newest one")]
    OlderThanPolicy,
    /// A preemption query was given a snapshot with an overlay. Its victims are looked up in the cluster as it is.
    #[error("preemption cannot be combined with an overlay: remove the overlay from the request")]
    PreemptionWithOverlay,
    /// The claims of a pod get no devices on a node.
    #[error("pod {pod} gets no devices on node {node:?}: {error}")]
    Allocation {
        /// The pod as `namespace/name`.
        pod: String,
        /// Name of the node.
        node: String,
        /// Reason why no devices are allocated.
        error: AllocationError,
    },
    /// A cached verdict differs from a fresh one, which is a bug in nodesift. Compared only with [`crate::Reuse::Verified`].
    #[error(
        "pod {pod}: a cached verdict differs from a fresh one: {difference}: this is a bug in nodesift, please report it; \
         without --verify-reuse the sidecar does not compare"
    )]
    ReuseMismatch {
        /// The pod as `namespace/name`.
        pod: String,
        /// The first difference between the two verdicts, as text.
        difference: String,
    },
}
