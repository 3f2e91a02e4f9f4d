//! Events as lines of JSON: in the stream of all nodes, and in the history of one. Start at [`EventLine::new`].

use serde::Serialize;

use super::accounting::WatermarkStatus;
use super::amounts::ByName;
use super::pods::PodOnNode;
use super::time::rfc3339;
use nodesift_cache::{AllocationChange, AllocationEvent, Event, FreeChange, WatermarkEvent, WeighingPod};

/// An event as JSON.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EventLine<'a> {
    /// An allocation has come, gone or changed.
    Allocation(AllocationLine<'a>),
    /// A node has crossed a watermark.
    Watermark(WatermarkLine<'a>),
}

impl<'a> EventLine<'a> {
    /// An event of the cache.
    pub(super) fn new(event: &'a Event) -> Self {
        match event {
            Event::Allocation(event) => Self::Allocation(AllocationLine::new(event)),
            Event::Watermark(event) => Self::Watermark(WatermarkLine::new(event)),
        }
    }
}

/// An event of an allocation as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AllocationLine<'a> {
    /// `ADD`: the pod has come to the node, bound or assumed. `UPDATE`: it is on the same node, and something about it has changed.
    /// `REMOVE`: it has left the node.
    #[serde(rename = "type")]
    change: &'static str,
    generation: String,
    /// Time of the publication that showed it, in RFC 3339.
    at: String,
    #[serde(flatten)]
    pod: PodOnNode<'a>,
    /// Free amounts of the node before, of resources that the pod takes, and of `pods`. Empty where nothing of it has changed.
    free_before: ByName<'a>,
    /// Free amounts of the node from then on, of the same resources.
    free_after: ByName<'a>,
}

impl<'a> AllocationLine<'a> {
    fn new(event: &'a AllocationEvent) -> Self {
        let free = |of: fn(&FreeChange) -> i64| event.free.iter().map(|free| (&*free.resource, of(free))).collect();
        Self {
            change: match event.change {
                AllocationChange::Added => "ADD",
                AllocationChange::Updated => "UPDATE",
                AllocationChange::Removed => "REMOVE",
            },
            generation: event.generation.0.to_string(),
            at: rfc3339(event.at),
            pod: PodOnNode::from_event(&event.pod, event.assumed),
            free_before: free(|free| free.before),
            free_after: free(|free| free.after),
        }
    }
}

/// An event of a watermark as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WatermarkLine<'a> {
    /// `ABOVE`: the sum of the node is more than the mark allows. `BELOW`: it was, and is no more.
    #[serde(rename = "type")]
    change: &'static str,
    generation: String,
    /// Time of the publication that showed it, in RFC 3339.
    at: String,
    node: &'a str,
    watermark: WatermarkStatus<'a>,
    /// The sum on the node.
    amount: i64,
    /// The amount of which it is a share.
    whole: i64,
    /// Pods on the node that add most to the sum, the heaviest first.
    pods: Vec<WeighingLine<'a>>,
}

#[derive(Debug, Serialize)]
struct WeighingLine<'a> {
    uid: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// Amount that the pod adds to the sum.
    amount: i64,
}

impl<'a> WatermarkLine<'a> {
    fn new(event: &'a WatermarkEvent) -> Self {
        let pod = |pod: &'a WeighingPod| {
            let WeighingPod { uid, namespace, name, amount } = pod;
            WeighingLine { uid, namespace, name, amount: *amount }
        };
        Self {
            change: if event.is_above { "ABOVE" } else { "BELOW" },
            generation: event.generation.0.to_string(),
            at: rfc3339(event.at),
            node: &event.node,
            watermark: WatermarkStatus::new(&event.mark),
            amount: event.sum,
            whole: event.whole,
            pods: event.pods.iter().map(pod).collect(),
        }
    }
}
