//! Whether a module is called, in `GET /v1/policy`, and about which pods it is not, there and in `GET /v1/state`, which lists throttled
//! namespaces as well. Start at [`Breaker::new`].

use serde::Serialize;

use super::time::{microseconds, rfc3339};
use nodesift_engine::{self as engine, ActivePolicy, ActivePredicate, Aside, Quarantine};

/// Whether a module is called.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Breaker {
    /// `closed`, or `open` while the predicate is in quarantine.
    state: &'static str,
    /// How often it has opened.
    opened: u64,
    #[serde(flatten)]
    quarantine: Option<Open>,
    /// Pod templates that it is not called about for now, the longest first.
    set_aside: Vec<SetAside>,
}

/// A pod template that a module is not called about for now.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetAside {
    /// The pod that a call failed about last, as `namespace/name`.
    pod: String,
    last_fault: String,
    /// Faults in a row about pods of the template.
    faults: u32,
    since: String,
    retry_in_ms: u64,
}

/// A pod template, with the predicate that is not called about it for now.
#[derive(Serialize)]
pub(super) struct SetAsideBy {
    predicate: String,
    #[serde(flatten)]
    template: SetAside,
}

impl SetAsideBy {
    /// Pod templates that the predicates of a policy are not called about, predicate by predicate.
    pub(super) fn all(policy: &ActivePolicy) -> Vec<Self> {
        let of = |predicate: &ActivePredicate| {
            let name = predicate.name.to_string();
            let asides = predicate.breaker.set_aside().into_iter();
            asides
                .map(move |aside| Self { predicate: name.clone(), template: SetAside::from(aside) })
                .collect::<Vec<_>>()
        };
        policy.components().flat_map(of).collect()
    }
}

impl From<Aside> for SetAside {
    fn from(Aside { pod, last_fault, faults, since, retry_in }: Aside) -> Self {
        let (last_fault, since) = (last_fault.to_string(), rfc3339(since));
        Self { pod, last_fault, faults, since, retry_in_ms: microseconds(retry_in) / 1_000 }
    }
}

/// A namespace whose large pods get no more time than ordinary ones for now.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Throttled {
    namespace: String,
    /// Processor time that it has yet to pay off, at a part of a core for all in debt together.
    debt_ms: u64,
    /// Time until it is throttled no more, if nothing is charged meanwhile.
    ends_in_ms: u64,
}

impl Throttled {
    /// Throttled namespaces of a policy, those with the longest wait first.
    pub(super) fn all(policy: &ActivePolicy) -> Vec<Self> {
        policy.throttle.list().into_iter().map(Self::from).collect()
    }
}

impl From<engine::Throttled> for Throttled {
    fn from(engine::Throttled { namespace, debt, wait }: engine::Throttled) -> Self {
        Self { namespace, debt_ms: microseconds(debt) / 1_000, ends_in_ms: microseconds(wait) / 1_000 }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Open {
    since: String,
    last_fault: String,
    retry_in_ms: u64,
    /// Retries without a fault, in a row.
    good_calls: u32,
}

impl Breaker {
    /// That of a module.
    pub(super) fn new(breaker: &nodesift_engine::Breaker) -> Self {
        let quarantine = breaker.quarantine();
        Self {
            state: if quarantine.is_some() { "open" } else { "closed" },
            opened: breaker.opened(),
            quarantine: quarantine.map(|Quarantine { since, last_fault, retry_in, good_calls }| Open {
                since: rfc3339(since),
                last_fault: last_fault.to_string(),
                retry_in_ms: microseconds(retry_in) / 1_000,
                good_calls,
            }),
            set_aside: breaker.set_aside().into_iter().map(SetAside::from).collect(),
        }
    }
}
