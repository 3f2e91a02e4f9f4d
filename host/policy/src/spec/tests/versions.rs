//! Tests of the fields about the version of Kubernetes: `kubernetes`, `featureGates`, `quirks`, and the default predicates.

use super::*;
use crate::kubernetes::{Auto, Release, Table};
use crate::limits::SWITCHES_SET_MAX;

/// The built-ins of the table's default policies.
fn bundled_names() -> Vec<String> {
    bundled().into_iter().map(|predicate| predicate.name).collect()
}

/// Reads a document with these further fields of `spec`, from line 5 on.
fn with_version(fields: &str, auto: &Auto) -> Result<Policy, PolicyError> {
    let text = format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n  {}\n",
        fields.replace('\n', "\n  ")
    );
    let names = bundled_names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Policy::read_under(&text, "policy.yaml", Path::new("/etc"), auto, &names)
}

fn server(version: &str) -> Auto {
    let [major, minor] = version.split('.').collect::<Vec<_>>().try_into().unwrap();
    let answer = json!({"major": major, "minor": minor, "gitVersion": format!("v{version}.0")});
    Auto::Server(Release::from_answer(answer.to_string().as_bytes()).unwrap())
}

#[test]
fn a_policy_without_predicates_has_those_of_its_version_in_its_order() {
    let names = |fields: &str, auto: &Auto| {
        let policy = with_version(fields, auto).unwrap();
        policy.predicates.into_iter().map(|predicate| (predicate.name, predicate.phases)).collect::<Vec<_>>()
    };
    for version in &Table::built_in().versions {
        let expected = Table::built_in().default_predicates(*version);
        for found in [
            names(&format!("kubernetes: \"{version}\""), &Auto::Newest),
            names("kubernetes: Auto", &server(&version.to_string())),
            names("facts: {}", &server(&version.to_string())),
            names("kubernetes: \"1.34\"", &Auto::Argument(*version)),
        ] {
            assert_eq!(found.len(), expected.len(), "{version}");
            for ((name, phases), expected) in found.iter().zip(expected) {
                assert_eq!(*name, expected.name, "{version}");
                let only_allocate = expected.phases == ["allocate"];
                assert_eq!(*phases, Phases { allocate: true, reserve: !only_allocate }, "{version} {name}");
            }
        }
    }
    assert_eq!(names("kubernetes: \"1.34\"", &Auto::Newest).first().unwrap().0, "NodeUnschedulable");
    assert_eq!(names("facts: {}", &Auto::Newest).first().unwrap().0, "NodeName");
}

#[test]
fn a_policy_names_its_version_or_takes_that_of_its_cluster() {
    let origin = |fields: &str, auto: &Auto| {
        let kubernetes = with_version(fields, auto).unwrap().settings.kubernetes;
        (kubernetes.version.to_string(), kubernetes.origin.as_str())
    };
    let newest = Table::built_in().newest().to_string();
    let of = |version: &str, origin| (version.to_owned(), origin);
    assert_eq!(origin("facts: {}", &Auto::Newest), of(&newest, "newest"));
    assert_eq!(origin("kubernetes: Auto", &Auto::ServerUnknown), of(&newest, "server-unknown"));
    assert_eq!(origin("kubernetes: Auto", &server("1.35")), of("1.35", "server"));
    assert_eq!(origin("kubernetes: Auto", &server("1.30")), of("1.34", "nearest-to-server"));
    assert_eq!(origin("kubernetes: \"1.36\"", &server("1.35")), of("1.36", "policy"));
    let argument = Auto::Argument("1.35".parse().unwrap());
    assert_eq!(origin("kubernetes: \"1.36\"", &argument), of("1.35", "argument"));
}

#[test]
fn built_ins_get_the_switches_of_the_version_and_modules_of_others_do_not() {
    let fields = |version: &str, more: &str| {
        format!(
            "kubernetes: \"{version}\"\npredicates:\n- name: InterPodAffinity\n  args: {{hardPodAffinityWeight: 3}}\n- name: NodePorts\n- {{name: NodeVolumeLimits, module: {{path: own.wasm}}}}\n{more}"
        )
    };
    let args = |version, more| -> Vec<serde_json::Value> {
        let policy = with_version(&fields(version, more), &Auto::Newest).unwrap();
        policy.predicates.into_iter().map(|predicate| predicate.args).collect()
    };
    let merged = |on: bool| {
        vec![json!({"hardPodAffinityWeight": 3, "switches": {"NamespaceSelectorMerge": on}}), json!({}), json!({})]
    };
    assert_eq!(args("1.36", ""), merged(true));
    assert_eq!(args("1.37", ""), merged(false));
    assert_eq!(args("1.36", "quirks: {NamespaceSelectorMerge: Fixed}"), merged(false));
    assert_eq!(args("1.36", "quirks: {NamespaceSelectorMerge: AsReleased}"), merged(true));
    assert_eq!(args("1.37", "quirks: {NamespaceSelectorMerge: AsReleased}"), merged(false));
    let changed = |version, more| {
        let policy = with_version(&fields(version, more), &Auto::Newest).unwrap();
        policy.settings.kubernetes.changed.iter().map(|(name, on)| format!("{name}={on}")).collect::<Vec<_>>()
    };
    assert_eq!(changed("1.36", "quirks: {NamespaceSelectorMerge: Fixed}"), ["NamespaceSelectorMerge=false"]);
    assert_eq!(changed("1.37", "quirks: {NamespaceSelectorMerge: Fixed}"), Vec::<String>::new());
    assert_eq!(changed("1.36", "featureGates: {VolumeLimitScaling: true}"), ["VolumeLimitScaling=true"]);
}

#[test]
fn gates_change_what_the_host_counts_by() {
    let semantics = |fields: &str| with_version(fields, &Auto::Newest).unwrap().settings.kubernetes.semantics;
    assert_eq!(semantics("kubernetes: \"1.36\""), nodesift_engine::Semantics::default());
    let gate = "featureGates: {InPlacePodLevelResourcesVerticalScaling: false}";
    assert_ne!(semantics(&format!("kubernetes: \"1.36\"\n{gate}")), semantics("kubernetes: \"1.36\""));
}

/// Versions, gates and quirks that are refused, each with its message.
#[test]
fn versions_gates_and_quirks_that_are_not_known_are_refused_by_name() {
    for (fields, expected) in [
        (
            "kubernetes: \"1.20\"",
            "5:15: spec.kubernetes: \"1.20\" is no version that is known; expected Auto or one of 1.34",
        ),
        ("kubernetes: auto", "5:15: spec.kubernetes: \"auto\" is no version that is known"),
        ("kubernetes: 1.36", "5:15: spec.kubernetes: expected a text, found a number: quote it"),
        ("featureGates: [A]", "5:17: spec.featureGates: expected a map, found a list"),
        ("featureGates: {VolumeLimitScaling: yes}", "spec.featureGates.VolumeLimitScaling: expected true or false"),
        (
            "featureGates: {VolumeLimitScalin: true}",
            "5:18: spec.featureGates.VolumeLimitScalin: feature gate \"VolumeLimitScalin\" is not known; VolumeLimitScaling is",
        ),
        ("featureGates: {A: true, A: false}", "5:27: spec.featureGates.A: is there twice, first on line 5"),
        (
            "featureGates: {TaintTolerationComparisonOperators: true}",
            "feature gate TaintTolerationComparisonOperators is not served",
        ),
        (
            "kubernetes: \"1.34\"\nfeatureGates: {VolumeLimitScaling: true}",
            "Kubernetes 1.34 has no feature gate VolumeLimitScaling",
        ),
        ("featureGates: {NamespaceSelectorMerge: true}", "feature gate \"NamespaceSelectorMerge\" is not known"),
        (
            "quirks: {NamespaceSelectorMerg: Fixed}",
            "5:12: spec.quirks.NamespaceSelectorMerg: quirk \"NamespaceSelectorMerg\" is not known; NamespaceSelectorMerge is",
        ),
        (
            "quirks: {NamespaceSelectorMerge: fixed}",
            "spec.quirks.NamespaceSelectorMerge: \"fixed\" is not AsReleased or Fixed",
        ),
        (
            "quirks: {NamespaceSelectorMerge: true}",
            "spec.quirks.NamespaceSelectorMerge: expected a text, found true or false",
        ),
        (
            "predicates: [{name: InterPodAffinity, args: {switches: {}}}]",
            "spec.predicates[0].args.switches: not an argument: spec.kubernetes, spec.featureGates and spec.quirks decide these",
        ),
    ] {
        let error = with_version(fields, &Auto::Newest).unwrap_err().to_string();
        assert!(error.contains(expected), "{fields}: {error}");
    }
    let many: Vec<String> = (0..=SWITCHES_SET_MAX).map(|number| format!("G{number}: true")).collect();
    let error = with_version(&format!("featureGates: {{{}}}", many.join(", ")), &Auto::Newest).unwrap_err();
    assert!(error.to_string().contains("257 names; at most 256 are allowed"));
}
