//! Random clusters: the predicate answers as the slow reference does. `NODESIFT_SEED` sets the only seed; a failure names its own.

use std::collections::BTreeMap;

use nodesift_dynamic_resources::limits;
use nodesift_fixtures::json::{self, at, list, name};
use nodesift_fixtures::random::claims::DeviceCluster;
use nodesift_fixtures::{Cluster, Rng};
use nodesift_reference::claims::{Selectors, World, judge};
use nodesift_reference::kubernetes::{Switches, versions};
use serde_json::{Value, json};

use crate::found::{Found, Verdicts, ask, differences, up_to_cel};
use crate::project::Nodes;

/// Clusters of a run; half of their seeds are the same in every run.
const CLUSTERS: u64 = 800;

/// Cases that a run has at least, so that the generator cannot degenerate unnoticed.
const LEAST_ALLOCATIONS: usize = 1_900;
const LEAST_TEXTS: usize = 20;

/// Pods of which a search is long enough to be pruned.
const LEAST_LONG: usize = 120;

/// Verdicts that may be about the number of steps instead, which the reference does not bound; one cluster in some 10,000 has any.
const MOST_BEYOND: usize = 8;

#[test]
fn answers_are_those_of_the_reference() {
    let selectors = Selectors::default();
    let (mut verdicts, mut allocations, mut most_steps, mut long, mut beyond) = (0, 0, 0, 0, 0);
    let mut texts: BTreeMap<String, usize> = BTreeMap::new();
    let seeds = seeds();
    println!(
        "seeds {} to {} and {} to {}",
        seeds[0],
        seeds[seeds.len() / 2 - 1],
        seeds[seeds.len() / 2],
        seeds[seeds.len() - 1]
    );
    for seed in seeds {
        let mut made = DeviceCluster::new(seed);
        let rng = &mut Rng::with_seed(seed);
        twist(rng, &mut made.cluster);
        made.pods.iter_mut().for_each(|pod| {
            if rng.chance(15) {
                twist_pod(rng, pod);
            }
        });
        let version = *rng.pick(&versions());
        let switches = Switches::from_version(version);
        let switches = if rng.chance(30) { switches.mended() } else { switches };
        let world = World { cluster: &made.cluster, in_flight: &[], now_s: 0, switches: &switches };
        let nodes = Nodes::new(&world, &selectors);
        for pod in &made.pods {
            let mut decision = judge(&world, &selectors, pod);
            let mut expected: Verdicts = decision
                .outcome
                .failures
                .iter()
                .map(|(node, failure)| {
                    let reasons = failure.reasons.iter().map(|reason| up_to_cel(reason)).collect();
                    (node.clone(), (failure.code.name().to_owned(), reasons))
                })
                .collect();
            let mut found = ask(&nodes, pod);
            for node in beyond_steps(&found) {
                beyond += 1;
                found.verdicts.remove(&node);
                expected.remove(&node);
                decision.allocations.remove(&node);
            }
            let of = format!("seed {seed}, {version}, {}", name(pod));
            let all = differences(&of, &nodes, &found, &expected, &decision.allocations);
            assert!(all.is_empty(), "{}", all.join("\n"));
            verdicts += nodes.nodes.len();
            allocations += found.allocations.len();
            most_steps = most_steps.max(found.effort.most_steps);
            long += usize::from(found.effort.most_steps as usize > limits::STEPS_BEFORE_PRUNING);
            for (_, reasons) in found.verdicts.values() {
                *texts.entry(anonymous(&reasons.concat())).or_default() += 1;
            }
        }
    }
    println!(
        "{verdicts} verdicts, {allocations} allocations, {} texts, at most {most_steps} steps, {long} pods with long searches",
        texts.len()
    );
    texts.iter().for_each(|(text, count)| println!("{count:7} {text}"));
    assert!(beyond <= MOST_BEYOND, "{beyond} verdicts after too many steps");
    if nodesift_seed::repeated().is_none() {
        assert!(long >= LEAST_LONG, "{long}");
        assert!(allocations >= LEAST_ALLOCATIONS && texts.len() >= LEAST_TEXTS, "{allocations}, {}", texts.len());
    }
}

/// Nodes of which the search was ended by the number of its steps.
fn beyond_steps(found: &Found) -> Vec<String> {
    if found.effort.most_steps <= limits::SEARCH_STEPS {
        return Vec::new();
    }
    let ended =
        found.verdicts.iter().filter(|(_, (_, reasons))| reasons.concat().contains("timed out trying to allocate"));
    ended.map(|(node, _)| node.clone()).collect()
}

fn seeds() -> Vec<u64> {
    if let Some(seed) = nodesift_seed::repeated() {
        return vec![seed; 2];
    }
    // New ones in every run; a failure names its own.
    let first = nodesift_seed::fresh();
    (0..CLUSTERS / 2).chain(first..first + CLUSTERS / 2).collect()
}

/// A text without the names of pods, claims and devices.
fn anonymous(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Adds what generated clusters do not have: values of unknown type, devices shared no more, slices of no nodes, oversold
/// counters, claims that ask for too much or in unknown ways, extended resources of several classes and containers.
fn twist(rng: &mut Rng, cluster: &mut Cluster) {
    let slices: Vec<Value> = cluster.all("ResourceSlice").cloned().collect();
    for mut slice in slices {
        for device in slice["spec"]["devices"].as_array_mut().into_iter().flatten() {
            // Selectors fail for these.
            if rng.chance(1) {
                device["attributes"]["resource.kubernetes.io/pcieRoot"] = json!({});
            }
            if rng.chance(5) && json::flag(device, "allowMultipleAllocations") {
                device["allowMultipleAllocations"] = json!(false);
            }
            if rng.chance(4) {
                device["taints"] = json!([{"key": "slow", "value": "no", "effect": "NoSchedule"}]);
            }
        }
        if rng.chance(4) {
            for counter in slice["spec"]["sharedCounters"].as_array_mut().into_iter().flatten() {
                counter["counters"]["memory"]["value"] = json!("1");
                counter["counters"]["cores"] = json!({"value": "500m"});
            }
        }
        if rng.chance(1) && json::flag(&slice, "spec.perDeviceNodeSelection") {
            let requirement = json!({"key": "zone", "operator": "Near"});
            slice["spec"]["devices"][0]["nodeSelector"] =
                json!({"nodeSelectorTerms": [{"matchExpressions": [requirement]}]});
        }
        cluster.apply(slice);
    }
    let claims: Vec<Value> = cluster.all("ResourceClaim").cloned().collect();
    for mut claim in claims.into_iter().filter(|claim| !list(claim, "spec.devices.requests").is_empty()) {
        let first = &mut claim["spec"]["devices"]["requests"][0];
        match rng.below(100) {
            0 => first["exactly"]["count"] = json!(33),
            1 => first["exactly"]["allocationMode"] = json!("Some"),
            2 => first["exactly"]["selectors"] = json!([{"other": {}}]),
            3 => claim["spec"]["devices"]["constraints"] = json!([{"requests": ["r0"]}]),
            4..10 => {
                let kind = rng.word(&["matchAttribute", "distinctAttribute"]);
                let about = rng.word(&["r0", "r0/a0", "r0/a1", "r1"]);
                claim["spec"]["devices"]["constraints"] =
                    json!([{(kind): "resource.kubernetes.io/pcieRoot", "requests": [about]}]);
            }
            10..14 => {
                claim["spec"]["devices"]["constraints"] = json!([
                    {"matchAttribute": "resource.kubernetes.io/pcieRoot"}, {"distinctAttribute": "gpu.example.com/numa"}
                ])
            }
            14..17 if at(first, "exactly.count").is_i64() => first["exactly"]["count"] = json!(rng.between(0, 5)),
            _ => continue,
        }
        cluster.apply(claim);
    }
}

/// Asks for extended resources in several containers, some of which no class serves.
fn twist_pod(rng: &mut Rng, pod: &mut Value) {
    let resources = ["example.com/gpu", "deviceclass.resource.kubernetes.io/nic", "example.com/other"];
    let mut container = |name: &str| {
        let mut requests = json!({"cpu": "1"});
        for resource in resources {
            if rng.chance(if resource == "example.com/other" { 3 } else { 60 }) {
                requests[resource] = json!(rng.word(&["0", "1", "2", "1500m"]));
            }
        }
        json!({"name": name, "resources": {"requests": requests}})
    };
    let (mut sidecar, first, last) = (container("s"), container("i"), container("j"));
    sidecar["restartPolicy"] = json!("Always");
    pod["spec"]["initContainers"] = json!([first, sidecar, last]);
    let more = container("n");
    pod["spec"]["containers"].as_array_mut().into_iter().for_each(|containers| containers.push(more.clone()));
}
