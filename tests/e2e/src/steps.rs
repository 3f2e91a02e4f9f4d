//! The steps of a random history: each is a few writes to one object, chosen from the existing ones.
//!
//! Start at [`STEPS`], which has the weight of each.

use nodesift_fixtures::Rng;
use nodesift_fixtures::json::{at, is_set, key, list, name, text};
use nodesift_fixtures::live::{self, nodes, pods, storage};
use serde_json::{Value, json};

use crate::api::Write;
use crate::kinds::{NODES, path};
use crate::world::{World, is_pending, is_placed, is_terminating};

/// Maximum number of nodes that are deleted at a time.
pub(crate) const GONE_NODES: usize = 8;

/// One step of a history: its writes to one object.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its name in the counts.
    pub(crate) name: &'static str,
    /// The object that it changes. Concurrent steps change different objects.
    pub(crate) target: String,
    /// The writes, in order.
    pub(crate) writes: Vec<Write>,
    /// The change of the run's record.
    pub(crate) effect: Effect,
}

/// The change of the run's record after a successful step.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// The pod or node exists again.
    There,
    /// The pod is bound to this node.
    Bound(String),
    /// The pod is gone.
    PodGone,
    /// The node is gone.
    NodeGone,
    /// The claim is bound.
    ClaimBound,
    /// No change that matters for choosing steps.
    Nothing,
}

/// The input of a choice.
pub(crate) struct Scene<'a> {
    /// Existing objects, from which the step is chosen.
    pub(crate) world: &'a World,
    /// Maximum number of pods.
    pub(crate) pods: usize,
    /// The number of the next new pod.
    pub(crate) next_pod: usize,
}

/// Name, weight, and a function that makes a step where one is possible.
type Entry = (&'static str, usize, fn(&mut Rng, &Scene<'_>) -> Option<(String, Vec<Write>, Effect)>);

/// All steps with their weights.
pub(crate) const STEPS: [Entry; 23] = [
    ("pod created", 15, create_pod),
    ("pod created on its node", 4, create_placed_pod),
    ("pod bound", 16, bind),
    ("pod relabelled", 7, relabel_pod),
    ("pod nominated", 4, nominate),
    ("pod found unschedulable", 4, mark_unschedulable),
    ("pod runs", 9, run),
    ("pod resized", 6, resize),
    ("pod's size reported", 6, report_size),
    ("pod ended", 5, end),
    ("pod terminating", 6, terminate),
    ("pod gone", 9, remove_pod),
    ("pod replaced", 3, replace_pod),
    ("node relabelled", 3, relabel_node),
    ("node's zone changed", 1, move_node),
    ("node tainted", 3, taint),
    ("node cordoned", 3, cordon),
    ("node resized", 3, resize_node),
    ("node gone", 1, remove_node),
    ("node back", 1, return_node),
    ("namespace relabelled", 1, relabel_namespace),
    ("claim bound", 1, bind_claim),
    ("node tainted and relabelled at once", 1, taint_and_relabel),
];

/// A random step; `None` where the chosen kind is not possible.
pub(crate) fn choose(rng: &mut Rng, scene: &Scene<'_>) -> Option<Step> {
    let weights: usize = STEPS.iter().map(|(_, weight, _)| weight).sum();
    let mut at = rng.below(weights);
    let (name, _, make) = STEPS.iter().find(|(_, weight, _)| match at.checked_sub(*weight) {
        Some(rest) => {
            at = rest;
            false
        }
        None => true,
    })?;
    let (target, writes, effect) = make(rng, scene)?;
    Some(Step { name, target, writes, effect })
}

type Made = Option<(String, Vec<Write>, Effect)>;

fn create(pod: Value) -> Made {
    Some((key(&pod), vec![Write::create(crate::kinds::collection(&pod), pod)], Effect::There))
}

fn create_pod(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    (scene.world.pods.len() < scene.pods).then(|| pods::pending(rng, scene.next_pod)).and_then(create)
}

fn create_placed_pod(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let node = scene.world.some_node(rng)?;
    (scene.world.pods.len() < scene.pods).then(|| pods::placed(rng, scene.next_pod, node)).and_then(create)
}

fn bind(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, is_pending)?;
    // A scheduler may bind to a node that is being deleted.
    let late = rng.chance(5).then(|| rng.choose(&scene.world.gone).cloned()).flatten();
    let node = late.or_else(|| scene.world.some_node(rng).map(|node| name(node).to_owned()))?;
    Some((key(pod), vec![binding(pod, &node)], Effect::Bound(node)))
}

/// Binds a pod as a scheduler does.
pub(crate) fn binding(pod: &Value, node: &str) -> Write {
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name(pod), "namespace": text(pod, "metadata.namespace")},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    Write::create(format!("{}/binding", path(pod)), binding)
}

/// A patch of a pod or node, or of one of its subresources.
fn patch(object: &Value, subresource: &str, patch: Value) -> Made {
    Some((key(object), vec![Write::patch(format!("{}{subresource}", path(object)), patch)], Effect::There))
}

fn relabel_pod(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, |_| true)?;
    patch(pod, "", json!({"metadata": {"labels": pods::labels(rng)}}))
}

fn nominate(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, is_pending)?;
    patch(pod, "/status", pods::nominated(rng, &scene.world.node_names()))
}

fn mark_unschedulable(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, is_pending)?;
    patch(pod, "/status", pods::unschedulable(rng))
}

fn run(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, |pod| is_placed(pod) && text(pod, "status.phase") != "Running")?;
    patch(pod, "/status", pods::running(pod))
}

/// Whether a pod can be resized in place: it runs, no kubelet owns it, and it has no pod-level requests.
fn is_resizable(pod: &Value) -> bool {
    let is_static = list(pod, "metadata.ownerReferences").iter().any(|owner| text(owner, "kind") == "Node");
    is_placed(pod) && text(pod, "status.phase") == "Running" && !is_static && !is_set(pod, "spec.resources")
}

fn resize(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    // The server checks the pod's node for the new amounts.
    let has_node = |pod: &Value| scene.world.nodes.contains_key(text(pod, "spec.nodeName"));
    let pod = scene.world.some_pod(rng, |pod| is_resizable(pod) && has_node(pod))?;
    patch(pod, "/resize", pods::resized(rng, pod))
}

fn report_size(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, is_resizable)?;
    patch(pod, "/status", pods::resizing(rng, pod))
}

fn end(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, is_placed)?;
    patch(pod, "/status", json!({"status": {"phase": rng.pick(&["Succeeded", "Failed"])}}))
}

fn terminate(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, is_placed)?;
    Some((key(pod), vec![Write::delete(path(pod), None)], Effect::There))
}

fn remove_pod(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let terminating = rng.chance(60);
    let pod = scene.world.some_pod(rng, |pod| is_terminating(pod) || !terminating)?;
    Some((key(pod), vec![Write::delete(path(pod), Some(0))], Effect::PodGone))
}

/// Replaces a pod immediately by one with this name and another UID, like a StatefulSet.
fn replace_pod(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let pod = scene.world.some_pod(rng, |_| true)?;
    let mut next = pods::pending(rng, 0);
    for field in ["name", "namespace"] {
        next["metadata"][field] = pod["metadata"][field].clone();
    }
    let create = Write::create(crate::kinds::collection(pod), next);
    Some((key(pod), vec![Write::delete(path(pod), Some(0)), create], Effect::There))
}

fn relabel_node(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    patch(scene.world.some_node(rng)?, "", json!({"metadata": {"labels": nodes::labels(rng)}}))
}

fn move_node(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let zone = if rng.chance(80) { json!(rng.pick(&live::ZONES)) } else { Value::Null };
    patch(scene.world.some_node(rng)?, "", json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}}))
}

fn taint(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    patch(scene.world.some_node(rng)?, "", json!({"spec": {"taints": nodes::taints(rng)}}))
}

fn taint_and_relabel(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let change = json!({"spec": {"taints": nodes::taints(rng)}, "metadata": {"labels": nodes::labels(rng)}});
    patch(scene.world.some_node(rng)?, "", change)
}

fn cordon(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let node = scene.world.some_node(rng)?;
    let is_cordoned = at(node, "spec.unschedulable").as_bool().unwrap_or(false);
    patch(node, "", json!({"spec": {"unschedulable": !is_cordoned}}))
}

fn resize_node(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    patch(scene.world.some_node(rng)?, "/status", nodes::status(rng))
}

fn remove_node(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let node = scene.world.some_node(rng).filter(|_| scene.world.gone.len() < GONE_NODES)?;
    Some((key(node), vec![Write::delete(path(node), None)], Effect::NodeGone))
}

fn return_node(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let name = rng.choose(&scene.world.gone)?;
    let node = nodes::node(rng, name);
    let status = Write::patch(format!("{}/status", path(&node)), nodes::status(rng));
    Some((key(&node), vec![Write::create(NODES, node), status], Effect::There))
}

fn relabel_namespace(rng: &mut Rng, _: &Scene<'_>) -> Made {
    let namespace = World::some_namespace(rng);
    let change = json!({"metadata": {"labels": live::namespace_labels(rng)}});
    Some((
        format!("namespace {namespace}"),
        vec![Write::patch(format!("/api/v1/namespaces/{namespace}"), change)],
        Effect::Nothing,
    ))
}

fn bind_claim(rng: &mut Rng, scene: &Scene<'_>) -> Made {
    let bindable: Vec<&Value> =
        scene.world.claims.values().filter(|claim| storage::volume_of(claim).is_some()).collect();
    let claim = *rng.choose(&bindable)?;
    let volume = storage::volume_of(claim)?;
    let [of_volume, of_claim, of_status] = storage::binding(claim, &volume);
    let writes = vec![
        Write::patch(format!("/api/v1/persistentvolumes/{volume}"), of_volume),
        Write::patch(path(claim), of_claim),
        Write::patch(format!("{}/status", path(claim)), of_status),
    ];
    Some((format!("claim {}", key(claim)), writes, Effect::ClaimBound))
}
