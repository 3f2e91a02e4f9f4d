//! Pods in documents for operators: on a node, on none, and in events. Start at [`PodOnNode`].

use std::collections::BTreeMap;

use serde::Serialize;

use super::amounts::Resources;
use nodesift_cache::EventPod;
use nodesift_cache::metadata::{Account, Ownership, PodRecord};

/// A pod on a node as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodOnNode<'a> {
    uid: &'a str,
    namespace: &'a str,
    name: &'a str,
    node: &'a str,
    /// `own`, `foreign` or `static`.
    ownership: &'static str,
    /// Amounts that the pod takes of the node.
    usage: Resources<'a>,
    /// Absent where the pod takes what the API says.
    #[serde(flatten)]
    account: Option<AccountOf<'a>>,
    priority: i32,
    /// Whether a core has reported it, and no event has confirmed it.
    assumed: bool,
    /// Whether the pod is being deleted.
    terminating: bool,
}

impl<'a> PodOnNode<'a> {
    /// A pod of the cache.
    pub(super) fn new(pod: &'a PodRecord, assumed: bool) -> Self {
        Self {
            uid: &pod.uid,
            namespace: &pod.namespace,
            name: &pod.name,
            node: pod.node_name.as_deref().unwrap_or_default(),
            ownership: whose(pod.ownership),
            usage: Resources(pod.usage()),
            account: AccountOf::new(pod.account.as_deref()),
            priority: pod.priority,
            assumed,
            terminating: pod.terminating,
        }
    }

    /// A pod of an event.
    pub(super) fn from_event(pod: &'a EventPod, assumed: bool) -> Self {
        let EventPod { uid, namespace, name, node, ownership, priority, terminating, usage, account } = pod;
        Self {
            uid,
            namespace,
            name,
            node,
            ownership: whose(*ownership),
            usage: Resources(usage),
            account: AccountOf::new(account.as_deref()),
            priority: *priority,
            assumed,
            terminating: *terminating,
        }
    }
}

/// The word for whose a pod is.
fn whose(ownership: Ownership) -> &'static str {
    match ownership {
        Ownership::Own => "own",
        Ownership::Foreign => "foreign",
        Ownership::ForeignStatic => "static",
    }
}

/// A pod that is bound to no node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingPod<'a> {
    uid: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// Resources that the pod requests.
    requests: Resources<'a>,
    #[serde(flatten)]
    account: Option<AccountOf<'a>>,
    priority: i32,
    /// Node that preemption has nominated for the pod, from `status.nominatedNodeName`.
    #[serde(skip_serializing_if = "Option::is_none")]
    nominated_node: Option<&'a str>,
}

impl<'a> PendingPod<'a> {
    /// A pod of the cache.
    pub(super) fn new(pod: &'a PodRecord) -> Self {
        Self {
            uid: &pod.uid,
            namespace: &pod.namespace,
            name: &pod.name,
            requests: Resources(pod.requests()),
            account: AccountOf::new(pod.account.as_deref()),
            priority: pod.priority,
            nominated_node: pod.nominated_node.as_deref(),
        }
    }
}

/// Account of a pod by the accounting component, without the amounts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountOf<'a> {
    /// Amounts that the pod adds to the named sums of its node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sums: BTreeMap<&'a str, i64>,
    /// Flags that the component has set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'a str>,
    /// Why its account is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    account_error: Option<&'a str>,
    /// Replacement for an unknown account: the `last` account, or the `standard` amounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    account_is: Option<&'static str>,
}

impl<'a> AccountOf<'a> {
    fn new(account: Option<&'a Account>) -> Option<Self> {
        let account = account?;
        let fault = account.fault.as_ref();
        Some(Self {
            sums: account.sums.iter().map(|(name, amount)| (&**name, *amount)).collect(),
            flags: account.flags.iter().map(|flag| &**flag).collect(),
            account_error: fault.map(|fault| &*fault.text),
            account_is: fault.map(|fault| if fault.is_last { "last" } else { "standard" }),
        })
    }
}
