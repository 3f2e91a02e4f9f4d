//! Events as they are kept and sent: changes of allocations, each with what was free on the node before and after, and watermarks that
//! nodes cross.
//!
//! An event keeps no record of a pod alive. It has texts, amounts and the account, and their bytes are counted, so that those who keep
//! events can bound them. Start at [`Event`].

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::columns::Generation;
use crate::limits::{EVENT_AMOUNT_BYTES, EVENT_BYTES, EVENT_RESOURCES};
use crate::metadata::{Account, Amounts, Ownership, PodRecord, Watermark};

/// A thing that has happened on a node.
#[derive(Debug, Clone)]
pub enum Event {
    /// An allocation has come, gone or changed.
    Allocation(AllocationEvent),
    /// A watermark of a sum has been crossed.
    Watermark(WatermarkEvent),
}

/// A watermark that a node has crossed.
#[derive(Debug, Clone)]
pub struct WatermarkEvent {
    /// The first published generation that shows it.
    pub generation: Generation,
    /// Time of its publication, for people.
    pub at: SystemTime,
    /// Name of the node.
    pub node: Arc<str>,
    /// The watermark that was crossed.
    pub mark: Watermark,
    /// Whether the node is above from then on.
    pub is_above: bool,
    /// The sum on the node.
    pub sum: i64,
    /// The amount of which the sum is a share.
    pub whole: i64,
    /// Pods on the node that add most to the sum, the heaviest first.
    pub pods: Vec<WeighingPod>,
}

/// A pod with the amount that it adds to a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeighingPod {
    /// UID of the pod, as in its record.
    pub uid: Arc<str>,
    /// Namespace of the pod.
    pub namespace: Arc<str>,
    /// Name of the pod in its namespace.
    pub name: Arc<str>,
    /// Amount that the pod adds to the sum.
    pub amount: i64,
}

/// Kind of change of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationChange {
    /// The pod counts on its node from now on.
    Added,
    /// The pod no longer counts on its node.
    Removed,
    /// The pod still counts on the same node, with something about it changed: amounts, labels, or no longer only assumed.
    Updated,
}

/// One change of one allocation.
#[derive(Debug, Clone)]
pub struct AllocationEvent {
    /// Kind of change: added, removed or updated.
    pub change: AllocationChange,
    /// The first published generation that shows it.
    pub generation: Generation,
    /// Time of its publication, for people: events are in their order without it.
    pub at: SystemTime,
    /// The pod, as it is on the node or was.
    pub pod: EventPod,
    /// Whether the pod is only assumed on the node.
    pub assumed: bool,
    /// Free amounts of the node before and after, of resources that the pod takes and nodes advertise, and of `pods`. Empty where no
    /// amount has changed.
    pub free: Vec<FreeChange>,
}

/// A pod on a node, as an event has it.
#[derive(Debug, Clone)]
pub struct EventPod {
    /// UID of the pod, as in its record.
    pub uid: Arc<str>,
    /// Namespace of the pod.
    pub namespace: Arc<str>,
    /// Name of the pod in its namespace.
    pub name: Arc<str>,
    /// Node that the event is about.
    pub node: Arc<str>,
    /// Kind of the scheduler that placed the pod.
    pub ownership: Ownership,
    /// Priority of the pod, `spec.priority`.
    pub priority: i32,
    /// Whether the pod is being deleted.
    pub terminating: bool,
    /// Amounts that the pod takes of the node, at most [`EVENT_RESOURCES`] of them.
    pub usage: Amounts,
    /// Account of the pod; none where it takes what the API says.
    pub account: Option<Arc<Account>>,
}

/// Free amount of a resource on a node, before and after an event: `cpu` in millicores, every other resource in whole units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeChange {
    /// Name of the resource.
    pub resource: Arc<str>,
    /// Amount that was free.
    pub before: i64,
    /// Amount that is free from then on.
    pub after: i64,
}

impl Event {
    /// The first published generation that shows it.
    pub fn generation(&self) -> Generation {
        match self {
            Self::Allocation(event) => event.generation,
            Self::Watermark(event) => event.generation,
        }
    }

    /// Name of the node that the event is about.
    pub fn node(&self) -> &Arc<str> {
        match self {
            Self::Allocation(event) => &event.pod.node,
            Self::Watermark(event) => &event.node,
        }
    }

    /// The event as it is published.
    pub(super) fn published(self, generation: Generation, at: SystemTime) -> Self {
        match self {
            Self::Allocation(event) => Self::Allocation(AllocationEvent { generation, at, ..event }),
            Self::Watermark(event) => Self::Watermark(WatermarkEvent { generation, at, ..event }),
        }
    }

    /// Bytes of memory that it takes at most.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Allocation(event) => event.bytes(),
            Self::Watermark(WatermarkEvent { node, mark, pods, .. }) => {
                let texts = node.len() + mark.sum.len() + mark.whole.len();
                let pod = |pod: &WeighingPod| amount_bytes(&pod.uid) + pod.namespace.len() + pod.name.len();
                EVENT_BYTES + texts + pods.iter().map(pod).sum::<usize>()
            }
        }
    }
}

impl AllocationEvent {
    /// A change that is not published yet.
    pub(super) fn new(change: AllocationChange, pod: &PodRecord, assumed: bool, free: Vec<FreeChange>) -> Self {
        let pod = EventPod {
            uid: Arc::clone(&pod.uid),
            namespace: Arc::clone(&pod.namespace),
            name: Arc::clone(&pod.name),
            node: pod.node_name.clone().unwrap_or_default(),
            ownership: pod.ownership,
            priority: pod.priority,
            terminating: pod.terminating,
            usage: pod.usage().iter().take(EVENT_RESOURCES).cloned().collect(),
            account: pod.account.clone(),
        };
        Self { change, generation: Generation(0), at: SystemTime::UNIX_EPOCH, pod, assumed, free }
    }

    /// Whether both are about the same pod on the same node.
    pub(super) fn is_about_the_same(&self, other: &Self) -> bool {
        self.pod.uid == other.pod.uid && self.pod.node == other.pod.node
    }

    /// Becomes one event with the next one about the same pod on the same node: one that is removed and added again is updated.
    pub(super) fn merge(&mut self, next: Self) {
        let change = if self.change == AllocationChange::Removed { AllocationChange::Updated } else { self.change };
        let mut free = std::mem::take(&mut self.free);
        for next in next.free {
            match free.iter_mut().find(|known| known.resource == next.resource) {
                Some(known) => known.after = next.after,
                None => free.push(next),
            }
        }
        *self = Self { change, free, pod: next.pod, ..next };
    }

    /// Bytes of memory that it takes at most, as an event.
    fn bytes(&self) -> usize {
        let EventPod { uid, namespace, name, node, usage, account, .. } = &self.pod;
        let texts: usize = [uid, namespace, name, node].into_iter().map(|text| text.len()).sum();
        let free: usize = self.free.iter().map(|free| amount_bytes(&free.resource)).sum();
        EVENT_BYTES + texts + free + amounts_bytes(usage) + account.as_deref().map_or(0, account_bytes)
    }
}

fn account_bytes(account: &Account) -> usize {
    let flags: usize = account.flags.iter().map(|flag| amount_bytes(flag)).sum();
    let fault = account.fault.as_ref().map_or(0, |fault| fault.text.len());
    let amounts = [&account.requests[..], &account.usage[..], &account.sums[..]];
    flags + fault + amounts.into_iter().map(amounts_bytes).sum::<usize>()
}

fn amounts_bytes(amounts: &[(Arc<str>, i64)]) -> usize {
    amounts.iter().map(|(name, _)| amount_bytes(name)).sum()
}

fn amount_bytes(name: &str) -> usize {
    name.len() + EVENT_AMOUNT_BYTES
}

/// Amounts as a log line has them: `cpu=400 memory=1073741824`.
pub(super) struct Taken<'a>(pub(super) &'a [(Arc<str>, i64)]);

impl fmt::Display for Taken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, amount)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={amount}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

/// Free amounts before and after as a log line has them: `cpu=1000->600 pods=10->9`.
pub(super) struct Free<'a>(pub(super) &'a [FreeChange]);

impl fmt::Display for Free<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, FreeChange { resource, before, after }) in self.0.iter().enumerate() {
            write!(f, "{}{resource}={before}->{after}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}
