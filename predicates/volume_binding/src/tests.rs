//! Unit tests of the whole predicate on the fixture: each reason, and their precedence.

use nodesift_sdk::Failure;
use nodesift_sdk::columns::cluster_storage::{BindingMode, Capacity, Class, Volume as StoredVolume};
use nodesift_sdk::columns::pod_placement::{Operator, Requirement, Term};
use nodesift_sdk::columns::pod_volumes::{ClaimRef, Volume};
use nodesift_sdk::columns::selectors::{self, LabelSelector};
use nodesift_sdk::native::{Cluster, Node, Pod, Storage, claim, class, stored_volume};

use super::*;

const ZONE: &str = "topology.kubernetes.io/zone";

/// A pod that uses claims of these names.
fn pod(claims: &[&str]) -> Pod {
    let pod = Pod::new("ns").identity("p", "uid-p");
    claims.iter().fold(pod, |pod, name| pod.volume(Volume::Claim(ClaimRef { name: (*name).into(), ephemeral: false })))
}

/// Nodes `a` and `b` in zones of the same names.
fn cluster(pod: Pod, storage: Storage) -> Cluster {
    let node = |name: &str| Node::new(name).label(ZONE, name);
    Cluster::new(pod).node(node("a")).node(node("b")).storage(storage)
}

fn failures(pod: Pod, storage: Storage) -> Vec<Option<Failure>> {
    cluster(pod, storage).failures(&VolumeBinding::default())
}

fn rejected(reasons: &[&str]) -> Option<Failure> {
    let mut failure = Failure::unresolvable("");
    failure.reasons = reasons.iter().map(|reason| (*reason).into()).collect();
    Some(failure)
}

fn bound(name: &str, volume: &str) -> Claim {
    Claim { volume_name: volume.into(), bind_completed: true, phase: "Bound".into(), ..claim(name) }
}

/// An unbound claim of the class `s`.
fn unbound(name: &str) -> Claim {
    Claim { class_name: Some("s".into()), ..claim(name) }
}

/// A class without dynamic provisioning.
fn without_provisioner() -> Class {
    Class { provisioner: "kubernetes.io/no-provisioner".into(), ..class("s") }
}

fn in_zone(zone: &str) -> Option<Vec<Term>> {
    let requirement = Requirement { key: ZONE.into(), operator: Operator::In, values: vec![zone.into()] };
    Some(vec![Term { expressions: vec![requirement], fields: Vec::new() }])
}

/// A free volume of the class `s` that only nodes of one zone can use.
fn local(name: &str, zone: &str) -> StoredVolume {
    StoredVolume { class_name: "s".into(), node_terms: in_zone(zone), ..stored_volume(name) }
}

#[test]
fn a_pod_without_claims_fits_everywhere() {
    assert_eq!(cluster(pod(&[]), Storage::default()).verdict(&VolumeBinding::default()), Verdict::FitsAll);
}

#[test]
fn unusable_claims_reject_every_node_with_the_reasons_of_kube_scheduler() {
    let reason = |pod: Pod, claims: Vec<Claim>, classes: Vec<Class>| match cluster(
        pod,
        Storage { claims, classes, ..Storage::default() },
    )
    .verdict(&VolumeBinding::default())
    {
        Verdict::FitsNone(failure) => (failure.status, failure.reasons.join("")),
        other => (nodesift_sdk::Status::Unschedulable, format!("{other:?}")),
    };
    let unresolvable = |text: &str| (nodesift_sdk::Status::UnschedulableAndUnresolvable, text.to_owned());
    let c = || pod(&["c"]);
    let ephemeral = || pod(&[]).volume(Volume::Claim(ClaimRef { name: "p-v".into(), ephemeral: true }));
    assert_eq!(reason(c(), Vec::new(), Vec::new()), unresolvable("persistentvolumeclaim \"c\" not found"));
    assert_eq!(
        reason(ephemeral(), Vec::new(), Vec::new()),
        unresolvable("waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\"")
    );
    assert_eq!(
        reason(ephemeral(), vec![claim("p-v")], Vec::new()),
        unresolvable("PVC ns/p-v was not created for pod ns/p (pod is not owner)")
    );
    let lost = Claim { phase: "Lost".into(), deleting: true, ..bound("c", "v") };
    assert_eq!(
        reason(c(), vec![lost], Vec::new()),
        unresolvable("persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\"")
    );
    let deleting = Claim { deleting: true, ..bound("c", "v") };
    assert_eq!(reason(c(), vec![deleting], Vec::new()), unresolvable("persistentvolumeclaim \"c\" is being deleted"));
    // Unbound: no class, a missing class, a class with immediate binding, a claim that names its volume.
    assert_eq!(reason(c(), vec![claim("c")], Vec::new()), unresolvable(REASON_IMMEDIATE));
    assert_eq!(reason(c(), vec![unbound("c")], Vec::new()), unresolvable(REASON_IMMEDIATE));
    let immediate = Class { binding_mode: Some(BindingMode::Immediate), ..class("s") };
    assert_eq!(reason(c(), vec![unbound("c")], vec![immediate]), unresolvable(REASON_IMMEDIATE));
    let chosen = Claim { volume_name: "v".into(), ..unbound("c") };
    assert_eq!(reason(c(), vec![chosen], vec![class("s")]), unresolvable(REASON_IMMEDIATE));
    let silent = Class { binding_mode: None, ..class("s") };
    let (status, text) = reason(c(), vec![unbound("c")], vec![silent]);
    assert_eq!(status, nodesift_sdk::Status::Error);
    assert_eq!(text, "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set for StorageClass \"s\"");
}

#[test]
fn the_volume_of_a_bound_claim_must_exist_and_match_the_node() {
    let storage = |volumes| Storage { claims: vec![bound("c", "v")], volumes, ..Storage::default() };
    let missing = rejected(&[REASON_MISSING]);
    assert_eq!(failures(pod(&["c"]), storage(Vec::new())), [missing.clone(), missing]);
    let volume = StoredVolume { node_terms: in_zone("a"), ..stored_volume("v") };
    assert_eq!(failures(pod(&["c"]), storage(vec![volume])), [None, rejected(&[REASON_NODE])]);
    assert_eq!(failures(pod(&["c"]), storage(vec![stored_volume("v")])), [None, None]);
    let nowhere = StoredVolume { node_terms: Some(Vec::new()), ..stored_volume("v") };
    assert_eq!(failures(pod(&["c"]), storage(vec![nowhere])), vec![rejected(&[REASON_NODE]); 2]);
}

#[test]
fn the_first_bound_claim_that_fails_gives_the_reason() {
    let volume = StoredVolume { node_terms: in_zone("a"), ..stored_volume("v") };
    let claims = vec![bound("c", "v"), bound("d", "gone")];
    let storage = Storage { claims, volumes: vec![volume], ..Storage::default() };
    let expected = [rejected(&[REASON_MISSING]), rejected(&[REASON_NODE])];
    assert_eq!(failures(pod(&["c", "d"]), storage), expected);
}

#[test]
fn requirements_of_a_volume_on_fields_are_validated_but_not_compared() {
    let field = |operator, values: &[&str]| Requirement {
        key: "metadata.name".into(),
        operator,
        values: values.iter().map(|value| (*value).into()).collect(),
    };
    let verdict = |fields: Vec<Requirement>| {
        let node_terms = Some(vec![Term { expressions: Vec::new(), fields }]);
        let volumes = vec![StoredVolume { node_terms, ..stored_volume("v") }];
        failures(pod(&["c"]), Storage { claims: vec![bound("c", "v")], volumes, ..Storage::default() })
    };
    assert_eq!(verdict(vec![field(Operator::In, &["elsewhere"])]), [None, None]);
    assert_eq!(verdict(vec![field(Operator::Exists, &[])]), vec![rejected(&[REASON_NODE]); 2]);
    assert_eq!(verdict(vec![field(Operator::In, &["a", "b"])]), vec![rejected(&[REASON_NODE]); 2]);
}

#[test]
fn an_in_tree_volume_is_translated_on_nodes_where_its_driver_replaces_the_plugin() {
    const PLUGIN: &str = "kubernetes.io/aws-ebs";
    let volume = |handle: Result<String, String>| StoredVolume {
        in_tree_plugin: PLUGIN.into(),
        node_terms: in_zone("a"),
        handle,
        ..stored_volume("v")
    };
    let verdict = |handle| {
        let storage = Storage { claims: vec![bound("c", "v")], volumes: vec![volume(handle)], ..Storage::default() };
        Cluster::new(pod(&["c"]))
            .node(Node::new("in-tree").label(ZONE, "a"))
            .node(Node::new("driver").label("topology.ebs.csi.aws.com/zone", "a").migrated(PLUGIN))
            .node(Node::new("driver-elsewhere").label(ZONE, "a").migrated(PLUGIN))
            .storage(storage)
            .failures(&VolumeBinding::default())
    };
    assert_eq!(verdict(Ok("vol-1".into())), [None, None, rejected(&[REASON_NODE])]);
    let error = Some(Failure::error("running \"VolumeBinding\" filter plugin: could not translate pv: no such volume"));
    assert_eq!(verdict(Err("no such volume".into())), [None, error.clone(), error]);
}

#[test]
fn an_unbound_claim_gets_a_free_volume_that_meets_its_requirements() {
    let verdict = |volume: StoredVolume| {
        let storage = Storage {
            claims: vec![unbound("c")],
            volumes: vec![volume],
            classes: vec![without_provisioner()],
            ..Storage::default()
        };
        failures(pod(&["c"]), storage)[0].is_none()
    };
    assert!(verdict(local("v", "a")));
    assert!(verdict(StoredVolume { node_terms: None, ..local("v", "a") }));
    for unsuitable in [
        local("v", "b"),
        StoredVolume { class_name: "t".into(), ..local("v", "a") },
        StoredVolume { capacity: 1, ..local("v", "a") },
        StoredVolume { phase: "Released".into(), ..local("v", "a") },
        StoredVolume { volume_mode: "Block".into(), ..local("v", "a") },
        StoredVolume { attributes_class: "gold".into(), ..local("v", "a") },
        StoredVolume { access_modes: vec!["ReadOnlyMany".into()], ..local("v", "a") },
        StoredVolume { deleting: true, ..local("v", "a") },
        StoredVolume { claim_ref: Some(("ns".into(), "other".into(), String::new())), ..local("v", "a") },
    ] {
        assert!(!verdict(unsuitable.clone()), "{unsuitable:?}");
    }
    let reserved = Some(("ns".into(), "c".into(), "uid-c".into()));
    assert!(verdict(StoredVolume { claim_ref: reserved, phase: "Bound".into(), ..local("v", "a") }));
}

#[test]
fn a_volume_reserved_for_the_claim_is_the_only_choice() {
    let reserved = StoredVolume { claim_ref: Some(("ns".into(), "c".into(), String::new())), ..local("v", "a") };
    let storage = Storage {
        claims: vec![unbound("c")],
        volumes: vec![reserved, local("w", "b")],
        classes: vec![without_provisioner()],
        ..Storage::default()
    };
    assert_eq!(failures(pod(&["c"]), storage), [None, rejected(&[REASON_BIND])]);
}

#[test]
fn the_smallest_claim_is_matched_first_and_gets_the_smallest_volume() {
    let large = Claim { requested: Some(5 << 30), ..unbound("large") };
    let sized = |name: &str, capacity| StoredVolume { capacity, ..local(name, "a") };
    let storage = |volumes| Storage {
        claims: vec![large.clone(), unbound("small")],
        volumes,
        classes: vec![without_provisioner()],
        ..Storage::default()
    };
    // The large volume is first by name, but the small claim does not get it.
    let both = failures(pod(&["large", "small"]), storage(vec![sized("v", 5 << 30), sized("w", 1 << 30)]));
    assert_eq!(both, [None, rejected(&[REASON_BIND])]);
    let one = failures(pod(&["large", "small"]), storage(vec![sized("v", 5 << 30)]));
    assert_eq!(one, vec![rejected(&[REASON_BIND]); 2]);
}

#[test]
fn an_invalid_selector_is_an_error() {
    let requirement = selectors::Requirement {
        key: "a".into(),
        operator: selectors::Operator::Unknown,
        values: Vec::new(),
        operator_text: "Near".into(),
    };
    let selector = Some(LabelSelector { match_labels: Vec::new(), match_expressions: vec![requirement] });
    let storage =
        Storage { claims: vec![Claim { selector, ..unbound("c") }], classes: vec![class("s")], ..Storage::default() };
    let error = "running \"VolumeBinding\" filter plugin: error creating internal label selector for claim: ns/c: \
                 \"Near\" is not a valid label selector operator";
    assert_eq!(failures(pod(&["c"]), storage), vec![Some(Failure::error(error)); 2]);
}

#[test]
fn a_volume_can_be_provisioned_in_the_allowed_topologies() {
    let allowed = vec![vec![(ZONE.into(), vec!["b".into(), "c".into()])], Vec::new()];
    let storage = Storage {
        claims: vec![unbound("c")],
        classes: vec![Class { allowed_topologies: allowed, ..class("s") }],
        ..Storage::default()
    };
    assert_eq!(failures(pod(&["c"]), storage), [rejected(&[REASON_BIND]), None]);
}

#[test]
fn a_volume_can_be_provisioned_where_there_is_enough_storage() {
    let selector = |zone: &str| {
        Some(LabelSelector { match_labels: vec![(ZONE.into(), zone.into())], match_expressions: Vec::new() })
    };
    let capacity = |zone: &str, bytes, maximum_volume_bytes| {
        ("s".to_owned(), Capacity { bytes, maximum_volume_bytes, node_selector: selector(zone) })
    };
    let everywhere = LabelSelector { match_labels: Vec::new(), match_expressions: Vec::new() };
    let storage = |capacities| Storage {
        claims: vec![unbound("c")],
        classes: vec![class("s")],
        reporting_drivers: vec!["csi.example.com".into()],
        capacities,
        ..Storage::default()
    };
    let full = || rejected(&[REASON_SPACE]);
    let verdict = |capacities| failures(pod(&["c"]), storage(capacities));
    assert_eq!(verdict(Vec::new()), [full(), full()]);
    assert_eq!(verdict(vec![capacity("a", Some(1 << 30), None), capacity("b", Some(1), None)]), [None, full()]);
    // The maximum volume size takes precedence over the capacity.
    assert_eq!(verdict(vec![capacity("a", Some(1 << 40), Some(1))]), [full(), full()]);
    assert_eq!(verdict(vec![capacity("a", None, None)]), [full(), full()]);
    let bytes = Some(1 << 30);
    let everywhere = Capacity { bytes, maximum_volume_bytes: None, node_selector: Some(everywhere) };
    assert_eq!(verdict(vec![("s".into(), everywhere.clone())]), [None, None]);
    assert_eq!(verdict(vec![("other".into(), everywhere.clone())]), [full(), full()]);
    assert_eq!(verdict(vec![("s".into(), Capacity { node_selector: None, ..everywhere })]), [full(), full()]);
    let unasked = Storage { claims: vec![Claim { requested: None, ..unbound("c") }], ..storage(Vec::new()) };
    assert_eq!(failures(pod(&["c"]), unasked), [None, None]);
    let silent = Storage { reporting_drivers: Vec::new(), ..storage(Vec::new()) };
    assert_eq!(failures(pod(&["c"]), silent), [None, None]);
}

#[test]
fn the_selected_node_of_a_claim_is_the_only_one() {
    let chosen = |node: &str| Claim { selected_node: Some(node.into()), ..unbound("c") };
    let verdict = |node: &str, class: Class| {
        let claims = vec![chosen(node), unbound("d")];
        failures(pod(&["c", "d"]), Storage { claims, classes: vec![class], ..Storage::default() })
    };
    assert_eq!(verdict("b", class("s")), [rejected(&[REASON_BIND]), None]);
    assert_eq!(verdict("b", without_provisioner()), vec![rejected(&[REASON_BIND]); 2]);
    assert_eq!(verdict("", class("s")), vec![rejected(&[REASON_BIND]); 2]);
}

#[test]
fn bound_and_unbound_claims_both_give_reasons() {
    let volume = StoredVolume { node_terms: in_zone("a"), ..stored_volume("v") };
    let storage = Storage {
        claims: vec![bound("c", "v"), unbound("d")],
        volumes: vec![volume],
        classes: vec![without_provisioner()],
        ..Storage::default()
    };
    let expected = [rejected(&[REASON_BIND]), rejected(&[REASON_NODE, REASON_BIND])];
    assert_eq!(failures(pod(&["c", "d"]), storage), expected);
}

#[test]
fn sizes_are_compared_exactly() {
    const NANO: i128 = 1_000_000_000;
    let fits = |requested: i128, capacity: i128| {
        let storage = Storage {
            claims: vec![unbound("c")],
            volumes: vec![local("v", "a")],
            classes: vec![without_provisioner()],
            exact_sizes: [("c".into(), requested), ("v".into(), capacity)].into(),
            ..Storage::default()
        };
        failures(pod(&["c"]), storage)[0].is_none()
    };
    // 10E is more than 64 bits hold.
    assert!(fits(100_000_000_000 * NANO, 10_000_000_000_000_000_000 * NANO));
    assert!(!fits(10_000_000_000_000_000_000 * NANO, 9_000_000_000_000_000_000 * NANO));
    assert!(!fits(1_600_000_000, 1_500_000_000), "1600m are more than 1500m, though both are two bytes");
    assert!(fits(1_500_000_000, 1_600_000_000));
    assert!(fits(0, 0));
}

#[test]
fn the_smallest_claim_and_the_smallest_volume_go_first_by_less_than_a_byte() {
    // The smaller volume is only large enough for the smaller claim.
    let sizes =
        [("larger", 1_600_000_000), ("smaller", 1_200_000_000), ("v-big", 1_700_000_000), ("v-small", 1_300_000_000)];
    let storage = Storage {
        claims: vec![unbound("larger"), unbound("smaller")],
        volumes: vec![local("v-big", "a"), local("v-small", "a")],
        classes: vec![without_provisioner()],
        exact_sizes: sizes.map(|(name, size)| (name.to_owned(), size)).into(),
        ..Storage::default()
    };
    assert_eq!(failures(pod(&["larger", "smaller"]), storage)[0], None);
}

/// Scores as of 1.37, with these points instead of the default ones.
fn scores(points: &str, pod: Pod, storage: Storage) -> Scores {
    let text = format!(r#"{{"switches":{{"StorageCapacityScoring":true}}{points}}}"#);
    let scorer = nodesift_sdk::configure::<VolumeBinding>(&text).unwrap_or_default();
    cluster(pod, storage).scores(&scorer)
}

#[test]
fn existing_volumes_count_with_their_classes() {
    let sized = |name: &str, zone: &str, capacity| StoredVolume { capacity, ..local(name, zone) };
    let asking = |name: &str, requested| Claim { requested: Some(requested), ..unbound(name) };
    let storage = |volumes| Storage {
        claims: vec![asking("c", 10), asking("d", 20)],
        classes: vec![without_provisioner()],
        volumes,
        ..Storage::default()
    };
    // In a 30 of 120 bytes are used, in b 30 of 60.
    let volumes = || vec![sized("1", "a", 40), sized("2", "a", 80), sized("3", "b", 20), sized("4", "b", 40)];
    assert_eq!(scores("", pod(&["c", "d"]), storage(volumes())), Scores::ByRow(vec![75, 50]));
    let rising = r#","shape":[{"utilization":0,"score":0},{"utilization":50,"score":10}]"#;
    assert_eq!(scores(rising, pod(&["c", "d"]), storage(volumes())), Scores::ByRow(vec![50, 100]));
    // A pod without claims, and one with bound claims, has no class.
    assert_eq!(scores("", pod(&[]), Storage::default()), Scores::ByRow(vec![0, 0]));
    let off = cluster(pod(&["c"]), storage(volumes())).scores(&VolumeBinding::default());
    assert_eq!(off, Scores::Skip, "the version has no such scores");
}

#[test]
fn storage_of_which_volumes_are_provisioned_is_counted_once() {
    let asking = |name: &str| Claim { requested: Some(10), ..unbound(name) };
    let of_zone = |zone: &str, bytes| {
        let requirement = selectors::Requirement {
            key: ZONE.into(),
            operator: selectors::Operator::In,
            values: vec![zone.into()],
            operator_text: "In".into(),
        };
        let selector = LabelSelector { match_labels: Vec::new(), match_expressions: vec![requirement] };
        Capacity { bytes: Some(bytes), maximum_volume_bytes: None, node_selector: Some(selector) }
    };
    let storage = Storage {
        claims: vec![asking("c"), asking("d")],
        classes: vec![class("s")],
        reporting_drivers: [class("s").provisioner].into(),
        capacities: [of_zone("a", 100), of_zone("b", 40), of_zone("b", 200)].map(|it| ("s".into(), it)).into(),
        ..Storage::default()
    };
    // 20 of 100 bytes, and 20 of the first 40.
    assert_eq!(scores("", pod(&["c", "d"]), storage), Scores::ByRow(vec![80, 50]));
}

#[test]
fn classes_of_which_volumes_are_provisioned_have_equal_parts_and_claims_with_volumes_none() {
    let asking =
        |name: &str, class: &str| Claim { requested: Some(10), class_name: Some(class.into()), ..unbound(name) };
    let of_zone = |class: &str, zone: &str, bytes| {
        let selector = LabelSelector { match_labels: vec![(ZONE.into(), zone.into())], match_expressions: Vec::new() };
        (class.to_owned(), Capacity { bytes: Some(bytes), maximum_volume_bytes: None, node_selector: Some(selector) })
    };
    let storage = |volumes| Storage {
        claims: vec![asking("c", "s"), asking("d", "t"), asking("e", "t")],
        classes: vec![class("s"), class("t")],
        reporting_drivers: [class("s").provisioner].into(),
        capacities: vec![of_zone("s", "a", 100), of_zone("t", "a", 40), of_zone("t", "b", 80)],
        volumes,
        ..Storage::default()
    };
    // In a 10 of 100 bytes and 20 of 40; in b there is none of the one class, and 20 of 80 of the other.
    assert_eq!(scores("", pod(&["c", "d", "e"]), storage(Vec::new())), Scores::ByRow(vec![70, 75]));
    // With a volume of 20 bytes in a, nothing else counts there.
    let volume = StoredVolume { capacity: 20, ..local("v", "a") };
    assert_eq!(scores("", pod(&["c", "d", "e"]), storage(vec![volume])), Scores::ByRow(vec![50, 75]));
}
