//! Configurations of kube-scheduler and the policies that they become.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use serde_json::json;

use super::*;
use crate::spec::{Policy, PredicateSpec};
use nodesift_engine::OnError;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn flags(profile: Option<&str>) -> ImportFlags {
    ImportFlags { profile: profile.map(str::to_owned), ..ImportFlags::default() }
}

/// The policy of a configuration, which must be valid, and its notes.
fn imported(text: &str, profile: Option<&str>) -> (Policy, Vec<String>) {
    let Imported { document, notes } =
        import(&format!("{HEAD}{text}"), &flags(profile)).unwrap_or_else(|problems| panic!("{problems:?}"));
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let policy = Policy::read(&document, "imported", Path::new(""), &builtins);
    let policy = policy.unwrap_or_else(|error| panic!("{error}\n{document}"));
    (policy, notes.iter().map(ToString::to_string).collect())
}

fn refused(text: &str, profile: Option<&str>) -> String {
    let problems = import(text, &flags(profile)).map(|imported| panic!("{imported:?}")).unwrap_err();
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn names(policy: &Policy) -> Vec<&str> {
    policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect()
}

/// A profile with these `plugins`, in flow style on line 5.
fn with_plugins(plugins: &str) -> (Policy, Vec<String>) {
    imported(&format!("profiles:\n- schedulerName: own\n  plugins: {plugins}\n"), None)
}

fn default_policy() -> Policy {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    Policy::read(nodesift_bundle::DEFAULT_POLICY, "default", Path::new(""), &builtins).unwrap()
}

#[test]
fn a_configuration_without_profiles_is_the_default_policy() {
    let default = default_policy();
    for text in
        ["", "profiles: []\n", "profiles: [{}]\n", "profiles: [{schedulerName: default-scheduler, plugins: {}}]\n"]
    {
        let (policy, notes) = imported(text, None);
        let facts = |predicate: &PredicateSpec| (predicate.name.clone(), predicate.phases, predicate.args.clone());
        let of = |policy: &Policy| policy.predicates.iter().map(facts).collect::<Vec<_>>();
        assert_eq!((of(&policy), &policy.scheduler_names), (of(&default), &default.scheduler_names), "{text}");
        assert_eq!((policy.settings.on_unsupported, notes), (OnError::Reject, Vec::new()), "{text}");
    }
}

#[test]
fn plugins_run_as_kube_scheduler_would_run_them() {
    let default = default_policy();
    let without = |gone: &[&str]| names(&default).into_iter().filter(|name| !gone.contains(name)).collect::<Vec<_>>();
    let after = |first: &[&'static str]| [first.to_vec(), without(first)].concat();
    for (plugins, expected) in [
        ("{filter: {disabled: [{name: NodePorts}, {name: VolumeZone}]}}", without(&["NodePorts", "VolumeZone"])),
        ("{multiPoint: {disabled: [{name: NodePorts}]}}", without(&["NodePorts"])),
        // Only what is named, in that order.
        (
            "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodePorts}, {name: NodeName}]}}",
            vec!["NodePorts", "NodeName"],
        ),
        (
            "{filter: {disabled: [{name: '*'}], enabled: [{name: NodePorts}, {name: NodeName}]}}",
            vec!["NodePorts", "NodeName"],
        ),
        // Disabled and enabled again: at the end.
        (
            "{multiPoint: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}}",
            [without(&["NodeName"]), vec!["NodeName"]].concat(),
        ),
        // Enabled beside the default: where it was.
        ("{multiPoint: {enabled: [{name: NodeName, weight: 3}]}}", without(&[])),
        // An extension point overrides, and goes first.
        ("{filter: {enabled: [{name: VolumeZone}, {name: NodePorts}]}}", after(&["VolumeZone", "NodePorts"])),
        ("{filter: {enabled: [{name: NodeDeclaredFeatures}]}}", after(&["NodeDeclaredFeatures"])),
        ("{multiPoint: {enabled: [{name: ImageLocality}, {name: DefaultBinder}]}}", without(&[])),
    ] {
        let (policy, notes) = with_plugins(plugins);
        assert_eq!(names(&policy), expected, "{plugins}");
        assert_eq!(notes, Vec::<String>::new(), "{plugins}");
        assert_eq!(policy.scheduler_names, ["own"]);
        assert_eq!(policy.settings.on_unsupported == OnError::Ignore, plugins.contains("'*'"), "{plugins}");
    }
    let (policy, _) = with_plugins("{filter: {disabled: [{name: DynamicResources}]}}");
    assert_eq!((names(&policy), policy.settings.on_unsupported), (without(&["DynamicResources"]), OnError::Ignore));
}

#[test]
fn arguments_of_filters_are_carried_over_as_they_are() {
    let (policy, notes) = imported(
        "profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      ignoredResources: [example.com/soft]
  - name: NodeAffinity
    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: 'a: b', operator: Exists}]}]}}}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 20}
  - name: NodePorts
    args: {a: 1}
  - name: VolumeZone
",
        None,
    );
    let args = |name: &str| policy.predicates.iter().find(|predicate| predicate.name == name).unwrap().args.clone();
    assert_eq!(args("NodeResourcesFit")["ignoredResources"], json!(["example.com/soft"]));
    assert_eq!(args("NodeResourcesFit")["kind"], "NodeResourcesFitArgs");
    let added = &args("NodeAffinity")["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    assert_eq!(added["nodeSelectorTerms"][0]["matchExpressions"][0]["key"], "a: b");
    assert_eq!(args("NodePorts"), json!({}));
    assert_eq!(args("NodeAffinity").get("switches"), None);
    assert_eq!(
        notes,
        [
            "12:11: profiles[0].pluginConfig[2]: not carried over: DefaultPreemption filters and scores no nodes in this profile",
            "14:11: profiles[0].pluginConfig[3]: not carried over: NodePorts takes no arguments",
        ]
    );
}

/// Every field that a configuration can have beside those that are carried over.
#[test]
fn whatever_is_not_carried_over_is_noted() {
    let text = "\
parallelism: 8
leaderElection: {leaderElect: true}
percentageOfNodesToScore: 50
extenders:
- urlPrefix: http://a
profiles:
- schedulerName: own
  percentageOfNodesToScore: 10
  plugins:
    preScore: {disabled: [{name: NodeAffinity}]}
    preFilter: {disabled: [{name: NodePorts}]}
    multiPoint: {enabled: [{name: Coscheduling}]}
- schedulerName: other
";
    let (_, notes) = imported(text, Some("own"));
    let mut rest = notes.iter();
    for expected in [
        "3:14: parallelism: ",
        "4:17: leaderElection: ",
        "5:27: percentageOfNodesToScore: not carried over: answers are about every node",
        "7:3: extenders: not carried over: an extender can reject nodes",
        "10:29: profiles[0].percentageOfNodesToScore: ",
        "12:34: profiles[0].plugins.preScore",
        "13:35: profiles[0].plugins.preFilter",
        "14:35: plugins: not carried over: Coscheduling is no plugin of kube-scheduler",
        "15:3: profiles[1]: not carried over: the policy is made of the profile own, not of other",
    ] {
        let note = rest.next().map_or("", String::as_str);
        assert!(note.starts_with(expected), "{expected:?}: {notes:#?}");
    }
    assert_eq!(rest.next(), None);
}

#[test]
fn what_is_no_configuration_is_refused_with_everything_that_is_wrong() {
    assert_eq!(refused("{}", None), "1:1: apiVersion: missing\n1:1: kind: missing");
    assert!(refused("[", None).starts_with("1:"), "{}", refused("[", None));
    assert_eq!(refused("[]", None).lines().next(), Some("1:1: expected a map, found a list"));
    let wrong = refused(
        "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: Policy\nprofiles:\n- plugins: {filer: {}}\n  pluginConfig: [{args: {}}]\n",
        None,
    );
    for expected in ["v1beta1\" is not kube", "\"Policy\" is not", "no such extension point", "has no name"] {
        assert!(wrong.contains(expected), "{expected:?} is not in {wrong}");
    }
    let two = format!("{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b}}]\n");
    assert!(refused(&two, None).contains("name one of a, b"), "{}", refused(&two, None));
    assert!(refused(&two, Some("c")).contains("no profile \"c\"; there are a, b"));
    assert!(import(&two, &flags(Some("b"))).is_ok());
    let none = format!("{HEAD}profiles: [{{plugins: {{filter: {{disabled: [{{name: '*'}}]}}}}}}]\n");
    assert!(refused(&none, None).contains("every pod would fit every node"));
    let twice =
        format!("{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: NodeName}}, {{name: NodeName}}]}}}}}}]\n");
    assert!(refused(&twice, None).contains("enabled twice"));
}

#[test]
fn flags_of_the_scheduler_choose_the_version_its_order_and_its_gates() {
    let text = format!("{HEAD}profiles: []\n");
    let of = |version: &str, gates: &[(&str, bool)]| {
        let feature_gates = gates.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
        let flags = ImportFlags { version: Some(version.parse().unwrap()), feature_gates, profile: None };
        let document = import(&text, &flags).unwrap().document;
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        Policy::read(&document, "imported", Path::new(""), &builtins).map_err(|error| error.to_string())
    };
    let old = of("1.34", &[]).unwrap();
    assert_eq!((&*old.settings.kubernetes.version, names(&old)[0]), ("1.34", "NodeUnschedulable"));
    assert!(!names(&old).contains(&"NodeDeclaredFeatures"));
    let new = of("1.37", &[("VolumeLimitScaling", false)]).unwrap();
    assert_eq!((names(&new)[0], names(&new).last().copied()), ("NodeName", Some("NodeDeclaredFeatures")));
    assert_eq!(*new.settings.kubernetes.changed, [("VolumeLimitScaling".into(), false)]);
    assert!(of("1.34", &[("VolumeLimitScaling", true)]).unwrap_err().contains("has no feature gate"));
    let enabled = format!("{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: NodeDeclaredFeatures}}]}}}}}}]\n");
    let flags = ImportFlags { version: Some("1.34".parse().unwrap()), ..ImportFlags::default() };
    assert!(import(&enabled, &flags).unwrap().document.contains("NodeDeclaredFeatures"));
}

/// The scorers of a profile with these `plugins`, as far as they are computed here; all of them are expected so.
fn scorers(plugins: &str) -> Vec<(String, u32)> {
    let (policy, _) = with_plugins(plugins);
    policy.scores.iter().map(|scorer| (scorer.name.clone(), scorer.weight)).collect()
}

fn served(scores: &[(&str, u32)]) -> Vec<(String, u32)> {
    let served = scores.iter().filter(|(name, _)| Table::built_in().is_served_score(name));
    served.map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
}

#[test]
fn score_plugins_run_by_the_weights_that_kube_scheduler_would_give_them() {
    let newest = Table::built_in().newest();
    let default: Vec<(&str, u32)> = Table::built_in()
        .default_score_plugins(newest)
        .iter()
        .map(|default| (default.name.as_str(), default.weight))
        .collect();
    let with = |changed: &[(&'static str, u32)]| -> Vec<(&str, u32)> {
        let weight = |(name, weight): &(_, u32)| {
            (*name, changed.iter().find(|(of, _)| of == name).map_or(*weight, |(_, weight)| *weight))
        };
        default.iter().map(weight).filter(|(_, weight)| *weight > 0).collect()
    };
    let first = |first: (&'static str, u32)| [vec![first], with(&[(first.0, 0)])].concat();
    for (plugins, expected) in [
        ("{}", with(&[])),
        ("{score: {disabled: [{name: '*'}]}}", Vec::new()),
        ("{score: {disabled: [{name: ImageLocality}]}}", with(&[("ImageLocality", 0)])),
        ("{multiPoint: {disabled: [{name: ImageLocality}]}}", with(&[("ImageLocality", 0)])),
        // An extension point overrides, and goes first.
        ("{score: {enabled: [{name: ImageLocality, weight: 7}]}}", first(("ImageLocality", 7))),
        // Without a weight, and by one of 0, it is 1.
        ("{score: {enabled: [{name: TaintToleration}]}}", first(("TaintToleration", 1))),
        ("{multiPoint: {enabled: [{name: TaintToleration, weight: 0}]}}", with(&[("TaintToleration", 1)])),
        ("{multiPoint: {enabled: [{name: TaintToleration, weight: 9}]}}", with(&[("TaintToleration", 9)])),
        // A weight at score goes before one at multiPoint.
        (
            "{multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}, score: {enabled: [{name: NodeAffinity, weight: 5}]}}",
            first(("NodeAffinity", 5)),
        ),
        (
            "{score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 2}, {name: NodeAffinity}]}}",
            vec![("NodeResourcesFit", 2), ("NodeAffinity", 1)],
        ),
    ] {
        assert_eq!(scorers(plugins), served(&expected), "{plugins}");
    }
    let refused = refused(
        &format!("{HEAD}profiles: [{{plugins: {{score: {{enabled: [{{name: NodeAffinity, weight: -1}}]}}}}}}]\n"),
        None,
    );
    assert!(refused.contains("weight: is not a number from 0 to 1000000"), "{refused}");
}

#[test]
fn arguments_of_score_plugins_are_those_of_the_predicate_or_their_own() {
    let text = "profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: cpu, weight: 1}]}
";
    let (policy, notes) = imported(text, None);
    let args = |name: &str| policy.scores.iter().find(|scorer| scorer.name == name).map(|scorer| scorer.args.clone());
    if let Some(args) = args("NodeResourcesFit") {
        assert_eq!(args["scoringStrategy"]["type"], "MostAllocated");
    }
    match args("NodeResourcesBalancedAllocation") {
        Some(args) => {
            assert_eq!((&args["resources"][0]["name"], notes.len()), (&json!("cpu"), 0));
            // The defaults are written, so that arguments can be.
            let all = Table::built_in().default_scores(Table::built_in().newest());
            assert_eq!(policy.scores.len(), all.count());
        }
        None => assert!(notes[0].contains("filters and scores no nodes"), "{notes:?}"),
    }
}
