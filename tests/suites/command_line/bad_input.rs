//! Invalid input: one error text that names the place, the documented exit code, no answer.

use nodesift_tests::workshop::three_nodes;
use serde_json::json;

use crate::new_workshop;

const USAGE: i32 = 64;
const DATA: i32 = 65;
const NO_INPUT: i32 = 66;
const UNAVAILABLE: i32 = 69;

/// `explain` on `cluster.json` in the folder.
const EXPLAIN: [&str; 3] = ["explain", "--cluster", "cluster.json"];

fn with<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [EXPLAIN.as_slice(), arguments].concat()
}

/// The exact texts: each states the place, the error, and what is valid.
#[test]
fn what_is_wrong_is_said_in_these_words() {
    let workshop = new_workshop().with_cluster();
    let mut quantity = three_nodes();
    quantity["items"][1]["status"]["allocatable"]["cpu"] = json!("4x");
    workshop.write("quantity.json", quantity.to_string());
    let mut twice = three_nodes();
    twice["items"][2]["metadata"]["name"] = json!("n0");
    workshop.write("twice.json", twice.to_string());
    let mut mistyped = three_nodes();
    mistyped["items"][2]["spec"]["taints"] = json!("none");
    workshop.write("mistyped.json", mistyped.to_string());
    workshop.write("broken.json", "{\n  \"kind\": \"List\",\n  \"items\": [}\n");
    workshop.write("broken.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n0\nspec: {}\n");
    workshop.write("empty.json", "");
    for (arguments, code, text) in [
        (
            ["--cluster", "quantity.json"].as_slice(),
            DATA,
            "quantity.json: items[1] (Node \"n1\"): status.allocatable.cpu: \"4x\" is not a quantity: expected a number, \
             such as 2 or 1.5, and a suffix, such as m, k, Mi, Gi or e3",
        ),
        (
            &["--cluster", "twice.json"],
            DATA,
            "Node \"n0\" is there twice: twice.json: items[0] and twice.json: items[2]",
        ),
        (
            &["--cluster", "mistyped.json"],
            DATA,
            "mistyped.json: items[2] (Node \"n2\"): spec.taints: invalid type: string \"none\", expected a sequence",
        ),
        (&["--cluster", "broken.json"], DATA, "broken.json: line 3, column 13: not JSON: expected value"),
        (
            &["--cluster", "broken.yaml"],
            DATA,
            "broken.yaml: line 4, column 5: not YAML: while parsing a flow mapping, did not find expected ',' or '}'",
        ),
        (
            &["--cluster", "empty.json"],
            DATA,
            "empty.json: empty; expected what `kubectl get nodes,pods -A -o json` writes",
        ),
        (&["--cluster", "nowhere.json"], NO_INPUT, "nowhere.json: No such file or directory (os error 2)"),
        (
            &["--cluster", "cluster.json", "--pod", "default/nobody"],
            DATA,
            "pod default/nobody is not in the cache: name a pod that exists, or send the whole pod",
        ),
        (
            &["--cluster", "cluster.json", "--pod", "default/nwe"],
            DATA,
            "pod default/nwe is not in the cache: name a pod that exists, or send the whole pod; pods with a name like it: \
             default/new, default/web (on node n2)",
        ),
        (
            &["--cluster", "cluster.json", "--node", "n9"],
            DATA,
            "node \"n9\" is not in the cache: name a node that exists",
        ),
        (
            &["--server", "unix:/proc/none/s.sock"],
            UNAVAILABLE,
            "cannot reach a sidecar at unix:/proc/none/s.sock (is `nodesift serve` running?): transport error: \
             No such file or directory (os error 2)",
        ),
        (
            &[],
            USAGE,
            "no cluster given: use --cluster FILE for its objects, --kube for one list of your kubeconfig's cluster, or \
             --server unix:PATH or --server http://HOST:PORT for a running sidecar",
        ),
    ] {
        let said = workshop.failure(code, &[&["explain"], arguments].concat());
        assert_eq!(said, format!("nodesift: {text}\n"), "{arguments:?}");
    }
}

#[test]
fn without_a_cluster_it_says_what_to_give() {
    let workshop = new_workshop();
    for command in ["filter", "explain"] {
        workshop.fails_naming(USAGE, &[command], &["--cluster", "--server"]);
    }
}

#[test]
fn arguments_that_are_none_are_usage() {
    let workshop = new_workshop().with_cluster();
    for arguments in [
        vec!["explian"],
        vec!["explain", "--clutser", "x"],
        with(&["-o", "xml"]),
        with(&["--phase", "bind"]),
        with(&["--pod", "a/b/c"]),
        with(&["--policy", "p", "--predicates", "NodeName"]),
        with(&["--server", "http://127.0.0.1:1"]),
        vec!["serve", "--sample", "--max-body-bytes", "0"],
    ] {
        let text = workshop.failure(USAGE, &arguments);
        assert!(text.contains("Usage") || text.contains("--help") || text.contains("possible values"), "{text}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let workshop = new_workshop().with_cluster();
    workshop.fails_naming(NO_INPUT, &["explain", "--cluster", "nowhere.json"], &["nowhere.json", "No such file"]);
    workshop.fails_naming(NO_INPUT, &with(&["--pods", "nowhere.json"]), &["nowhere.json", "No such file"]);
    workshop.fails_naming(NO_INPUT, &with(&["--policy", "nowhere.yaml"]), &["nowhere.yaml", "No such file"]);
    workshop.fails_naming(NO_INPUT, &["explain", "--cluster", "."], &["."]);
}

#[test]
fn broken_json_names_file_and_line() {
    let workshop = new_workshop();
    workshop.write("cluster.json", "{\n  \"kind\": \"List\",\n  \"items\": [}\n");
    workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json", "line 3"]);

    let whole = serde_json::to_string_pretty(&three_nodes()).unwrap();
    workshop.write("cluster.json", whole.get(..whole.len() / 2).unwrap());
    workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json", "line "]);
}

#[test]
fn broken_yaml_names_file_and_line() {
    let workshop = new_workshop();
    workshop.write("cluster.json", "apiVersion: v1\nkind: Node\nmetadata: {name: n0\nspec: {}\n");
    workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json", "line "]);
}

#[test]
fn an_empty_file_is_named() {
    let workshop = new_workshop();
    for nothing in ["", "\n\n"] {
        workshop.write("cluster.json", nothing);
        workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json", "empty"]);
    }
}

#[test]
fn gzip_that_is_cut_is_named() {
    let workshop = new_workshop();
    let whole = std::fs::read(nodesift_tests::data::document("001").cluster()).unwrap();
    workshop.write("cluster.json", whole.get(..whole.len() / 2).unwrap());
    workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json"]);
}

#[test]
fn a_quantity_that_is_none_names_object_and_field() {
    let workshop = new_workshop();
    let mut cluster = three_nodes();
    cluster["items"][1]["status"]["allocatable"]["cpu"] = json!("4x");
    workshop.write("cluster.json", cluster.to_string());
    workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json", "n1", "status.allocatable", "cpu", "4x"]);

    let mut cluster = three_nodes();
    cluster["items"][4]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("a lot");
    workshop.write("cluster.json", cluster.to_string());
    let place = "spec.containers[0].resources.requests";
    workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json", "new", place, "a lot"]);
}

#[test]
fn a_field_of_another_type_names_object_and_field() {
    let workshop = new_workshop();
    let mut cluster = three_nodes();
    cluster["items"][2]["spec"]["taints"] = json!("none");
    workshop.write("cluster.json", cluster.to_string());
    workshop.fails_naming(DATA, &EXPLAIN, &["cluster.json", "n2", "spec.taints"]);
}

#[test]
fn two_nodes_of_one_name_are_both_named() {
    let workshop = new_workshop().with_cluster();
    let mut cluster = three_nodes();
    cluster["items"][2]["metadata"]["name"] = json!("n0");
    workshop.write("twice.json", cluster.to_string());
    workshop.fails_naming(DATA, &["explain", "--cluster", "twice.json"], &["twice.json", "n0", "Node"]);
    let both = ["explain", "--cluster", "cluster.json", "cluster.json"];
    workshop.fails_naming(DATA, &both, &["cluster.json", "n0", "twice"]);
}

#[test]
fn unknown_kinds_are_skipped_with_a_count() {
    let workshop = new_workshop();
    let mut cluster = three_nodes();
    let items = cluster["items"].as_array_mut().unwrap();
    for name in ["a", "b"] {
        items.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}));
    }
    items.push(json!({"apiVersion": "acme.dev/v1", "kind": "Gizmo", "metadata": {"name": "g"}}));
    workshop.write("cluster.json", cluster.to_string());
    let output = workshop.run(&[EXPLAIN.as_slice(), &["-o", "jsonl"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("2 Secret") && output.stderr.contains("1 Gizmo"), "{}", output.stderr);
    assert!(output.stdout.contains("default/new"), "{}", output.stdout);
}

#[test]
fn an_unknown_pod_or_node_is_named() {
    let workshop = new_workshop().with_cluster();
    workshop.fails_naming(DATA, &with(&["--pod", "default/nobody"]), &["default/nobody"]);
    workshop.fails_naming(DATA, &with(&["--node", "n9"]), &["n9"]);
    let pods = with(&["--pods", "cluster.json", "--pod", "default/nobody"]);
    workshop.fails_naming(DATA, &pods, &["default/nobody"]);
    let near = with(&["--pods", "cluster.json", "--pod", "default/wbe"]);
    workshop.fails_naming(DATA, &near, &["default/wbe", "pods with a name like it: default/web"]);
    let near = ["filter", "--cluster", "cluster.json", "--pod", "new", "default/nwe"];
    workshop.fails_naming(
        DATA,
        &near,
        &["pod default/nwe is not in the cache", "pods with a name like it: default/new"],
    );
}

#[test]
fn a_socket_that_cannot_be_had_is_named() {
    let workshop = new_workshop().with_cluster();
    for path in ["/proc/none/folder/nodesift.sock", "cluster.json"] {
        let arguments = ["serve", "--cluster", "cluster.json", "--no-tcp", "--socket", path];
        let output = workshop.run(&arguments);
        assert_eq!(output.code, Some(1), "{}", output.stderr);
        assert!(output.stderr.contains(path), "{}", output.stderr);
    }
    // A file that is not a socket is not removed.
    assert!(workshop.path("cluster.json").is_file());
}

#[test]
fn a_sidecar_that_is_not_there_is_unavailable() {
    let workshop = new_workshop();
    workshop.fails_naming(UNAVAILABLE, &["explain", "--server", "unix:/proc/none/s.sock"], &["/proc/none/s.sock"]);
    // Nothing listens on port 1.
    workshop.fails_naming(UNAVAILABLE, &["explain", "--server", "http://127.0.0.1:1"], &["127.0.0.1:1"]);
}

#[test]
fn an_address_for_strangers_is_refused() {
    let workshop = new_workshop().with_cluster();
    for address in ["0.0.0.0:0", "192.0.2.1:10270", "[::]:0"] {
        workshop.fails_naming(USAGE, &["serve", "--cluster", "cluster.json", "--listen", address], &["TLS"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let workshop = new_workshop();
    let cluster = nodesift_tests::data::sample_cluster();
    let arguments = ["explain", "-o", "jsonl", "--cluster", cluster.to_str().unwrap()];
    let mut child = workshop
        .command(&arguments)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn help_lists_the_exit_codes() {
    let help = new_workshop().answer(&["--help"]);
    for code in [0, 1, USAGE, DATA, NO_INPUT, UNAVAILABLE] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))), "{code}: {help}");
    }
}
