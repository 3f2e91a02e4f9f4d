//! Policy files: predicates that they select, errors, and custom modules beside the built-ins.

use nodesift_tests::guest::Guest;
use nodesift_tests::timeout;
use nodesift_tests::workshop::{Workshop, lines, predicates, three_nodes};
use serde_json::{Value, json};

use crate::new_workshop;

const USAGE: i32 = 64;
const NO_INPUT: i32 = 66;

const EXPLAIN: [&str; 7] = ["explain", "-o", "jsonl", "--cluster", "cluster.json", "--policy", "policy.yaml"];

/// A policy of these predicates, one YAML flow mapping each.
fn policy(predicates: &[&str]) -> String {
    let entries: String = predicates.iter().map(|predicate| format!("  - {predicate}\n")).collect();
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {{name: test}}\nspec:\n  \
         schedulerNames: [default-scheduler]\n  predicates:\n{entries}"
    )
}

/// A workshop with a cluster, that policy, and a guest in `guest.wasm`; also returns the guest's digest.
fn with_guest(guest: &Guest, predicates: impl Fn(&str) -> Vec<String>) -> Workshop {
    let workshop = new_workshop().with_cluster();
    let component = guest.component();
    workshop.write("guest.wasm", &component);
    let predicates = predicates(&nodesift_tests::data::digest(&component));
    let predicates: Vec<&str> = predicates.iter().map(String::as_str).collect();
    workshop.write("policy.yaml", policy(&predicates));
    workshop
}

fn refused(document: &str, named: &[&str]) {
    let workshop = new_workshop().with_cluster();
    workshop.write("policy.yaml", document);
    workshop.fails_naming(USAGE, &EXPLAIN, named);
}

#[test]
fn a_policy_chooses_predicates_and_their_order() {
    let workshop = new_workshop().with_cluster();
    workshop.write("policy.yaml", policy(&["name: TaintToleration", "name: NodeUnschedulable"]));
    let answer = workshop.answer(&EXPLAIN);
    assert_eq!(predicates(&answer), ["TaintToleration", "NodeUnschedulable", "*"]);
    assert_eq!(lines(&answer).last().unwrap()["feasible"], json!(["n0", "n2"]));
}

#[test]
fn arguments_reach_the_predicate() {
    let workshop = new_workshop().with_cluster();
    let mut cluster = three_nodes();
    let requests = &mut cluster["items"][4]["spec"]["containers"][0]["resources"]["requests"];
    requests["example.com/soft"] = json!("1");
    workshop.write("cluster.json", cluster.to_string());
    let feasible = |fit: &str| {
        workshop.write("policy.yaml", policy(&[fit]));
        lines(&workshop.answer(&EXPLAIN)).last().unwrap()["feasible"].clone()
    };
    assert_eq!(feasible("{name: NodeResourcesFit}"), json!([]));
    let ignoring = "{name: NodeResourcesFit, args: {ignoredResources: [example.com/soft]}}";
    assert_eq!(feasible(ignoring), json!(["n0", "n1"]));
}

#[test]
fn pods_of_other_schedulers_take_room_too() {
    let workshop = new_workshop().with_cluster();
    let theirs = policy(&["name: NodeResourcesFit"]).replace("[default-scheduler]", "[yunikorn]");
    workshop.write("policy.yaml", theirs);
    let arguments = [EXPLAIN.as_slice(), &["--pod", "default/new"]].concat();
    let last = lines(&workshop.answer(&arguments)).pop().unwrap();
    assert_eq!(last["feasible"], json!(["n0", "n1"]), "the foreign pod on n2 counts");
}

#[test]
fn a_mistyped_policy_names_line_and_field() {
    refused(&policy(&["{name: NodeName, pases: [allocate]}"]), &["policy.yaml:7:", "spec.predicates[0].pases"]);
    refused(&policy(&["name: NodeName"]).replace("schedulerNames", "schedulerName"), &["policy.yaml", "schedulerName"]);
    refused(&policy(&["{name: NodeName, phases: allocate}"]), &["policy.yaml", "phases"]);
    refused(&policy(&["name: NodeName"]).replace("v1alpha1", "v2"), &["policy.yaml", "apiVersion", "v2"]);
    refused("nodesift", &["policy.yaml"]);
    refused("", &["policy.yaml"]);
}

#[test]
fn a_policy_that_contradicts_itself_is_refused() {
    refused(&policy(&["name: NodeName", "name: TaintToleration", "name: NodeName"]), &["policy.yaml", "NodeName"]);
    refused(&policy(&["name: NodeNmae"]), &["NodeNmae", "NodeName", "TaintToleration"]);
    refused(&policy(&["{name: NodeName, mode: Shadow}"]), &["mode Shadow", "every pod would fit every node"]);
    refused(
        &policy(&["{name: Own, module: {oci: example.com/own:1}}"]),
        &["digest: missing", "the SHA-256 of its manifest or of its component"],
    );
    refused(&policy(&["{name: NodeName, instance: Fresh}"]), &["spec.predicates[0].instance", "always reused"]);
}

#[test]
fn wrong_arguments_are_refused_in_the_predicates_own_words() {
    refused(
        &policy(&["{name: NodeResourcesFit, args: {ignoredResource: [a]}}"]),
        &["NodeResourcesFit", "ignoredResource"],
    );
    let workshop = with_guest(&Guest::healthy().refusal("args.depth: not a number"), |_| {
        vec!["{name: Own, module: {path: guest.wasm}}".to_owned()]
    });
    workshop.fails_naming(USAGE, &EXPLAIN, &["Own", "configure", "args.depth: not a number"]);
}

#[test]
fn a_module_must_be_there_and_be_the_one_that_is_meant() {
    let workshop = with_guest(&Guest::healthy(), |_| vec!["{name: Own, module: {path: other.wasm}}".to_owned()]);
    workshop.fails_naming(NO_INPUT, &EXPLAIN, &["Own", "other.wasm", "No such file"]);

    let wrong = "0".repeat(64);
    let workshop = with_guest(&Guest::healthy(), |_| {
        vec![format!("{{name: Own, module: {{path: guest.wasm, digest: \"sha256:{wrong}\"}}}}")]
    });
    workshop.fails_naming(USAGE, &EXPLAIN, &["Own", "guest.wasm", &wrong, "sha256:"]);
    let message = workshop.failure(USAGE, &EXPLAIN);
    // The digest of a file is not told to those who can only name it.
    let digest = nodesift_tests::data::digest(&Guest::healthy().component());
    assert!(!message.contains(digest.trim_start_matches("sha256:")), "{message}");

    workshop.write("guest.wasm", "(component)");
    let unnamed = policy(&["{name: Own, module: {path: guest.wasm}}"]);
    workshop.write("policy.yaml", unnamed);
    workshop.fails_naming(USAGE, &EXPLAIN, &["Own", "not a WebAssembly component"]);
}

#[test]
fn the_errors_of_all_modules_are_reported_at_once_with_their_places() {
    let wrong = "0".repeat(64);
    let workshop = with_guest(&Guest::healthy().refusal("args.depth: not a number"), |_| {
        vec![
            "{name: Absent, module: {path: other.wasm}}".to_owned(),
            "name: NodeName".to_owned(),
            format!("{{name: Other, module: {{path: guest.wasm, digest: \"sha256:{wrong}\"}}}}"),
            "{name: NodeResourcesFit, args: {ignoredResource: [a]}}".to_owned(),
            "{name: Refusing, module: {path: guest.wasm}}".to_owned(),
        ]
    });
    let text = workshop.failure(NO_INPUT, &EXPLAIN);
    let places: Vec<&str> =
        text.lines().filter_map(|line| line.find(": predicate ").and_then(|end| line.get(..end))).collect();
    let place = |line: u32, index: u32| format!("policy.yaml:{line}:5: spec.predicates[{index}]");
    let expected = [(7, 0), (9, 2), (10, 3), (11, 4)].map(|(line, index)| place(line, index));
    let places: Vec<&str> = places.iter().map(|place| place.trim_start_matches("nodesift: ")).collect();
    assert_eq!(places, expected, "{text}");
    for said in ["other.wasm: No such file", &wrong, "ignoredResource", "not a number"] {
        assert!(text.contains(said), "{said} in {text}");
    }
}

#[test]
fn errors_of_modules_are_reported_beside_those_of_the_document() {
    let workshop = new_workshop().with_cluster();
    workshop.write(
        "policy.yaml",
        policy(&["{name: NodeName, pases: [allocate]}", "{name: Absent, module: {path: other.wasm}}", "name: 5"]),
    );
    let text = workshop.failure(USAGE, &EXPLAIN);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (line, said) in lines.iter().zip([
        "policy.yaml:7:22: spec.predicates[0].pases: unknown field",
        "policy.yaml:8:5: spec.predicates[1]: predicate Absent: module other.wasm: No such file or directory",
        "policy.yaml:9:11: spec.predicates[2].name: expected a text, found a number",
    ]) {
        assert!(line.trim_start_matches("nodesift: ").starts_with(said), "{said} in {text}");
    }
}

#[test]
fn policies_and_modules_are_regular_files_and_nothing_else() {
    let pipe = |workshop: &Workshop, name: &str| {
        let made = std::process::Command::new("mkfifo").arg(workshop.path(name)).status();
        assert!(made.unwrap().success());
    };
    // A device without end, and a pipe that nobody writes to: neither is waited for, nor read.
    let workshop = with_guest(&Guest::healthy(), |_| vec!["{name: Own, module: {path: /dev/zero}}".to_owned()]);
    workshop.fails_naming(USAGE, &EXPLAIN, &["Own", "/dev/zero", "not a regular file"]);
    let workshop = with_guest(&Guest::healthy(), |_| vec!["{name: Own, module: {path: pipe}}".to_owned()]);
    pipe(&workshop, "pipe");
    workshop.fails_naming(USAGE, &EXPLAIN, &["Own", "pipe", "not a regular file"]);
    for policy in ["/dev/zero", "/dev/stdin", "pipe"] {
        let arguments = ["explain", "--cluster", "cluster.json", "--policy", policy];
        workshop.fails_naming(USAGE, &arguments, &[policy, "not a regular file"]);
    }
}

#[test]
fn a_module_may_not_read_more_than_is_allowed() {
    let import = r#"(import "nodesift:predicate/pod-labels@0.2.0" "namespace" (func $namespace (param i32)))"#;
    let guest = Guest::healthy().imports(import).filter("(call $namespace (i32.const 4096)) (call $fits_all)");
    let allowing = |allow: &str| {
        let entry = format!("{{name: Own, module: {{path: guest.wasm}}, allow: {allow}}}");
        with_guest(&guest, move |_| vec![entry.clone()])
    };
    allowing("[node-labels]").fails_naming(USAGE, &EXPLAIN, &["Own", "pod-labels", "allow"]);
    allowing("[pod-labels, pod-secrets]").fails_naming(USAGE, &EXPLAIN, &["policy.yaml:7:", "allow[1]", "pod-secrets"]);
    allowing("[pod-labels]").answer(&EXPLAIN);
}

/// The last line of `explain` under a policy of NodeName and one hostile guest.
fn under_attack(guest: &Guest, more: &str) -> Value {
    attacked("explain", guest, more)
}

/// The last line of a command under such a policy.
fn attacked(command: &str, guest: &Guest, more: &str) -> Value {
    let workshop = with_guest(guest, |digest| {
        let entry = format!("{{name: Own, module: {{path: guest.wasm, digest: \"{digest}\"}}{more}}}");
        vec!["name: NodeName".to_owned(), entry]
    });
    // On a busy machine the built-in may exceed its deadline; only a fault of the guest counts.
    let is_the_guests = |last: &Value| last["faults"].as_array().is_none_or(|faults| faults[0]["predicate"] == "Own");
    let arguments: Vec<&str> = std::iter::once(command).chain(EXPLAIN.into_iter().skip(1)).collect();
    let last = || lines(&workshop.answer(&arguments)).pop().unwrap();
    timeout::until(|| Some(last()).filter(is_the_guests)).unwrap()
}

#[test]
fn a_fault_is_listed_with_what_was_done_about_it() {
    let spin = Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)");
    let grow = "(loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (unreachable)";
    let recurse = "(func $deep (call $deep) (call $deep))";
    for (guest, fault) in [
        (spin, "Deadline"),
        (Guest::healthy().filter(grow), "Memory"),
        (Guest::healthy().definitions(recurse).filter("(call $deep) (call $fits_all)"), "StackOverflow"),
        (Guest::healthy().filter("(unreachable)"), "Trap"),
        (Guest::healthy().filter("(i32.const -4)"), "MalformedVerdict"),
    ] {
        let rejected = under_attack(&guest, "");
        assert_eq!(rejected["faults"][0]["predicate"], "Own");
        assert_eq!(rejected["faults"][0]["fault"], fault, "{rejected}");
        assert_eq!(rejected["faults"][0]["effect"], "Rejected", "the default fails closed");
        assert_eq!(rejected["feasible"], json!([]));
        let filtered = attacked("filter", &guest, "");
        let message = filtered["message"].as_str().unwrap();
        assert!(message.contains(&format!("predicate \"Own\" failed: {fault}")), "{message}");

        let ignored = under_attack(&guest, ", onError: Ignore");
        assert_eq!(ignored["faults"][0]["fault"], fault);
        assert_eq!(ignored["faults"][0]["effect"], "Ignored");
        assert_eq!(ignored["feasible"], json!(["n0", "n1", "n2"]));
    }
}

#[test]
fn limits_of_a_policy_bind() {
    let grow = "(loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
      (if (i32.gt_u (memory.size) (i32.const 16)) (then (return (call $fits_all))))
      (unreachable)";
    let guest = Guest::healthy().filter(grow);
    assert_eq!(under_attack(&guest, ", limits: {memory: 1Mi, timePerCall: 1s}")["faults"][0]["fault"], "Memory");
    assert_eq!(under_attack(&guest, ", limits: {memory: 2Mi, timePerCall: 1s}")["faults"], Value::Null);
}

#[test]
fn memory_is_granted_up_to_256_mebibytes_and_no_page_beyond_what_is_granted() {
    let growing_to = |pages: u32| {
        Guest::healthy().filter(format!(
            "(loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
             (if (i32.eq (memory.size) (i32.const {pages})) (then (return (call $fits_all))))
             (unreachable)"
        ))
    };
    for (granted, pages) in [("64Mi", 1024), ("256Mi", 4096)] {
        let limits = format!(", limits: {{memory: {granted}, timePerCall: 5s}}");
        assert_eq!(under_attack(&growing_to(pages), &limits)["faults"], Value::Null, "{granted}");
        assert_eq!(under_attack(&growing_to(pages + 1), &limits)["faults"][0]["fault"], "Memory", "{granted}");
    }
}

#[test]
fn the_output_that_a_policy_grants_binds() {
    // 6,000 bytes of one reason.
    let guest = Guest::healthy().filter(
        "(memory.fill (i32.const 8192) (i32.const 120) (i32.const 6000))
         (call $text (i32.const 112) (i32.const 8192) (i32.const 6000))
         (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))",
    );
    assert_eq!(under_attack(&guest, ", limits: {output: 4Ki}")["faults"][0]["fault"], "OutputTooLarge");
    assert_eq!(under_attack(&guest, ", limits: {output: 16Ki}")["faults"], Value::Null);
    assert_eq!(under_attack(&guest, "")["faults"], Value::Null);
}

#[test]
fn a_module_comes_from_an_oci_layout_and_its_digest_is_enforced() {
    let workshop = new_workshop().with_cluster();
    let component = Guest::healthy().component();
    let blob = |bytes: &[u8]| {
        let digest = nodesift_tests::data::digest(bytes);
        workshop.write(&format!("oci/blobs/sha256/{}", digest.trim_start_matches("sha256:")), bytes);
        json!({"digest": digest, "size": bytes.len()})
    };
    let described = |mut blob: Value, media_type: &str| {
        blob["mediaType"] = json!(media_type);
        blob
    };
    std::fs::create_dir_all(workshop.path("oci/blobs/sha256")).unwrap();
    let layer = described(blob(&component), "application/wasm");
    let config = described(blob(b"{}"), "application/vnd.wasm.config.v0+json");
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
    let mut manifest = described(blob(manifest.as_bytes()), "application/vnd.oci.image.manifest.v1+json");
    let digests = [layer["digest"].clone(), manifest["digest"].clone()];
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": "1.0"});
    workshop.write("oci/index.json", json!({"schemaVersion": 2, "manifests": [manifest]}).to_string());
    workshop.write("oci/oci-layout", r#"{"imageLayoutVersion": "1.0.0"}"#);
    let own = |module: &str| policy(&[&format!("{{name: Own, module: {{{module}}}}}")]);
    let from =
        |tag: &str, digest: &Value| format!("oci: \"registry.example.com/own:{tag}\", layout: oci, digest: {digest}");
    for digest in &digests {
        workshop.write("policy.yaml", own(&from("1.0", digest)));
        let answer = workshop.answer(&EXPLAIN);
        assert_eq!(predicates(&answer), ["Own", "*"]);
        assert_eq!(lines(&answer).last().unwrap()["feasible"], json!(["n0", "n2"]), "the guest rejects odd rows");
    }
    let other = json!(nodesift_tests::data::digest(b"other"));
    for (module, named) in [
        (from("1.0", &other), "has the digest in the policy"),
        (from("1.1", &digests[0]), "its index names 1.0"),
        ("oci: \"registry.example.com/own:1.0\", layout: oci".to_owned(), "policy.yaml:7:"),
    ] {
        workshop.write("policy.yaml", own(&module));
        workshop.fails_naming(USAGE, &EXPLAIN, &["Own", named][usize::from(named.starts_with("policy"))..]);
    }
}

#[test]
fn the_schema_that_is_printed_is_the_one_in_the_repository() {
    let printed: Value = serde_json::from_str(&new_workshop().answer(&["policy", "schema"])).unwrap();
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policy.schema.json");
    assert_eq!(printed, serde_json::from_str::<Value>(&std::fs::read_to_string(file).unwrap()).unwrap());
}

#[test]
fn the_example_runs_beside_the_built_ins() {
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "TeamIsolation").unwrap();
    let workshop = new_workshop();
    workshop.write("team.wasm", example.bytes);
    let mut cluster = three_nodes();
    cluster["items"][0]["metadata"]["labels"]["example.com/team"] = json!("blue");
    cluster["items"][1]["metadata"]["labels"]["example.com/team"] = json!("red");
    cluster["items"][4]["metadata"]["labels"] = json!({"example.com/team": "red"});
    workshop.write("cluster.json", cluster.to_string());
    let digest = nodesift_tests::data::digest(example.bytes);
    let team = format!(
        "{{name: TeamIsolation, module: {{path: team.wasm, digest: \"{digest}\"}}, allow: [pod-labels, node-labels]}}"
    );
    workshop.write("policy.yaml", policy(&["name: TaintToleration", "name: NodeResourcesFit", &team]));

    let answer = lines(&workshop.answer(&EXPLAIN));
    let alone = answer.iter().find(|line| line["predicate"] == "TeamIsolation").unwrap();
    assert_eq!(
        alone["failures"],
        json!([{"code": "UnschedulableAndUnresolvable", "reasons": ["node(s) didn't belong to the pod's team"],
                "nodes": ["n0", "n2"]}])
    );
    assert_eq!(
        answer.last().unwrap()["message"],
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't belong to the pod's team, \
         1 node(s) had untolerated taint(s)."
    );
}
