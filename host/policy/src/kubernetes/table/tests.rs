//! Tests of the table of versions: the built-in one, and each way in which one can be wrong.
#![allow(clippy::unwrap_used)]

use super::*;
use nodesift_engine::Semantics;

const ROW: &str = r#"{name: G, kind: Gate, stage: {"1.35": Alpha, "1.36": GA}, gives: [A], values: {"1.35": false, "1.36": true}, says: a.}"#;

fn table(policy: &str, rows: &str) -> Result<Table, String> {
    scored(policy, SCORES, rows)
}

fn scored(policy: &str, scores: &str, rows: &str) -> Result<Table, String> {
    let scores = format!("defaultScores: {scores}\nunservedScores: [D]\n");
    let text = format!("versions: [\"1.35\", \"1.36\"]\ndefaultPolicy: {policy}\n{scores}switches: [{rows}]\n");
    Table::read(&text).map_err(|error| error.to_string())
}

const SCORES: &str = r#"{"1.35": [{name: A, weight: 2}, {name: D, weight: 1}, {name: C, weight: 3}], "1.36": []}"#;

const POLICY: &str = r#"{"1.35": [{name: A}], "1.36": [{name: B, phases: [allocate]}, {name: A}]}"#;

#[test]
fn the_built_in_table_names_built_ins_and_the_switches_that_the_host_reads() {
    let table = Table::built_in();
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    for version in &table.versions {
        let defaults = table.default_predicates(*version);
        for predicate in defaults {
            assert!(builtins.contains(&predicate.name.as_str()), "{version}: {predicate:?}");
            assert!(predicate.phases.iter().all(|phase| ["allocate", "reserve"].contains(&phase.as_str())));
        }
        assert!(defaults.len() > 12);
    }
    let scorers = nodesift_bundle::SCORERS.iter().map(|builtin| builtin.name);
    let known: Vec<&str> = builtins.iter().copied().chain(scorers).collect();
    for switch in &table.switches {
        let unknown = switch.gives.iter().find(|name| *name != HOST && !known.contains(&name.as_str()));
        assert_eq!(unknown, None, "{}", switch.name);
    }
    let of_host: Vec<&str> =
        table.switches.iter().filter(|switch| switch.gives_to_host()).map(|switch| switch.name.as_str()).collect();
    for name in Semantics::SWITCHES {
        assert!(of_host.contains(&name), "the host reads {name}, and the table does not give it");
    }
    for name in of_host {
        assert!(Semantics::SWITCHES.contains(&name), "the table gives {name} to the host, which does not read it");
    }
}

#[test]
fn default_scorers_that_nothing_computes_are_left_out() {
    let table = table(POLICY, ROW).unwrap();
    let scores = |version: &str| {
        let scores = table.default_scores(version.parse().unwrap());
        scores.map(|score| (score.name.as_str(), score.weight)).collect::<Vec<_>>()
    };
    assert_eq!(scores("1.35"), [("A", 2), ("C", 3)]);
    assert_eq!(scores("1.36"), []);
    assert!(table.is_score("D") && !table.is_score("B"));
    let wrong = [
        (r#"{"1.35": []}"#, "defaultScores of 1.36: missing"),
        (r#"{"1.35": [], "1.36": [], "1.37": []}"#, "defaultScores of 1.37: there is no such version"),
        (
            r#"{"1.35": [], "1.36": [{name: A, weight: 1}, {name: A, weight: 1}]}"#,
            "defaultScores of 1.36: a scorer is there twice",
        ),
        (r#"{"1.35": [], "1.36": [{name: A, weight: 0}]}"#, "defaultScores of 1.36: a weight is 0"),
    ];
    for (scores, expected) in wrong {
        assert_eq!(scored(POLICY, scores, ROW).unwrap_err(), expected);
    }
}

#[test]
fn the_built_in_table_has_scorers_that_the_bundle_has() {
    let table = Table::built_in();
    for version in &table.versions {
        for score in table.default_scores(*version) {
            assert!(nodesift_bundle::SCORERS.iter().any(|built| built.name == score.name), "{version}: {score:?}");
        }
        // The weights of kube-scheduler's default profile, whether or not they are served.
        assert!(table.is_score("TaintToleration") && table.is_score("ImageLocality") && !table.is_score("NodePorts"));
    }
}

#[test]
fn the_rules_of_the_host_are_by_default_those_of_1_36() {
    let table = Table::built_in();
    let version = "1.36".parse().unwrap();
    let of_table = Semantics::from_switches(|name| table.switch(name).unwrap().default_in(version));
    assert_eq!(of_table, Semantics::default());
}

#[test]
fn a_table_is_read_with_its_defaults_stages_and_receivers() {
    let table = table(POLICY, ROW).unwrap();
    let [old, new]: [MinorVersion; 2] = table.versions.clone().try_into().unwrap();
    let names = |version| table.default_predicates(version).iter().map(|one| one.name.as_str()).collect::<Vec<_>>();
    assert_eq!((names(old), names(new)), (vec!["A"], vec!["B", "A"]));
    let gate = table.switch("G").unwrap();
    assert_eq!([gate.stage_in(old), gate.stage_in(new)], [Some(Stage::Alpha), Some(Stage::GA)]);
    assert_eq!([gate.default_in(old), gate.default_in(new)], [false, true]);
    assert!(gate.gives_to("A") && !gate.gives_to("B") && !gate.gives_to_host() && gate.is_served_in(old));
    let of = |text: &str| table.nearest(text.parse().unwrap());
    assert_eq!([of("1.20"), of("1.35"), of("1.36"), of("1.40")], [old, old, new, new]);
}

#[test]
fn a_table_that_is_incomplete_or_contradicts_itself_is_refused() {
    let policies = [
        (r#"{"1.35": [{name: A}]}"#, "defaultPolicy of 1.36: missing"),
        (r#"{"1.35": [{name: A}], "1.36": []}"#, "defaultPolicy of 1.36: empty"),
        (
            r#"{"1.35": [{name: A}], "1.36": [{name: A}, {name: A}]}"#,
            "defaultPolicy of 1.36: a predicate is there twice",
        ),
        (
            r#"{"1.35": [{name: A}], "1.36": [{name: A}], "1.37": [{name: A}]}"#,
            "defaultPolicy of 1.37: there is no such version",
        ),
    ];
    for (policy, expected) in policies {
        assert_eq!(table(policy, ROW).unwrap_err(), expected);
    }
    let rows = [
        (r#"kind: Gate, stage: {"1.36": Beta}, gives: [], values: {"1.36": true}"#, "values: 1.35 is missing"),
        (r#"kind: Quirk, gives: [A], values: {"1.35": true, "1.36": true, "1.37": true}"#, "there is no version 1.37"),
        (r#"kind: Gate, gives: [A], values: {"1.35": false, "1.36": true}"#, "a Gate has stages, and nothing else has"),
        (
            r#"kind: Quirk, stage: {"1.36": Beta}, gives: [A], values: {"1.35": false, "1.36": true}"#,
            "a Gate has stages, and nothing else has",
        ),
        (
            r#"kind: Gate, stage: {"1.36": Beta}, gives: [A], unserved: ["1.35"], values: {"1.35": false, "1.36": true}"#,
            "unserved: it is no gate of 1.35",
        ),
        (
            r#"kind: Gate, stage: {"1.36": Beta}, unlocked: ["1.36"], gives: [A], values: {"1.35": false, "1.36": true}"#,
            "unlocked: it is not GA in 1.36",
        ),
        (r#"kind: Behavior, gives: [A, A], values: {"1.35": false, "1.36": true}"#, "gives: A is there twice"),
        (
            r#"kind: Gate, stage: {"1.36": Alpha}, gives: [A], values: {"1.35": false, "1.36": true}"#,
            "its value in 1.36 is not that of its stage",
        ),
        (
            r#"kind: Gate, stage: {"1.36": GA}, gives: [A], values: {"1.35": false, "1.36": false}"#,
            "its value in 1.36 is not that of its stage",
        ),
        (
            r#"kind: Gate, stage: {"1.36": GA}, gives: [A], values: {"1.35": true, "1.36": true}"#,
            "its value in 1.35 is not that of its stage",
        ),
    ];
    for (row, expected) in rows {
        assert_eq!(
            table(POLICY, &format!("{{name: X, {row}, says: x.}}")).unwrap_err(),
            format!("switch X: {expected}")
        );
    }
    assert_eq!(table(POLICY, &format!("{ROW}, {ROW}")).unwrap_err(), "switch G: is there twice");
    let says_nothing = ROW.replace("says: a.", "says: ' '");
    assert_eq!(table(POLICY, &says_nothing).unwrap_err(), "switch G: says nothing");
    for (wrong, found) in
        [("kind: Gate", "kind: Door"), ("says: a.", "says: a., more: 1"), ("\"1.35\": false", "1.x: false")]
    {
        assert!(table(POLICY, &ROW.replace(wrong, found)).is_err(), "{found}");
    }
    for versions in ["[]", "[\"1.36\", \"1.35\"]", "[\"1.35\", \"1.35\"]"] {
        let text = format!(
            "versions: {versions}\ndefaultPolicy: {{}}\ndefaultScores: {{}}\nunservedScores: []\nswitches: []\n"
        );
        assert!(matches!(Table::read(&text), Err(TableError::Versions(_))), "{versions}");
    }
}
