//! kube-scheduler's default Score plugins over plain objects: how good each feasible node is for a pod.
//!
//! One small module per plugin. Each gives a raw score per feasible node, or none where it has nothing to say about the pod;
//! [`normalization`] makes of them scores from 0 to 100, and [`score`] adds these by weight. [`profile`] has the plugins of a version with
//! weights and arguments. `tests/scores.rs` compares all of it with the real plugins.
//!
//! Start with [`score`].

mod balanced_allocation;
mod default_constraints;
mod devices;
mod fit;
mod image_locality;
mod logarithm;
mod node_affinity;
pub mod normalization;
mod pod_affinity;
pub mod profile;
mod resources;
mod shape;
mod spread;
mod taints;
mod volume_binding;

use nodesift_fixtures::{Cluster, json};
use serde_json::Value;

use crate::filters::Filter;
use crate::kubernetes::Switches;
use crate::{explain_under, selector};
use normalization::Normalization;
pub use profile::Profile;

/// The largest score of a plugin after normalization.
pub const LARGEST: i64 = 100;

/// Inputs of scores besides the pod and its feasible nodes.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    /// All objects of the cluster.
    pub cluster: &'a Cluster,
    /// Names of all nodes, in the order of the scheduler: the first one that has an image decides how large it is.
    pub order: &'a [String],
    /// Which version's plugins answer.
    pub switches: &'a Switches,
    /// The plugins with their weights and arguments.
    pub profile: &'a Profile,
}

/// The scores of a pod on its feasible nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scores {
    /// The scores of each plugin, in the order of the profile.
    pub plugins: Vec<PluginScores>,
    /// The weighted sum per feasible node.
    pub totals: Vec<i64>,
}

/// The scores that one plugin gives to a pod on its feasible nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginScores {
    /// Name of kube-scheduler's plugin.
    pub name: &'static str,
    /// The factor of its scores in the total.
    pub weight: i64,
    /// Its scores; `None` where it has nothing to say about the pod.
    pub column: Option<Column>,
}

/// Scores of a plugin per feasible node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Scores as the plugin gives them; `None` for a node that it leaves out.
    pub raw: Vec<Option<i64>>,
    /// Scores from 0 to [`LARGEST`].
    pub normalized: Vec<i64>,
}

/// Raw scores per feasible node; `None` where the plugin skips the pod.
type Raw = Option<Vec<Option<i64>>>;

/// A Score plugin of kube-scheduler.
#[derive(Debug, Clone, Copy)]
struct Plugin {
    /// Name of kube-scheduler's plugin.
    name: &'static str,
    normalization: Normalization,
    /// Scores a pod on its feasible nodes. The error ends the pod's cycle.
    score: fn(&World<'_>, &Value, &[&Value]) -> Result<Raw, String>,
}

/// All plugins, in kube-scheduler's order.
const PLUGINS: [Plugin; 9] = [
    Plugin { name: "TaintToleration", normalization: Normalization::ByLargestReversed, score: taints::score },
    Plugin { name: "NodeAffinity", normalization: Normalization::ByLargest, score: node_affinity::score },
    Plugin { name: "NodeResourcesFit", normalization: Normalization::None, score: fit::score },
    Plugin { name: "VolumeBinding", normalization: Normalization::None, score: volume_binding::score },
    Plugin { name: "PodTopologySpread", normalization: Normalization::ByDistance, score: spread::score },
    Plugin { name: "InterPodAffinity", normalization: Normalization::ByRange, score: pod_affinity::score },
    Plugin { name: "DynamicResources", normalization: Normalization::ByLargest, score: devices::score },
    Plugin {
        name: "NodeResourcesBalancedAllocation",
        normalization: Normalization::None,
        score: balanced_allocation::score,
    },
    Plugin { name: "ImageLocality", normalization: Normalization::None, score: image_locality::score },
];

/// Scores a pod on the nodes with these names, which are feasible.
///
/// # Errors
/// A plugin cannot score the pod, or gives a score that is not from 0 to [`LARGEST`]: the pod's cycle ends.
pub fn score(world: &World<'_>, pod: &Value, feasible: &[String]) -> Result<Scores, String> {
    let nodes: Vec<&Value> = feasible.iter().filter_map(|name| world.cluster.get("Node", name)).collect();
    let mut totals = vec![0_i64; nodes.len()];
    let mut plugins = Vec::new();
    for plugin in PLUGINS {
        let Some(weight) = world.profile.weight(plugin.name) else { continue };
        let failed = |error: String| format!("{}: {error}", plugin.name);
        let column = match (plugin.score)(world, pod, &nodes).map_err(failed)? {
            None => None,
            Some(raw) => {
                let normalized = plugin.normalization.apply(&raw);
                if let Some(wrong) = normalized.iter().find(|score| !(0..=LARGEST).contains(*score)) {
                    return Err(failed(format!("the score {wrong} is not from 0 to {LARGEST}")));
                }
                totals.iter_mut().zip(&normalized).for_each(|(total, score)| *total += weight * score);
                Some(Column { raw, normalized })
            }
        };
        plugins.push(PluginScores { name: plugin.name, weight, column });
    }
    Ok(Scores { plugins, totals })
}

/// The names of the nodes on which a pod fits, sorted: by these filters, and by the arguments of the profile that filters share with scores.
pub fn feasible(world: &World<'_>, pod: &Value, filters: &[Filter]) -> Vec<String> {
    let mut pod = pod.clone();
    let defaults = default_constraints::of_profile(world, &pod);
    if json::list(&pod, "spec.topologySpreadConstraints").is_empty() && !defaults.is_empty() {
        pod["spec"]["topologySpreadConstraints"] = Value::from(defaults);
    }
    let added = json::at(world.profile.arguments("NodeAffinity"), "addedAffinity");
    let required = json::at(added, "requiredDuringSchedulingIgnoredDuringExecution");
    let is_added = |name: &String| {
        let node = world.cluster.get("Node", name).unwrap_or(&Value::Null);
        required.is_null() || selector::node_selector_matches(required, json::labels(node), json::name(node))
    };
    let feasible = explain_under(world.cluster, &pod, filters, world.switches).together.feasible;
    feasible.into_iter().filter(is_added).collect()
}
