//! Tests of predicates that decide node by node: the same verdicts as a plain loop, each question asked once.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::cell::Cell;

use super::*;
use crate::NoArgs;
use crate::columns::pod_tolerations::Effect;
use crate::native::{Cluster, Node as NativeNode, Pod as NativePod};

/// Reads of a node what other reads of it say, and rejects for reasons that name all of it. Counts its calls.
#[derive(Debug, Default)]
struct Wanderer {
    calls: Cell<usize>,
}

impl NodePredicate for Wanderer {
    const NAME: &'static str = "Wanderer";
    const SUMMARY: &'static str = "rejects nodes by all that it reads of them";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self::default())
    }

    fn filter(&self, pod: &Pod, node: &Node) -> Result<(), Failure> {
        self.calls.set(self.calls.get() + 1);
        let seen = match (node.label("a"), node.label("b")) {
            (Some("0"), _) => return Ok(()),
            (Some("1"), b) => format!("{b:?} {}", node.unschedulable()),
            (Some("2"), Some("0")) => format!("free {}", node.free("cpu") - pod.request("cpu")),
            (Some("2"), _) if node.free("cpu") > 2 => format!("label {:?}", node.label("c")),
            (Some("2"), _) => return Ok(()),
            (_, Some("1")) => format!("{:?}", node.taints()),
            // Few nodes share a value of it.
            (_, Some("2")) => format!("own {:?}", node.label("own")),
            (Some("3"), _) => {
                let (arch, created) = (node.info(Field::Architecture), node.created());
                format!("{} {arch:?} {} {created:?}", node.condition("Ready"), node.has_image("a"))
            }
            (_, b) => format!("{:?} {b:?} {} {:?}", node.annotation("a"), node.pods(), pod.label("a")),
        };
        Err(if seen.len() % 2 == 0 { Failure::unschedulable(seen) } else { Failure::unresolvable(seen) })
    }
}

fn random_node(random: &mut fastrand::Rng, at: usize) -> NativeNode {
    let mut node =
        NativeNode::new(&format!("node-{at}")).pods(10, random.i64(0..3)).resource("cpu", 10, random.i64(4..10));
    for key in ["a", "b", "c"] {
        if random.u8(0..5) > 0 {
            node = node.label(key, &random.u8(0..4).to_string());
        }
    }
    node = node.label("own", &at.to_string());
    if random.bool() {
        node = node.annotation("a", &random.u8(0..3).to_string());
    }
    if random.bool() {
        node = node.unschedulable();
    }
    node = node.condition("Ready", random.u8(0..4));
    if random.bool() {
        node = node.info(Field::Architecture, ["amd64", "arm64"][usize::from(random.bool())]).image("a").created(7);
    }
    if random.bool() {
        node = node.taint("key", &random.u8(0..3).to_string(), Effect::NoSchedule);
    }
    node
}

/// `Cluster::failures` compares the batch of all nodes, where calls are shared, with batches of one node, where none is.
#[test]
fn nodes_that_share_a_call_have_the_verdict_of_their_own() {
    let seed =
        std::env::var("NODESIFT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    eprintln!("NODESIFT_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..20 {
        let nodes = random.usize(0..120);
        let pod = NativePod::new("default").label("a", "x").request("cpu", random.i64(0..3));
        let cluster = (0..nodes).fold(Cluster::new(pod), |cluster, at| cluster.node(random_node(&mut random, at)));
        let predicate = Wanderer::default();
        assert_eq!(cluster.failures(&predicate).len(), nodes);
    }
}

/// A pod of one team in a cluster of three.
struct Team(Cell<usize>);

impl NodePredicate for Team {
    const NAME: &'static str = "Team";
    const SUMMARY: &'static str = "rejects nodes of other teams";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self(Cell::new(0)))
    }

    fn filter(&self, pod: &Pod, node: &Node) -> Result<(), Failure> {
        self.0.set(self.0.get() + 1);
        let Some(team) = pod.label("team") else { return Ok(()) };
        if node.label("team") == Some(team) { Ok(()) } else { Err(Failure::unresolvable("another team")) }
    }
}

#[test]
fn a_predicate_over_labels_is_called_once_for_each_value() {
    let nodes = |cluster: Cluster| {
        (0..1_000).fold(cluster, |cluster, at| {
            let node = NativeNode::new(&at.to_string());
            cluster.node(if at % 4 == 3 { node } else { node.label("team", &(at % 4).to_string()) })
        })
    };
    for (pod, calls, fit) in [
        // Three values, and nodes without the label.
        (NativePod::new("default").label("team", "1"), 4, 250),
        // Nothing is read of any node.
        (NativePod::new("default"), 1, 1_000),
    ] {
        let team = Team(Cell::new(0));
        let verdict = nodes(Cluster::new(pod)).verdict(&team);
        let fits = verdict.failures(1_000).unwrap().iter().filter(|failure| failure.is_none()).count();
        assert_eq!((team.0.get(), fits), (calls, fit));
    }
}

#[test]
fn a_label_that_every_node_has_to_itself_is_not_branched_on() {
    let cluster = (0..200).fold(Cluster::new(NativePod::new("default").label("team", "7")), |cluster, at| {
        cluster.node(NativeNode::new(&at.to_string()).label("team", &at.to_string()))
    });
    let team = Team(Cell::new(0));
    let verdict = cluster.verdict(&team);
    assert_eq!(team.0.get(), 200);
    assert_eq!(verdict.failures(200).unwrap().iter().filter(|failure| failure.is_none()).count(), 1);
}
