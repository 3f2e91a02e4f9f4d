//! Random policies for scores, each with the reference's words for the same: a version of Kubernetes with its default scorers, or with other
//! weights and arguments.

use nodesift_fixtures::Rng;
use nodesift_policy::Policy;
use nodesift_reference::kubernetes::versions;
use nodesift_reference::scores::Profile;
use nodesift_reference::{Filter, Switches, filters};
use serde_json::{Value, json};

use crate::{CALL_TIME, read};

/// A policy, and what the reference filters and scores by.
pub(super) struct Under {
    /// The version, and whether the arguments are the default ones.
    pub(super) about: String,
    pub(super) document: String,
    pub(super) policy: Policy,
    pub(super) filters: Vec<Filter>,
    pub(super) switches: Switches,
    pub(super) profile: Profile,
}

/// Scorers with their arguments, in the order of the default profile.
const SCORERS: [&str; 9] = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
];

/// Names of resources in arguments.
const RESOURCES: [&str; 7] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "example.com/gpu",
    "example.com/widget",
    "hugepages-2Mi",
    "kubernetes.io/batman",
];

/// The scorer of devices, those of resources, and a resource that a DeviceClass may serve.
const DEVICES: &str = "DynamicResources";
const FIT: &str = "NodeResourcesFit";
const BALANCE: &str = "NodeResourcesBalancedAllocation";
pub(super) const SERVED: &str = "example.com/gpu";

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The default scorers of a version, or random arguments and weights under it.
pub(super) fn random(random: &mut Rng) -> Under {
    let version = *random.pick(&versions());
    let is_default = random.chance(40);
    let (filters, switches) = (filters::default_of(version), Switches::from_version(version));
    let mut profile = built(Profile::default_of(version));
    let mut spec = json!({"schedulerNames": ["default-scheduler"], "kubernetes": version});
    if !is_default {
        let names: Vec<&str> = SCORERS.into_iter().filter(|name| profile.weight(name).is_some()).collect();
        let chosen: Vec<&str> = names.iter().copied().filter(|_| random.chance(80)).collect();
        let arguments: Vec<(&str, Value)> =
            SCORERS.into_iter().filter_map(|name| Some((name, arguments(random, name)?))).collect();
        let arguments_of =
            |name: &str| arguments.iter().find(|(known, _)| *known == name).map(|(_, args)| args.clone());
        let predicates: Vec<Value> = filters
            .iter()
            .map(|filter| match arguments_of(filter.name).filter(|_| is_shared(filter.name)) {
                Some(arguments) => json!({"name": filter.name, "args": arguments}),
                None => json!({"name": filter.name}),
            })
            .collect();
        let mut scorers = Vec::new();
        for name in names.iter().filter(|name| !chosen.contains(name)) {
            profile = profile.with_weight(name, None);
        }
        for name in chosen {
            let weight = random.between(1, 10);
            profile = profile.with_weight(name, Some(i64::try_from(weight).expect("a small number")));
            scorers.push(match arguments_of(name).filter(|_| !is_shared(name)) {
                Some(arguments) => json!({"name": name, "weight": weight, "args": arguments}),
                None => json!({"name": name, "weight": weight}),
            });
        }
        for (name, arguments) in arguments {
            profile = profile.with_arguments(name, arguments);
        }
        spec["predicates"] = predicates.into();
        spec["scores"] = scorers.into();
    }
    let about = format!("{version}{}", if is_default { "" } else { " with arguments" });
    under(about, &spec, filters, switches, profile)
}

/// Scorers that read devices: that of claims, under a version that has it, and those of resources where devices that serve an extended
/// resource are to be counted, under one in which they serve it.
pub(super) fn about_devices(random: &mut Rng, is_counted: bool) -> Under {
    let version = *random.pick(if is_counted { &["1.36", "1.37"][..] } else { &["1.35", "1.36", "1.37"][..] });
    let mut profile = built(Profile::default_of(version));
    for name in SCORERS {
        profile = profile.with_weight(name, None);
    }
    let mut strategy = strategy(random);
    strategy["resources"] = json!([{"name": SERVED, "weight": random.between(1, 100)}, {"name": "cpu"}]);
    let balanced = json!([{"name": "cpu", "weight": 1}, {"name": SERVED, "weight": 1}]);
    let mut scorers = vec![(DEVICES, 2, json!({}))];
    if is_counted {
        scorers.push((FIT, 1, json!({"scoringStrategy": strategy})));
        scorers.push((BALANCE, 1, json!({"resources": balanced})));
    }
    let mut written = Vec::new();
    for (name, weight, arguments) in scorers {
        written.push(json!({"name": name, "weight": weight, "args": arguments}));
        profile = profile.with_weight(name, Some(weight)).with_arguments(name, arguments);
    }
    let spec = json!({"schedulerNames": ["default-scheduler"], "kubernetes": version, "scores": written});
    let (filters, switches) = (filters::default_of(version), Switches::from_version(version));
    under(format!("{version} with devices"), &spec, filters, switches, profile)
}

fn under(about: String, spec: &Value, filters: Vec<Filter>, switches: Switches, profile: Profile) -> Under {
    let document = json!({
        "apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "metadata": {"name": "random"}, "spec": spec,
    });
    let document = document.to_string();
    let mut policy = read(&document);
    policy.scores.iter_mut().for_each(|scorer| scorer.limits.time_per_call = Some(CALL_TIME));
    Under { about, document, policy, filters, switches, profile }
}

/// The profile without plugins of which there is no scorer: they add nothing.
fn built(profile: Profile) -> Profile {
    let missing = SCORERS.into_iter().filter(|name| !is_built(name));
    missing.fold(profile, |profile, name| profile.with_weight(name, None))
}

fn is_built(name: &str) -> bool {
    nodesift_bundle::SCORERS.iter().any(|scorer| scorer.name == name)
}

/// Whether the arguments of a plugin concern its filter as well.
fn is_shared(name: &str) -> bool {
    matches!(name, "NodeAffinity" | "PodTopologySpread")
}

/// Random arguments of a plugin; `None` for none.
fn arguments(random: &mut Rng, name: &str) -> Option<Value> {
    if random.chance(30) {
        return None;
    }
    Some(match name {
        "NodeResourcesFit" => json!({"scoringStrategy": strategy(random)}),
        "NodeResourcesBalancedAllocation" => {
            let resources = random.some_of(&RESOURCES, 4);
            json!({"resources": resources.iter().map(|name| json!({"name": name, "weight": 1})).collect::<Vec<_>>()})
        }
        "InterPodAffinity" => json!({
            "hardPodAffinityWeight": random.pick(&[0, 1, 37, 100]),
            "ignorePreferredTermsOfExistingPods": random.chance(50),
        }),
        "VolumeBinding" => json!({"shape": shape(random)}),
        "NodeAffinity" => json!({"addedAffinity": added_affinity(random)}),
        "PodTopologySpread" => {
            let keys = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack", "pool"];
            let constraint = |random: &mut Rng, key: &str| {
                let action = if random.chance(80) { "ScheduleAnyway" } else { "DoNotSchedule" };
                json!({"topologyKey": key, "maxSkew": random.between(1, 5), "whenUnsatisfiable": action})
            };
            let keys = random.some_of(&keys, 3);
            let constraints: Vec<Value> = keys.into_iter().map(|key| constraint(random, key)).collect();
            json!({"defaultingType": "List", "defaultConstraints": constraints})
        }
        _ => return None,
    })
}

fn strategy(random: &mut Rng) -> Value {
    let kind = random.word(&["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]);
    let resource = |random: &mut Rng, name: &str| match random.chance(80) {
        true => json!({"name": name, "weight": random.between(1, 100)}),
        false => json!({"name": name}),
    };
    let names = random.some_of(&RESOURCES, 4);
    let resources: Vec<Value> = names.into_iter().map(|name| resource(random, name)).collect();
    let mut strategy = json!({"type": kind, "resources": resources});
    if kind == "RequestedToCapacityRatio" {
        strategy["requestedToCapacityRatio"] = json!({"shape": shape(random)});
    }
    strategy
}

fn shape(random: &mut Rng) -> Value {
    let mut places = random.some_of(&[0, 5, 33, 50, 70, 99, 100], 4);
    places.sort_unstable();
    let point = |random: &mut Rng, place: i64| json!({"utilization": place, "score": random.between(0, 10)});
    places.into_iter().map(|place| point(random, place)).collect()
}

fn added_affinity(random: &mut Rng) -> Value {
    let term = |random: &mut Rng| {
        let (key, values) = *random.pick(&[("disk", ["ssd", "hdd"]), ("pool", ["general", "batch"])]);
        let operator = random.word(&["In", "NotIn"]);
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": random.some_of(&values, 2)}]})
    };
    let mut added = json!({});
    if random.chance(50) {
        let terms: Vec<Value> = (0..random.between(1, 2)).map(|_| term(random)).collect();
        added[REQUIRED] = json!({"nodeSelectorTerms": terms});
    }
    if random.chance(70) || added == json!({}) {
        let preference = |random: &mut Rng| json!({"weight": random.between(1, 100), "preference": term(random)});
        added[PREFERRED] = (0..random.between(1, 2)).map(|_| preference(random)).collect();
    }
    added
}
