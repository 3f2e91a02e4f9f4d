//! Tests of requests: one per rule of kube-scheduler, and its own answers for pods of every shape.
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use super::*;

fn pod(spec: Value, status: Value) -> Pod {
    serde_json::from_str(&json!({"metadata": {"name": "p"}, "spec": spec, "status": status}).to_string()).unwrap()
}

/// Usage of a bound pod by the rules of 1.36.
fn bound(pod: &Pod) -> Requests {
    existing(pod, ResizeRules::default())
}

fn listed(requests: &Requests) -> Vec<(&str, i64)> {
    requests.iter().collect()
}

fn placed(spec: Value) -> Vec<(String, i64)> {
    incoming(&pod(spec, json!({}))).iter().map(|(name, amount)| (name.to_owned(), amount)).collect()
}

fn container(requests: Value) -> Value {
    json!({"name": "c", "resources": {"requests": requests}})
}

fn sidecar(requests: Value) -> Value {
    json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": requests}})
}

macro_rules! assert_placed {
    ($spec:tt, [$(($name:literal, $amount:expr)),*]) => {
        let expected: Vec<(String, i64)> = vec![$(($name.to_owned(), $amount)),*];
        assert_eq!(placed(json!($spec)), expected);
    };
}

#[test]
fn quantities_are_summed_before_they_are_rounded() {
    let containers = |count: usize| vec![container(json!({"cpu": "100u"})); count];
    assert_placed!({"containers": containers(10)}, [("cpu", 1)]);
    assert_placed!({"containers": containers(11)}, [("cpu", 2)]);
}

#[test]
fn an_ordinary_init_container_counts_at_its_moment_only() {
    assert_placed!(
        {"containers": [container(json!({"cpu": "1", "memory": "1Gi"}))],
         "initContainers": [container(json!({"cpu": "2"})), container(json!({"cpu": "500m", "memory": "2Gi"}))]},
        [("cpu", 2000), ("memory", 2 << 30)]
    );
}

#[test]
fn a_sidecar_counts_with_the_containers_and_with_later_init_containers() {
    assert_placed!(
        {"containers": [container(json!({"cpu": "1"}))],
         "initContainers": [container(json!({"cpu": "1900m"})), sidecar(json!({"cpu": "200m"})),
                            container(json!({"cpu": "1500m"}))]},
        [("cpu", 1900)]
    );
    assert_placed!(
        {"containers": [container(json!({"cpu": "1"}))],
         "initContainers": [sidecar(json!({"cpu": "200m"})), container(json!({"cpu": "1500m"}))]},
        [("cpu", 1700)]
    );
}

#[test]
fn overhead_is_added_after_the_pod_level_amounts_have_replaced_the_sums() {
    assert_placed!(
        {"containers": [container(json!({"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi",
                                         "ephemeral-storage": "1Ki", "example.com/gpu": "1"}))],
         "resources": {"requests": {"cpu": "300m", "memory": "100", "hugepages-2Mi": "2Mi",
                                    "ephemeral-storage": "7Ki", "example.com/gpu": "5"}},
         "overhead": {"cpu": "50m", "memory": "1"}},
        [("cpu", 350), ("ephemeral-storage", 1024), ("example.com/gpu", 1), ("hugepages-2Mi", 2 << 20), ("memory", 101)]
    );
}

#[test]
fn a_pod_level_limit_is_no_request() {
    assert_placed!(
        {"containers": [container(json!({"cpu": "1"}))], "resources": {"limits": {"cpu": "8", "memory": "1Gi"}}},
        [("cpu", 1000)]
    );
}

#[test]
fn a_zero_is_listed_for_scalar_resources_only() {
    assert_placed!(
        {"containers": [container(json!({"cpu": "0", "memory": "0", "ephemeral-storage": 0, "example.com/gpu": "0"}))]},
        [("example.com/gpu", 0)]
    );
}

#[test]
fn an_amount_below_zero_counts_as_zero_for_a_pod_to_be_placed() {
    let spec = json!({"containers": [container(json!({"cpu": "-1", "memory": "-1", "example.com/gpu": "-2"}))]});
    assert_eq!(placed(spec.clone()), [("example.com/gpu".to_owned(), 0)]);
    let taken = bound(&pod(spec, json!({})));
    assert_eq!(listed(&taken), [("cpu", -1000), ("example.com/gpu", -2), ("memory", -1)]);
}

#[test]
fn names_that_the_scheduler_ignores_are_left_out() {
    let counted = [
        "example.com/gpu",
        "hugepages-1Gi",
        "attachable-volumes-aws-ebs",
        "kubernetes.io/batch-cpu",
        "requests.kubernetes.io/x",
        "a.b-c.d/N_a.m-e9",
    ];
    let ignored = [
        "gpu",
        "pods",
        "requests.cpu",
        "requests.example.com/gpu",
        "storage",
        "Example.com/gpu",
        "example.com/",
        "/gpu",
        "a/b/c",
        "example.com/-x",
        "-a.com/x",
        "a..b/x",
        "count/pods.a/b",
    ];
    for name in counted {
        assert_eq!(placed(json!({"containers": [container(json!({name: "2"}))]})), [(name.to_owned(), 2)], "{name}");
    }
    for name in ignored {
        assert_eq!(placed(json!({"containers": [container(json!({name: "2"}))]})), [], "{name}");
    }
    assert!(
        is_scalar(&format!("example.com/{}", "x".repeat(63))) && !is_scalar(&format!("example.com/{}", "x".repeat(64)))
    );
    assert!(is_scalar(&format!("{}/x", "a".repeat(244))) && !is_scalar(&format!("{}/x", "a".repeat(245))));
}

#[test]
fn a_pod_to_be_placed_is_read_from_its_spec_alone() {
    let status = json!({"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]});
    let pod = pod(json!({"containers": [container(json!({"cpu": "1"}))]}), status);
    assert_eq!(listed(&incoming(&pod)), [("cpu", 1000)]);
    assert_eq!(listed(&bound(&pod)), [("cpu", 4000)]);
}

/// Returns the `cpu` usage in millicores of a bound pod with this status and one container of 1 cpu.
fn taken(status: Value) -> i64 {
    bound(&pod(json!({"containers": [container(json!({"cpu": "1"}))]}), status)).get(CPU)
}

#[test]
fn a_resized_pod_takes_the_greatest_of_specified_admitted_and_in_force() {
    let status = |actuated: &str, allocated: &str| {
        json!({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": allocated},
                                      "resources": {"requests": {"cpu": actuated}}}]})
    };
    assert_eq!(taken(status("500m", "700m")), 1000);
    assert_eq!(taken(status("3", "700m")), 3000);
    assert_eq!(taken(status("500m", "2")), 2000);
}

#[test]
fn an_admitted_amount_needs_resources_in_force_beside_it() {
    assert_eq!(taken(json!({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "5"}}]})), 1000);
    assert_eq!(
        taken(json!({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "5"}, "resources": {}}]})),
        5000
    );
    assert_eq!(taken(json!({"containerStatuses": [{"name": "other", "resources": {"requests": {"cpu": "5"}}}]})), 1000);
}

#[test]
fn an_infeasible_resize_leaves_the_spec_out_if_it_is_the_first_pending_condition() {
    let status = |first: &str, second: &str| {
        json!({"conditions": [{"type": "PodResizeInProgress", "reason": "Infeasible"},
                              {"type": "PodResizePending", "status": "False", "reason": first},
                              {"type": "PodResizePending", "status": "True", "reason": second}],
               "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "200m"}}}]})
    };
    assert_eq!(taken(status("Infeasible", "Deferred")), 200);
    assert_eq!(taken(status("Deferred", "Infeasible")), 1000);
    // The field of earlier versions says nothing any more.
    let old = json!({"resize": "Infeasible",
                     "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "200m"}}}]});
    assert_eq!(taken(old), 1000);
    // Without a report there is only the spec.
    assert_eq!(taken(json!({"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]})), 1000);
}

#[test]
fn the_status_of_an_ordinary_init_container_is_ignored_and_a_sidecars_is_not() {
    let status = json!({"initContainerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "9"}}},
                                                  {"name": "s", "resources": {"requests": {"cpu": "3"}}}]});
    let init = pod(json!({"initContainers": [container(json!({"cpu": "1"}))]}), status.clone());
    assert_eq!(bound(&init).get(CPU), 1000);
    let side = pod(json!({"initContainers": [sidecar(json!({"cpu": "1"}))]}), status);
    assert_eq!(bound(&side).get(CPU), 3000);
}

#[test]
fn a_report_on_the_pod_as_a_whole_counts_where_the_pod_requests_as_a_whole() {
    let spec = json!({"containers": [container(json!({"cpu": "1"}))], "overhead": {"cpu": "10m"},
                      "resources": {"requests": {"cpu": "2", "memory": "64"}}});
    let report = json!({"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2500m"}});
    assert_eq!(listed(&bound(&pod(spec.clone(), report.clone()))), [("cpu", 3010), ("memory", 64)]);
    let infeasible = json!({"resources": {"requests": {"cpu": "1500m"}},
                            "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]});
    assert_eq!(listed(&bound(&pod(spec, infeasible))), [("cpu", 1510)]);
    let without = json!({"containers": [container(json!({"cpu": "1"}))]});
    assert_eq!(bound(&pod(without, report)).get(CPU), 1000);
}

/// Usage of `cpu` in millicores: sums of each container's greatest amount, without and with the status of the pod as a whole, and the
/// greatest total, likewise.
fn by_all_rules(spec: Value, status: Value) -> [i64; 4] {
    let pod = pod(spec, status);
    ResizeRules::all().map(|rules| existing(&pod, rules).get(CPU))
}

#[test]
fn rules_are_found_at_their_index() {
    assert_eq!(ResizeRules::all().map(ResizeRules::index), [0, 1, 2, 3]);
}

#[test]
fn opposite_resizes_of_two_containers_cancel_out_in_totals() {
    let named = |name: &str, cpu: &str| json!({"name": name, "resources": {"requests": {"cpu": cpu}}});
    let spec = json!({"containers": [named("a", "2"), named("b", "1")]});
    let status = |name: &str, cpu: &str| json!({"name": name, "allocatedResources": {"cpu": cpu}, "resources": {"requests": {"cpu": cpu}}});
    let statuses = json!({"containerStatuses": [status("a", "1"), status("b", "2")]});
    assert_eq!(by_all_rules(spec, statuses), [4000, 4000, 3000, 3000]);
}

#[test]
fn totals_take_statuses_of_ordinary_init_containers_and_admitted_amounts_alone() {
    let status = json!({"initContainerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]});
    let spec = json!({"initContainers": [container(json!({"cpu": "1"}))]});
    assert_eq!(by_all_rules(spec, status), [1000, 1000, 9000, 9000]);
    let status = json!({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "5"}}]});
    let spec = json!({"containers": [container(json!({"cpu": "1"}))]});
    assert_eq!(by_all_rules(spec, status), [1000, 1000, 5000, 5000]);
}

#[test]
fn an_infeasible_resize_leaves_the_whole_spec_out_of_totals() {
    let named = |name: &str| json!({"name": name, "resources": {"requests": {"cpu": "2"}}});
    let spec = json!({"containers": [named("a"), named("b")]});
    let status = json!({"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
                        "containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]});
    assert_eq!(by_all_rules(spec, status), [3000, 3000, 1000, 1000]);
}

#[test]
fn a_report_on_the_pod_as_a_whole_replaces_totals() {
    let report = json!({"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2500m"},
                        "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "7"}}}]});
    let without = json!({"containers": [container(json!({"cpu": "1"}))]});
    assert_eq!(by_all_rules(without, report.clone()), [7000, 7000, 7000, 3000]);
    let with = json!({"containers": [container(json!({"cpu": "1"}))], "resources": {"requests": {"memory": "1"}}});
    assert_eq!(by_all_rules(with, report), [7000, 7000, 7000, 3000]);
    // A name that only the report has counts where the pod requests anything as a whole.
    let with = json!({"containers": [container(json!({}))], "resources": {"requests": {"memory": "1"}}});
    let only = json!({"resources": {"requests": {"cpu": "3"}}});
    assert_eq!(by_all_rules(with, only), [0, 0, 0, 3000]);
}

/// Requests of a pod to be placed and usage of it bound, with those of containers that name none.
fn non_zero(spec: &Value) -> (Vec<(String, i64)>, (i64, i64)) {
    let pod = pod(spec.clone(), json!({}));
    let asked = incoming_non_zero(&pod).iter().map(|(name, amount)| (name.to_owned(), amount)).collect();
    let used = existing_non_zero(&pod, ResizeRules::default());
    (asked, (used.cpu, used.memory))
}

const UNNAMED: i64 = UNNAMED_MEMORY_BYTES;

#[test]
fn a_container_that_names_no_cpu_or_memory_counts_with_some() {
    let cases = [
        (json!({"containers": [container(json!({}))]}), (100, UNNAMED)),
        (json!({"containers": [container(json!({"cpu": "0", "memory": "0"}))]}), (0, 0)),
        (
            json!({"containers": [container(json!({"cpu": "1"})), container(json!({"memory": "5"}))]}),
            (1100, UNNAMED + 5),
        ),
        (json!({"containers": [container(json!({"cpu": "10m"}))], "overhead": {"cpu": "7m"}}), (17, UNNAMED)),
        // A sidecar runs with the containers; an ordinary init container before them.
        (
            json!({"containers": [container(json!({"cpu": "1m"}))], "initContainers": [sidecar(json!({}))]}),
            (101, 2 * UNNAMED),
        ),
        (
            json!({"containers": [container(json!({"cpu": "1m"}))], "initContainers": [container(json!({}))]}),
            (100, UNNAMED),
        ),
    ];
    for (spec, (cpu, memory)) in cases {
        let expected = vec![("cpu".to_owned(), cpu), ("memory".to_owned(), memory)];
        assert_eq!(non_zero(&spec), (expected, (cpu, memory)), "{spec}");
    }
}

#[test]
fn requests_of_the_pod_as_a_whole_count_for_a_bound_pod_only() {
    let spec = json!({"containers": [container(json!({"example.com/gpu": "2"})), container(json!({}))],
                      "resources": {"requests": {"cpu": "3"}}});
    let (asked, used) = non_zero(&spec);
    let expected = [("cpu", 200), ("example.com/gpu", 2), ("memory", 2 * UNNAMED)];
    assert_eq!(asked, expected.map(|(name, amount)| (name.to_owned(), amount)));
    assert_eq!(used, (3000, 2 * UNNAMED));
    // A resource that some container names is not filled in for the others.
    let spec = json!({"containers": [container(json!({"memory": "5"})), container(json!({}))],
                      "resources": {"requests": {"cpu": "3"}}});
    assert_eq!(non_zero(&spec).1, (3000, 5));
}

#[test]
fn usage_with_unnamed_amounts_follows_the_rules_of_resizes() {
    let status = json!({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "5"}}]});
    let pod = pod(json!({"containers": [container(json!({"cpu": "1"}))]}), status);
    let used = ResizeRules::all().map(|rules| existing_non_zero(&pod, rules));
    assert_eq!(used.map(|used| used.cpu), [1000, 1000, 5000, 5000]);
    assert_eq!(used.map(|used| used.memory), [UNNAMED; 4]);
}

#[test]
fn all_rules_agree_where_the_status_says_nothing_about_resources() {
    for line in include_str!("vectors.tsv").lines() {
        let pod: Pod = serde_json::from_str(line.split('\t').next().unwrap()).unwrap();
        let used = ResizeRules::all().map(|rules| existing(&pod, rules));
        assert!(has_resource_status(&pod) || used.iter().all(|one| *one == used[0]), "{line}");
    }
}

#[test]
fn a_node_gives_what_is_allocatable_and_never_its_capacity() {
    let node = json!({"metadata": {"name": "n"}, "status": {
        "allocatable": {"cpu": "1930m", "memory": "1000500m", "pods": "110e0", "example.com/gpu": 4, "storage": "1Gi"},
        "capacity": {"cpu": "64", "ephemeral-storage": "1Gi"}}});
    let node: Node = serde_json::from_str(&node.to_string()).unwrap();
    assert_eq!(listed(&allocatable(&node)), [("cpu", 1930), ("example.com/gpu", 4), ("memory", 1001), ("pods", 110)]);
    assert_eq!(allocatable(&node).get(EPHEMERAL_STORAGE), 0);
}

fn check(vectors: &str) {
    let join = |requests: &Requests| {
        requests.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(",")
    };
    let mut checked = 0;
    for line in vectors.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let pod: Pod = serde_json::from_str(fields[0]).unwrap();
        assert_eq!(join(&incoming(&pod)), fields[1], "incoming {}", fields[0]);
        assert_eq!(join(&bound(&pod)), fields[2], "existing {}", fields[0]);
        checked += 1;
    }
    assert!(checked >= 100, "only {checked} vectors");
}

/// `vectors.tsv` was made by component-helpers 0.36.2 (`resource.PodRequests` with the gates of 1.36, and the names of
/// `IsScalarResourceName`) from random pods: per line the pod, what it gives to be placed, what it gives bound.
#[test]
fn component_helpers_gives_the_same_sums() {
    check(include_str!("vectors.tsv"));
}
