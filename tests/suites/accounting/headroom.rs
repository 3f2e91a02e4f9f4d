//! Headroom of pods on random nodes, beside a count of the objects by hand.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nodesift_engine::{Error, PodRef, ResourceHeadroom};
use serde_json::{Value, json};

use super::world::{World, granting, node, pod};

const NODES: usize = 1_000;
/// Pods of a node, at most.
const PODS: usize = 8;
const MEMORY: i64 = 64 << 30;

/// Processor time in a text such as `250m`.
fn milli(text: &Value) -> i64 {
    text.as_str().unwrap().trim_end_matches('m').parse().unwrap()
}

/// Processor time that a pod takes by the rules of the component; by the standard amounts where it is broken.
fn takes(pod: &Value) -> i64 {
    let container = milli(&pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]);
    if pod["metadata"]["annotations"]["k"] == "c" { container } else { container + 5 }
}

#[test]
fn headroom_on_a_thousand_random_nodes_is_what_a_count_of_all_their_pods_leaves() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let world = World::new(Some(&granting(&json!({"onError": "Standard"}))));
    let (mut objects, mut pods) = (Vec::new(), Vec::<(String, Value)>::new());
    let (mut nodes, mut pending) = (BTreeMap::<String, i64>::new(), Vec::new());
    for number in 0..NODES {
        let (name, allocatable) = (format!("n{number}"), random.u64(200..4_000));
        objects.push(node(&name, 1, allocatable, None));
        nodes.insert(name.clone(), i64::try_from(allocatable).unwrap());
        for _ in 0..random.usize(0..=PODS) {
            let letter = [None, Some("a"), Some("c"), Some("b")][random.usize(0..4)];
            let is_assumed = random.u8(0..5) == 0;
            let on = (!is_assumed).then_some(name.as_str());
            let made = pod(&format!("p{}", pods.len()), 1, on, random.u64(1..1_000), letter);
            objects.push(made.clone());
            pending.extend(is_assumed.then(|| (format!("u-p{}", pods.len()), name.clone())));
            pods.push((name.clone(), made));
        }
    }
    let lonely = pod("lonely", 1, None, 100, None);
    objects.push(lonely);
    random.shuffle(&mut objects);
    objects.chunks(500).for_each(|some| world.deliver(some));
    world.settle(10);
    let until = Instant::now() + Duration::from_secs(3_600);
    for (uid, node) in &pending {
        world.writer.lock().assume(uid, node, until).unwrap();
    }
    world.writer.lock().publish();
    let snapshot = world.reader.snapshot();

    let mut taken: BTreeMap<&str, i64> = BTreeMap::new();
    for (node, pod) in &pods {
        *taken.entry(node).or_default() += takes(pod);
    }
    let (mut whole, mut part, mut none) = (0, 0, 0);
    for (at, (node, pod)) in pods.iter().enumerate() {
        let more = random.i64(0..1_500);
        let amounts =
            [("cpu", more), ("memory", 7), ("example.com/none", 3)].map(|(name, amount)| (name.to_owned(), amount));
        let asked = PodRef::Uid(format!("u-p{at}"));
        let found = world.engine.headroom(&asked, &amounts, &snapshot).unwrap();
        let free = nodes[node] - taken[node.as_str()];
        let fits = if free <= 0 { 0 } else { more.min(free) };
        let room = |name: &str, allocatable: i64, taken: i64, free: i64, fits: i64| ResourceHeadroom {
            name: name.to_owned(),
            allocatable,
            taken,
            free,
            fits,
        };
        let expected = [
            room("cpu", nodes[node], takes(pod), free, fits),
            room("memory", MEMORY, 0, MEMORY, 7),
            room("example.com/none", 0, 0, 0, 0),
        ];
        assert_eq!(
            (&*found.node, found.resources.as_slice()),
            (node.as_str(), expected.as_slice()),
            "seed {seed}: {asked}"
        );
        match fits {
            0 => none += 1,
            _ if fits == more => whole += 1,
            _ => part += 1,
        }
    }
    assert!(whole > 100 && part > 100 && none > 100, "seed {seed}: {whole} {part} {none}");
    let lonely = world.engine.headroom(&PodRef::Uid("u-lonely".to_owned()), &[], &snapshot);
    assert!(matches!(lonely, Err(Error::NotOnNode { .. })), "{lonely:?}");
}
