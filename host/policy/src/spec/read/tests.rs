//! Several files that make one document.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::limits::POLICY_FILES;
use crate::spec::{ModuleSource, Place};

const BUILTINS: &[&str] = &["NodeName", "NodeAffinity", "NodePorts", "TaintToleration"];

const HEADER: &str = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn base() -> String {
    format!("{HEADER}metadata: {{name: all}}\nspec:\n  schedulerNames: [a]\n  predicates:\n  - name: NodeName\n")
}

fn read(folder: &TempDir) -> Result<Policy, PolicyError> {
    Policy::read_file(folder.path(), BUILTINS)
}

/// Returns the message of a refusal, with the folder left out.
fn refusal(files: &[(&str, &str)]) -> String {
    let folder = folder(files);
    let error = read(&folder).map(|policy| panic!("accepted: {policy:?}")).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn names(policy: &Policy) -> Vec<&str> {
    policy.predicates.iter().map(|spec| spec.name.as_str()).collect()
}

#[test]
fn the_files_of_a_folder_are_one_document_in_the_order_of_their_names() {
    let team = "# of a team\nspec:\n  predicates:\n  - name: Team\n    module: {path: team.wasm}\n";
    let last = format!("{HEADER}spec:\n  predicates: [{{name: NodePorts}}]\n  facts: {{annotations: [b]}}\n");
    let folder = folder(&[
        ("30-last.yaml", &last),
        ("20-team.yaml", team),
        ("10-base.yaml", &base()),
        ("15-nothing.yaml", "# nothing yet\n"),
        (".20-team.yaml.swp.yaml", "{"),
        ("README", "{"),
    ]);
    fs::create_dir(folder.path().join("..data")).unwrap();
    fs::write(folder.path().join("..data/40.yaml"), "{").unwrap();
    let policy = read(&folder).unwrap();
    assert_eq!(names(&policy), ["NodeName", "Team", "NodePorts"]);
    assert_eq!((policy.name.as_str(), &*policy.settings.annotation_keys), ("all", &["b".to_owned()][..]));
    assert_eq!(policy.document, folder.path().display().to_string());
    let team = &policy.predicates[1];
    assert_eq!(team.module, ModuleSource::Path { path: folder.path().join("team.wasm").into(), digest: None });
    let file = Some(folder.path().join("20-team.yaml").display().to_string().into());
    assert_eq!(team.place, Place { file, line: 4, column: 5, field: "spec.predicates[1]".to_owned() });
    // As one text it is the same policy.
    let text = PolicyText::read(folder.path()).unwrap();
    let again = Policy::read(&text.text, "again", folder.path(), BUILTINS).unwrap();
    assert_eq!(without_places(again), without_places(policy));
}

fn without_places(policy: Policy) -> Policy {
    let predicates =
        policy.predicates.into_iter().map(|spec| super::super::PredicateSpec { place: Place::default(), ..spec });
    let scores = policy.scores.into_iter().map(|spec| super::super::ScorerSpec { place: Place::default(), ..spec });
    Policy { document: String::new(), predicates: predicates.collect(), scores: scores.collect(), ..policy }
}

#[test]
fn what_two_files_give_is_refused_with_both_places() {
    let second = "metadata: {name: other}\nspec:\n  onUnsupported: Ignore\n  schedulerNames: [b]\n  predicates:\n  - \
                  name: NodePorts\n  - name: NodeName\n  facts: {annotations: [x]}\n";
    let third = "kind: Policy\nspec: {facts: {annotations: [y]}}\n";
    let found = refusal(&[("a.yaml", &base()), ("b.yaml", second), ("c.yaml", third)]);
    let expected = [
        "b.yaml:1:12: metadata.name: is there twice, first at a.yaml:3:12",
        "b.yaml:4:3: spec.schedulerNames: is there twice, first at a.yaml:5:3",
        "b.yaml:7:11: spec.predicates[2].name: \"NodeName\" is there twice, first at a.yaml:7:11",
        "c.yaml:1:1: kind: is there twice, first at a.yaml:2:1",
        "c.yaml:2:16: spec.facts.annotations: is there twice, first at b.yaml:8:11",
    ];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    // Within a file as well.
    let twice = "spec:\n  predicates: [{name: NodePorts}]\n  predicates: [{name: NodeAffinity}]\n";
    let found = refusal(&[("a.yaml", &base()), ("b.yaml", twice)]);
    assert_eq!(found, "b.yaml:3:3: spec.predicates: is there twice, first at a.yaml:6:3");
}

#[test]
fn everything_that_is_wrong_is_told_with_its_file_and_a_broken_file_hides_no_other() {
    let found = refusal(&[
        ("a.yaml", &base()),
        ("b.yaml", "spec:\n  predicates:\n  - {name: NodeNmae}\n  - {name: NodePorts, pases: []}\n"),
        ("c.yaml", "spec:\n  predicates:\n  - {name: Own, module: {path: \"\"}}\n"),
    ]);
    let places: Vec<&str> = found.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["b.yaml:3:12", "b.yaml:4:23", "c.yaml:3:32"], "{found}");
    // What is missing may be in the one that is broken.
    let found = refusal(&[("a.yaml", "kind: [\n"), ("b.yaml", "spec: {x: 1}\n"), ("c.yaml", "- 1\n")]);
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 3, "{found}");
    assert!(lines[0].starts_with("a.yaml:"), "{found}");
    assert!(lines[1].starts_with("b.yaml:1:8: spec.x: unknown field"), "{found}");
    assert_eq!(lines[2], "c.yaml:1:1: expected a map, found a list");
    let found = refusal(&[("a.yaml", "spec: {predicates: [{name: NodeName}]}"), ("b.yaml", "# nothing")]);
    assert!(found.contains("a.yaml:1:1: apiVersion: missing") && found.contains("schedulerNames"), "{found}");
}

#[test]
fn a_folder_with_one_file_is_that_file() {
    let folder = folder(&[("policy.yaml", &base())]);
    let text = PolicyText::read(folder.path()).unwrap();
    assert_eq!((text.text, text.path), (base(), folder.path().join("policy.yaml")));
    assert_eq!(read(&folder).unwrap().predicates[0].place.file, None);
}

#[test]
fn a_folder_without_files_and_one_with_too_much_are_refused() {
    let none = refusal(&[("policy.yml", "x")]);
    assert!(none.ends_with("this folder has no policy: its file must end in .yaml"), "{none}");
    let many: Vec<String> = (0..=POLICY_FILES).map(|number| format!("{number}.yaml")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
    let found = refusal(&many);
    assert!(found.ends_with("65 files, and at most 64 make a policy"), "{found}");
    assert!(refusal(&many[1..]).ends_with("empty; expected a PredicatePolicy"));
    let half = format!("# {}\n", "x".repeat(600 << 10));
    let found = refusal(&[("a.yaml", &half), ("b.yaml", &half)]);
    assert!(found.ends_with("more than 1024 KiB: not a policy"), "{found}");
}

#[test]
fn a_folder_ends_in_the_middle_of_a_line_if_one_of_its_files_does() {
    let is_unended = |files: &[(&str, &str)]| PolicyText::read(folder(files).path()).unwrap().is_unended();
    assert!(!is_unended(&[("a.yaml", &base()), ("b.yaml", "spec: {}")]));
    assert!(is_unended(&[("a.yaml", &base()), ("b.yaml", "spec: {}\nkind: Pred")]));
    // One that is about to be written again.
    assert!(is_unended(&[("a.yaml", ""), ("b.yaml", &base())]));
}

/// However a document is cut at its predicates, the files mean what it means.
#[test]
fn a_document_that_is_divided_at_random_is_the_same_policy() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..200 {
        let predicate = |number: usize| match BUILTINS.get(number) {
            Some(name) => format!("  - name: {name}\n"),
            None => {
                format!("  - {{name: Own{number}, module: {{path: own{number}.wasm}}, args: {{a: {{b: {number}}}}}}}\n")
            }
        };
        let predicates: Vec<String> = (0..random.usize(2..12)).map(predicate).collect();
        let head = base().replace("  - name: NodeName\n", "");
        let whole = folder(&[("policy.yaml", &format!("{head}{}", predicates.concat()))]);
        let mut texts = vec![head];
        for predicate in &predicates {
            if random.u8(..3) == 0 {
                let header = if random.bool() { HEADER } else { "" };
                texts.push(format!("{header}spec:\n  predicates:\n"));
            }
            texts.last_mut().unwrap().push_str(predicate);
        }
        let divided = tempfile::tempdir().unwrap();
        for (number, text) in texts.iter().enumerate() {
            fs::write(divided.path().join(format!("{number:02}.yaml")), text).unwrap();
        }
        let relative = |policy: Policy, folder: &Path| {
            let mut policy = without_places(policy);
            for spec in &mut policy.predicates {
                if let ModuleSource::Path { path, .. } = &mut spec.module {
                    *path = path.path().strip_prefix(folder).unwrap().into();
                }
            }
            policy
        };
        let expected = relative(read(&whole).unwrap(), whole.path());
        assert_eq!(relative(read(&divided).unwrap(), divided.path()), expected, "seed {seed}: {texts:#?}");
    }
}
