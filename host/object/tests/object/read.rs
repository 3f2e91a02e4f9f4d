//! Tests of reading objects: what is kept, what stands in for what is absent, and the words for what is wrong.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use nodesift_object::affinity::{NodeInclusionPolicy, WhenUnsatisfiable};
use nodesift_object::node::{ConditionStatus, TaintEffect};
use nodesift_object::pod::{RestartPolicy, TolerationOperator};
use nodesift_object::selector::Operator;
use nodesift_object::status::Phase;
use nodesift_object::time::{Timestamp, rfc3339};
use nodesift_object::*;

fn read<T: DeserializeOwned>(value: &Value) -> T {
    read_text(&value.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

/// An error is the path of the field and what is wrong with it.
fn read_text<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let reason = error.inner().to_string();
        format!("{}: {}", error.path(), reason.split(" at line ").next().unwrap_or_default())
    })
}

fn refusal<T: DeserializeOwned>(value: &Value) -> String {
    read_text::<T>(&value.to_string()).map(|_| "accepted".to_owned()).unwrap_or_else(|error| error)
}

#[test]
fn a_pod_without_a_namespace_is_in_the_default_one() {
    for metadata in
        [json!({"name": "p"}), json!({"name": "p", "namespace": ""}), json!({"name": "p", "namespace": null})]
    {
        assert_eq!(read::<Pod>(&json!({"metadata": metadata})).key(), "default/p");
    }
    assert_eq!(read::<Pod>(&json!({"metadata": {"name": "p", "namespace": "dev"}})).key(), "dev/p");
}

#[test]
fn null_means_the_same_as_an_absent_field() {
    let absent: Pod = read(&json!({"metadata": {"name": "p"}}));
    let null: Pod = read(&json!({
        "metadata": {"name": "p", "uid": null, "labels": null, "deletionTimestamp": null, "ownerReferences": null},
        "spec": {"nodeName": null, "nodeSelector": null, "affinity": null, "tolerations": null, "containers": null,
                 "overhead": null, "resources": null, "priority": null, "hostNetwork": null},
        "status": null}));
    assert_eq!(absent, null);
    let node: Node = read(
        &json!({"metadata": {"name": "n"}, "spec": {"unschedulable": null, "taints": null}, "status": {"allocatable": null}}),
    );
    assert_eq!(node, read(&json!({"metadata": {"name": "n"}})));
}

#[test]
fn an_object_without_a_name_is_refused() {
    assert_eq!(refusal::<Node>(&json!({"metadata": {"labels": {}}})), "metadata: missing field `name`");
    assert_eq!(refusal::<Pod>(&json!({"metadata": {"name": ""}})), "metadata.name: is empty: every object has a name");
    assert_eq!(refusal::<Namespace>(&json!({"kind": "Namespace"})), ".: missing field `metadata`");
}

#[test]
fn a_wrong_value_is_refused_with_its_path() {
    let pod = |containers: Value| json!({"metadata": {"name": "p"}, "spec": {"containers": containers}});
    assert_eq!(
        refusal::<Pod>(&pod(json!([{}, {"resources": {"requests": {"cpu": "4x"}}}]))),
        "spec.containers[1].resources.requests.cpu: \"4x\" is not a quantity: expected a number, such as 2 or 1.5, \
         and a suffix, such as m, k, Mi, Gi or e3"
    );
    assert_eq!(
        refusal::<Pod>(&pod(json!([{"ports": [{"hostPort": "80"}]}]))),
        "spec.containers[0].ports[0].hostPort: invalid type: string \"80\", expected i32"
    );
    assert_eq!(
        refusal::<Node>(&json!({"metadata": {"name": "n", "labels": {"a": 1}}})),
        "metadata.labels.a: invalid type: integer `1`, expected a string"
    );
}

#[test]
fn a_map_is_sorted_and_the_later_of_two_equal_keys_stays() {
    let labels: Labels = read_text(r#"{"b": "1", "a": null, "c": "2", "b": "3"}"#).unwrap();
    assert_eq!(
        labels.iter().collect::<Vec<_>>(),
        [("a", &String::new()), ("b", &"3".to_owned()), ("c", &"2".to_owned())]
    );
    assert_eq!((labels.get("b").map(String::as_str), labels.get("d")), (Some("3"), None));
    assert_eq!((labels.len(), labels.is_empty(), labels.contains_key("a")), (3, false, true));
}

#[test]
fn texts_outside_a_closed_set_are_kept_apart() {
    let pod: Pod = read(&json!({"metadata": {"name": "p"}, "status": {"phase": "Unknown"}, "spec": {
        "tolerations": [{"operator": "", "effect": ""}, {"operator": "Exists", "effect": "NoExecute"}, {"operator": "Gt", "effect": "x"}],
        "initContainers": [{"restartPolicy": "Always"}, {"restartPolicy": "Never"}, {}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "in", "values": ["x"]}, {"key": "b", "operator": "Gt", "values": ["1"]}]}]}}},
        "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3,
            "nodeAffinityPolicy": "Ignore", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["v"]}]}}));
    assert_eq!(pod.status.phase, Phase::Other);
    let tolerations: Vec<_> = pod.spec.tolerations.iter().map(|each| (each.operator, each.effect)).collect();
    let expected = [
        (TolerationOperator::Equal, None),
        (TolerationOperator::Exists, Some(TaintEffect::NoExecute)),
        (TolerationOperator::Other, Some(TaintEffect::Other)),
    ];
    assert_eq!(tolerations, expected);
    let policies: Vec<_> = pod.spec.init_containers.iter().map(|each| each.restart_policy).collect();
    assert_eq!(policies, [RestartPolicy::Always, RestartPolicy::Other, RestartPolicy::Other]);
    let required = pod.spec.affinity.node_affinity.unwrap().required.unwrap();
    let operators: Vec<_> =
        required.node_selector_terms[0].match_expressions.iter().map(|each| each.operator()).collect();
    assert_eq!(operators, [Operator::Unknown, Operator::Gt]);
    let spread = &pod.spec.topology_spread_constraints[0];
    assert_eq!(
        (spread.max_skew, spread.min_domains, spread.when_unsatisfiable),
        (2, Some(3), WhenUnsatisfiable::DoNotSchedule)
    );
    assert_eq!((spread.node_affinity_policy, spread.node_taints_policy), (Some(NodeInclusionPolicy::Ignore), None));
}

#[test]
fn an_absent_node_affinity_differs_from_one_without_terms() {
    let required = |affinity: Value| {
        let pod: Pod = read(&json!({"metadata": {"name": "p"}, "spec": {"affinity": {"nodeAffinity": affinity}}}));
        pod.spec
            .affinity
            .node_affinity
            .and_then(|affinity| affinity.required)
            .map(|required| required.node_selector_terms.len())
    };
    assert_eq!(required(json!({})), None);
    assert_eq!(required(json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}})), Some(0));
}

#[test]
fn a_deletion_timestamp_makes_a_pod_terminating() {
    let pod = |stamp: Value| read::<Pod>(&json!({"metadata": {"name": "p", "deletionTimestamp": stamp}}));
    assert!(pod(json!("2026-03-01T00:00:00Z")).metadata.terminating);
    assert!(!pod(Value::Null).metadata.terminating);
}

#[test]
fn moments_are_written_as_they_are_read() {
    for (seconds, written) in [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_767_225_600, "2026-01-01T00:00:00Z"),
        (i64::MAX, "9999-12-31T23:59:59Z"),
        (i64::MIN, "0000-01-01T00:00:00Z"),
    ] {
        assert_eq!(rfc3339(seconds), written);
    }
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..20_000 {
        let seconds = random.i64(-62_167_219_200..=253_402_300_799);
        assert_eq!(Timestamp::parse(&rfc3339(seconds)), Timestamp(Some(seconds)), "{seconds}");
    }
}

#[test]
fn kinds_are_told_by_api_version_and_kind() {
    assert_eq!(Kind::from_type_meta("v1", "Pod"), Some(Kind::Pod));
    assert_eq!(Kind::from_type_meta("metrics.k8s.io/v1beta1", "Node"), None);
    assert_eq!(Kind::from_type_meta("resource.k8s.io/v1", "DeviceClass"), Some(Kind::DeviceClass));
    assert_eq!(Kind::from_type_meta("v1", "DeviceClass"), None);
    let class: DeviceClass =
        read(&json!({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}));
    assert_eq!(class.spec.extended_resource_name.as_deref(), Some("example.com/gpu"));
    assert_eq!(Object::DeviceClass(class).key(), "gpu");
}

#[test]
fn what_a_node_reports_is_read_without_the_times_of_heartbeats() {
    let node: Node = read(&json!({
        "metadata": {"name": "n", "creationTimestamp": "2026-11-24T09:30:00Z"},
        "spec": {"providerID": "cloud:///n"},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-24T10:00:00Z", "reason": "R", "message": "m"},
                {"type": "Odd", "status": "perhaps"}, {"type": "Null", "status": null}],
            "nodeInfo": {"kubeletVersion": "v1.36.2", "osImage": null, "machineID": "m"},
            "images": [{"names": ["a@sha256:1", "a:1"], "sizeBytes": 7}, {"names": null}, null, {"names": [null, ""], "x": [{}]}]}}));
    assert_eq!(node.metadata.creation_timestamp, Timestamp::parse("2026-11-24T09:30:00Z"));
    let conditions: Vec<_> = node.status.conditions.iter().map(|one| (one.kind.as_str(), one.status)).collect();
    let expected =
        [("Ready", ConditionStatus::True), ("Odd", ConditionStatus::Unknown), ("Null", ConditionStatus::Unknown)];
    assert_eq!(conditions, expected);
    let info = &node.status.node_info;
    assert_eq!(
        (info.kubelet_version.as_str(), info.os_image.as_str(), node.spec.provider_id.as_str()),
        ("v1.36.2", "", "cloud:///n")
    );
    assert_eq!(node.status.images.with_sizes().collect::<Vec<_>>(), [("a@sha256:1", 7), ("a:1", 7), ("", 0)]);
    let absent: Node = read(&json!({"metadata": {"name": "n"}}));
    let null = json!({"metadata": {"name": "n", "creationTimestamp": null}, "spec": {"providerID": null},
        "status": {"conditions": null, "nodeInfo": null, "images": null}});
    assert_eq!(read::<Node>(&null), absent);
    assert!(
        refusal::<Node>(&json!({"metadata": {"name": "n"}, "status": {"images": [{"names": [1]}]}})).contains("a name")
    );
    assert!(
        refusal::<Node>(&json!({"metadata": {"name": "n"}, "status": {"images": {}}})).contains("a list of images")
    );
}

#[test]
fn moments_are_seconds_since_1970_and_no_moment_is_none() {
    for (text, seconds) in [
        ("1970-01-01T00:00:00Z", Some(0)),
        ("1969-12-31T23:59:59Z", Some(-1)),
        ("2000-02-29T12:00:00Z", Some(951_825_600)),
        ("2026-11-24T09:30:00Z", Some(1_795_512_600)),
        ("2026-11-24T09:30:00.123456Z", Some(1_795_512_600)),
        ("2026-11-24T10:30:00+01:00", Some(1_795_512_600)),
        ("2026-11-24T04:00:00-05:30", Some(1_795_512_600)),
        ("2100-02-29T00:00:00Z", None),
        ("2026-13-01T00:00:00Z", None),
        ("2026-11-31T00:00:00Z", None),
        ("2026-11-24T24:00:00Z", None),
        ("2026-11-24T09:30:60Z", None),
        ("2026-11-24T09:30:00", None),
        ("2026-11-24 09:30", None),
        ("2026-11-24T09:30:00.Z", None),
        ("2026-11-24T9:30:00Z", None),
        ("2026-11-24T09:30:00Zx", None),
        ("2026-11-24T09:30:00+1:00", None),
        ("\u{fc}026-11-24T09:30:00\u{fc}", None),
        ("", None),
    ] {
        assert_eq!(Timestamp::parse(text), Timestamp(seconds), "{text}");
    }
}

#[test]
fn days_of_moments_are_those_of_a_calendar_that_is_counted_day_by_day() {
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let (mut year, mut month, mut day) = (1970, 1, 1);
    for days in 0..150_000_i64 {
        let moment = Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:01Z"));
        assert_eq!(moment, Timestamp(Some(days * 86_400 + 1)), "{year}-{month}-{day}");
        let last = match month {
            2 => 28 + i64::from(is_leap(year)),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (year, month, day) = match (day == last, month) {
            (false, _) => (year, month, day + 1),
            (true, 12) => (year + 1, 1, 1),
            (true, _) => (year, month + 1, 1),
        };
    }
}
