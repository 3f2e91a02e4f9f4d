//! `why` on files: twelve clusters with one planted cause each, what-ifs, formats, exit codes and bad input.

use std::path::Path;

use nodesift_tests::sidecar::{self, Sidecar};
use serde_json::Value;

use crate::{BINARY, CACHE, new_workshop};

const USAGE: i32 = 64;
const DATA: i32 = 65;
const NO_INPUT: i32 = 66;
const UNAVAILABLE: i32 = 69;
const NO_NODE: i32 = 3;

/// Lines of a first screen: a terminal has at least so many.
const SCREEN: usize = 24;

/// The cluster of [`Workshop::with_cluster`], where `default/new` fits one node.
const CLUSTER: [&str; 4] = ["why", "new", "--cluster", "cluster.json"];

fn with<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [CLUSTER.as_slice(), arguments].concat()
}

fn planted() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/why");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut planted: Vec<(String, String)> = files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    planted.sort();
    planted
}

/// Each file says in its comments what the first screen has to say, besides the message, which is kube-scheduler's own.
#[test]
fn the_first_screen_names_the_planted_cause() {
    let planted = planted();
    assert_eq!(planted.len(), 12);
    for (name, text) in planted {
        let workshop = new_workshop();
        workshop.write(&name, &text);
        let screen = workshop.answer(&["why", "web", "-n", "shop", "--cluster", &name]);
        assert!(screen.lines().count() <= SCREEN, "{name}: {screen}");
        let screen: Vec<&str> = screen.lines().filter(|line| !line.starts_with("message ")).collect();
        let screen = screen.join("\n");
        let said = text.lines().filter_map(|line| line.strip_prefix("# says: "));
        for said in said {
            assert!(screen.contains(said), "{name}: {said:?} is not in\n{screen}");
        }
    }
}

/// Every edit that `why` proposes is applied to the file, which then has as many nodes more that fit.
#[test]
fn what_would_help_helps_in_the_file_too() {
    let mut tried = Vec::new();
    for (name, text) in planted() {
        let workshop = new_workshop();
        workshop.write(&name, &text);
        let why = |more: &[&str]| -> Value {
            let arguments = [&["why", "web", "-n", "shop", "-o", "json", "--cluster", &name], more].concat();
            serde_json::from_str(&workshop.answer(&arguments)).unwrap()
        };
        let before = why(&[]);
        for edit in before["help"].as_array().unwrap() {
            let after = why(&["--try", edit["edit"].as_str().unwrap()]);
            assert_eq!(after["feasibleCount"], edit["feasibleCount"], "{name}: {edit}");
            tried.push(edit["edit"].as_str().unwrap().to_owned());
        }
    }
    // Of the pod, and of nodes.
    for expected in ["drop=affinity", "cpu=4000m", "uncordon=n1", "node+=n0*1"] {
        assert!(tried.iter().any(|edit| edit == expected), "{expected}: {tried:?}");
    }
}

#[test]
fn a_host_port_in_use_is_told_with_the_pods_that_have_it() {
    let planted = planted();
    let (name, text) = planted.iter().find(|(name, _)| name == "host-port.yaml").unwrap();
    let workshop = new_workshop();
    workshop.write(name, text);
    let told = |more: &[&str]| -> Value {
        let arguments = [&["why", "web", "-n", "shop", "-o", "json", "--cluster", name], more].concat();
        let answer: Value = serde_json::from_str(&workshop.answer(&arguments)).unwrap();
        let evidence = answer["evidence"].as_array().unwrap();
        let of_ports = evidence.iter().find(|of| of["interface"] == "node-ports").unwrap();
        of_ports["facts"][0].clone()
    };
    let of_both = told(&[]);
    assert_eq!(of_both["value"], "0.0.0.0:8080/TCP, held by shop/old-0, shop/old-1", "{of_both}");
    // A pod that is supposed to be gone holds nothing.
    let of_one = told(&["--try", "without=shop/old-0"]);
    assert_eq!((&of_one["value"], &of_one["nodes"]), (&"0.0.0.0:8080/TCP, held by shop/old-1".into(), &1.into()));
}

#[test]
fn formats_are_of_one_answer() {
    let workshop = new_workshop().with_cluster();
    let json: Value = serde_json::from_str(&workshop.answer(&with(&["-o", "json"]))).unwrap();
    assert_eq!((&json["pod"], &json["nodes"], &json["feasibleCount"]), (&"default/new".into(), &3.into(), &1.into()));
    let line = workshop.answer(&with(&["-o", "jsonl"]));
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["funnel"], json["funnel"]);
    assert_eq!(line.lines().count(), 1);
    let yaml = workshop.answer(&with(&["-o", "yaml"]));
    assert!(yaml.contains("pod: default/new"), "{yaml}");
    let markdown = workshop.answer(&with(&["-o", "markdown"]));
    assert!(
        markdown.starts_with("### `default/new  Fits") && markdown.contains("| `TaintToleration` | 1 |"),
        "{markdown}"
    );
    let text = workshop.answer(&CLUSTER);
    assert!(
        text.contains("  3 nodes\n") && text.contains("dedicated=db:NoSchedule 1") && text.contains("=1  n0"),
        "{text}"
    );
    let wide = workshop.answer(&with(&["-o", "wide"]));
    assert!(wide.contains("only reason") && wide.len() > text.len(), "{wide}");
}

#[test]
fn one_node_shows_all_that_is_known_of_it() {
    let workshop = new_workshop().with_cluster();
    let text = workshop.answer(&with(&["--node", "n2"]));
    assert!(text.contains("  1 node\n") && text.contains("n2 lacks 0.5 cpu"), "{text}");
    workshop.fails_naming(DATA, &with(&["--node", "n9"]), &["n9"]);
    workshop.fails_naming(DATA, &["why", "n2", "--cluster", "cluster.json"], &["n2", "--node n2"]);
    workshop.write(
        "long.json",
        std::fs::read_to_string(workshop.path("cluster.json")).unwrap().replace("\"n2\"", "\"node-2\""),
    );
    let long = ["why", "new", "--cluster", "long.json"];
    let near = "nodes with a name like it: node-2";
    workshop.fails_naming(DATA, &[&long[..], &["--node", "ndoe-2"]].concat(), &["ndoe-2", near]);
    workshop.fails_naming(DATA, &[&long[..], &["--try", "uncordon=ndoe-2"]].concat(), &["uncordon=ndoe-2", near]);
}

#[test]
fn nodes_are_grouped_by_a_label() {
    let workshop = new_workshop().with_cluster();
    let text = workshop.answer(&with(&["--by", "kubernetes.io/hostname"]));
    let row = text.lines().find(|line| line.trim_start().starts_with("n1 ")).unwrap();
    assert!(row.contains("TaintToleration 1"), "{text}");
}

#[test]
fn edits_show_what_they_change_and_change_nothing() {
    let workshop = new_workshop().with_cluster();
    let before = std::fs::read(workshop.path("cluster.json")).unwrap();
    for (edits, fit) in [
        (&["--try", "tolerate=dedicated=db"][..], "1 → 2 (+1)"),
        (&["--try", "untaint=dedicated", "--try", "cpu=500m"], "1 → 3 (+2)"),
        (&["--try", "without=default/web"], "1 → 2 (+1)"),
        (&["--try", "node+=n0*3"], "1 → 4 (+3)"),
        (&["--try", "node+=n0*2", "--try", "node+=n0*3"], "1 → 6 (+5)"),
        (&["--try", "cpu=64"], "1 → 0 (-1)"),
    ] {
        let text = workshop.answer(&with(edits));
        assert!(text.contains(&format!("nodes fit    {fit}\n")), "{edits:?}: {text}");
    }
    assert_eq!(std::fs::read(workshop.path("cluster.json")).unwrap(), before);
}

#[test]
fn manifests_of_workloads_are_explained_before_they_are_created() {
    let workshop = new_workshop().with_cluster();
    workshop.write(
        "deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: big}\nspec:\n  selector: {matchLabels: {app: big}}\n  \
         template:\n    metadata: {labels: {app: big}}\n    spec:\n      containers: [{name: main, resources: {requests: {cpu: '16'}}}]\n",
    );
    let ask = ["why", "-f", "deployment.yaml", "--cluster", "cluster.json"];
    let text = workshop.answer(&ask);
    assert!(text.contains("wants 16 cpu") && text.contains("=0"), "{text}");
    let text = workshop.answer(&[&ask[..], &["--try", "cpu=1"]].concat());
    assert!(text.contains("nodes fit    0 → 1 (+1)"), "{text}");
    // A manifest without a namespace is of the one that -n names.
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: main}]}\n";
    workshop.write("pod.yaml", pod);
    let ask = ["why", "-f", "pod.yaml", "--cluster", "cluster.json"];
    assert!(workshop.answer(&ask).starts_with("default/new  "));
    assert!(workshop.answer(&[&ask[..], &["-n", "shop"]].concat()).starts_with("shop/new  "));
    workshop.write("pod.yaml", pod.replace("name: new", "name: new, namespace: own"));
    workshop.fails_naming(USAGE, &[&ask[..], &["-n", "shop"]].concat(), &["own", "shop"]);
    workshop.write("pod.yaml", format!("{pod}---\n{pod}"));
    workshop.fails_naming(DATA, &ask, &["several documents: give the one with the pod"]);
    workshop.write("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {}\n");
    workshop.fails_naming(DATA, &["why", "-f", "service.yaml", "--cluster", "cluster.json"], &["Service"]);
    workshop.fails_naming(NO_INPUT, &["why", "-f", "nowhere.yaml", "--cluster", "cluster.json"], &["nowhere.yaml"]);
    workshop.write("large.yaml", vec![b'#'; (512 << 10) + 1]);
    workshop.fails_naming(DATA, &["why", "-f", "large.yaml", "--cluster", "cluster.json"], &["512 KiB"]);
}

#[test]
fn pods_are_named_selected_or_all() {
    let workshop = new_workshop().with_cluster();
    for pod in ["new", "pod/new", "default/new"] {
        assert!(workshop.answer(&["why", pod, "--cluster", "cluster.json"]).starts_with("default/new  Fits"), "{pod}");
    }
    for pods in [&["-A"][..], &["-n", "default"], &["-l", "!app"]] {
        let text = workshop.answer(&[&["why", "--cluster", "cluster.json"], pods].concat());
        assert!(text.starts_with("default/new  Fits"), "{pods:?}: {text}");
    }
    for none in [&["-l", "app=web"][..], &["-n", "other"]] {
        let output = workshop.run(&[&["why", "--cluster", "cluster.json"], none].concat());
        assert_eq!((output.code, &*output.stdout), (Some(0), ""), "{none:?}");
        assert!(output.stderr.contains("no pod is pending there"), "{}", output.stderr);
    }
    // A node that is not there is no reason to say nothing.
    for pods in [&["-A"][..], &["-n", "default"], &["-l", "!app"]] {
        let arguments = [&["why", "--cluster", "cluster.json", "--node", "n9", "--exit-code"], pods].concat();
        workshop.fails_naming(DATA, &arguments, &["n9"]);
    }
    let json: Value =
        serde_json::from_str(&workshop.answer(&["why", "-A", "-o", "json", "--cluster", "cluster.json"])).unwrap();
    assert_eq!(json[0]["pod"], "default/new");
}

#[test]
fn the_exit_code_says_whether_a_node_fits_where_it_is_asked_for() {
    let workshop = new_workshop().with_cluster();
    assert_eq!(workshop.run(&with(&["--exit-code"])).code, Some(0));
    let tried = workshop.run(&with(&["--exit-code", "--try", "cpu=64"]));
    assert_eq!(tried.code, Some(NO_NODE), "{}", tried.stderr);
    assert!(tried.stdout.contains("NeverFits") || tried.stdout.contains("NoRoom"), "{}", tried.stdout);
    assert_eq!(workshop.run(&with(&["--try", "cpu=64"])).code, Some(0));
}

#[test]
fn a_predicate_that_is_left_out_is_repeated() {
    let workshop = new_workshop().with_cluster();
    let text = workshop.answer(&with(&["--skip", "TaintToleration"]));
    assert!(text.contains("without      TaintToleration: not evaluated") && text.contains("=2  n0, n1"), "{text}");
    workshop.fails_naming(DATA, &with(&["--skip", "Nobody"]), &["Nobody"]);
    for command in [&["why", "-A", "-o", "json"][..], &["why", "-A", "-o", "jsonl"], &["top", "pending"]] {
        let output = workshop.run(&[command, &["--cluster", "cluster.json", "--skip", "TaintToleration"]].concat());
        assert_eq!(output.code, Some(0), "{command:?}: {}", output.stderr);
        assert!(output.stderr.contains("without TaintToleration: not evaluated"), "{command:?}: {}", output.stderr);
    }
    // A line a pod has no room for it.
    let mut cluster = nodesift_tests::workshop::three_nodes();
    let items = cluster["items"].as_array_mut().unwrap();
    let mut second = items.iter().find(|item| item["metadata"]["name"] == "new").unwrap().clone();
    second["metadata"]["name"] = "newer".into();
    second["metadata"]["uid"] = "uid-newer".into();
    items.push(second);
    workshop.write("two.json", cluster.to_string());
    let lines = workshop.run(&["why", "-A", "--cluster", "two.json", "--skip", "TaintToleration"]);
    assert_eq!(lines.stdout.lines().count(), 2, "{}", lines.stdout);
    assert!(lines.stderr.contains("without TaintToleration: not evaluated"), "{}", lines.stderr);
    let filtered = workshop.answer(&["filter", "--cluster", "cluster.json", "--skip", "TaintToleration"]);
    assert!(filtered.contains("without TaintToleration") && filtered.contains("2 of 3"), "{filtered}");
}

#[test]
fn what_is_wrong_is_named() {
    let workshop = new_workshop().with_cluster();
    for (code, arguments, named) in [
        (DATA, &["why", "nwe", "--cluster", "cluster.json"][..], &["default/nwe", "default/new"][..]),
        (
            DATA,
            &["why", "web", "--cluster", "cluster.json"],
            &["default/web", "n2", "explain --pod default/web", "why -f"],
        ),
        (USAGE, &["why", "--cluster", "cluster.json"], &["-A", "-l SELECTOR", "-f FILE"]),
        (USAGE, &["why", "a/b/c", "--cluster", "cluster.json"], &["a/b/c", "NAMESPACE/NAME"]),
        (USAGE, &["why", "-A", "--try", "cpu=1", "--cluster", "cluster.json"], &["--try"]),
        (USAGE, &["why", "-A", "-n", "default", "--cluster", "cluster.json"], &["--all-namespaces", "--namespace"]),
        (
            USAGE,
            &["why", "-n", "default", "-A", "-l", "a", "--cluster", "cluster.json"],
            &["--all-namespaces", "--namespace"],
        ),
        (USAGE, &["why", "-l", "a in (b)", "--cluster", "cluster.json"], &["KEY=VALUE"]),
        (USAGE, &["why", "new", "--watch", "--cluster", "cluster.json"], &["--watch"]),
        (USAGE, &["why", "new", "--timeout", "1s", "--cluster", "cluster.json"], &["--timeout", "--cluster"]),
        (USAGE, &["why", "new", "--timeout", "1s", "--server", "http://127.0.0.1:1"], &["--watch"]),
        (NO_INPUT, &["why", "new", "--cluster", "nowhere.json"], &["nowhere.json"]),
    ] {
        workshop.fails_naming(code, arguments, named);
    }
    for (code, edit, named) in [
        (USAGE, "cpu=-1", "at least 0"),
        (USAGE, "cpus=1", "no resource"),
        (DATA, "cpu=1x", "requests.cpu"),
        (DATA, "uncordon=n9", "Node n9 is not there"),
        (DATA, "drop=affinity", "the pod has no affinity"),
        (DATA, "untaint=nothing", "no node has such a taint"),
    ] {
        workshop.fails_naming(code, &with(&["--try", edit]), &[named]);
    }
}

#[test]
fn a_source_that_is_typed_wins_over_the_environment_and_two_are_refused() {
    let workshop = new_workshop().with_cluster();
    let command = sidecar::command(Path::new(BINARY), Path::new(CACHE));
    let sidecar = Sidecar::start(command, &["--cluster", workshop.path("cluster.json").to_str().unwrap()]);
    let socket = sidecar.socket.to_str().unwrap();
    let server = format!("unix:{socket}");
    // The environment names a sidecar that is not there.
    let asked =
        |arguments: &[&str]| sidecar::run(workshop.command(arguments).env("NODESIFT_SERVER", "unix:/proc/none/s.sock"));
    for command in [&["why", "default/new"][..], &["top", "nodes"], &["top", "predicates"], &["policy", "status"]] {
        let of_environment = asked(command);
        assert_eq!(of_environment.code, Some(UNAVAILABLE), "{command:?}: {}", of_environment.stderr);
        assert!(of_environment.stderr.contains("/proc/none/s.sock"), "{command:?}: {}", of_environment.stderr);
        for typed in [["--socket", socket], ["--server", &server]] {
            let answered = asked(&[command, &typed].concat());
            assert_eq!(answered.code, Some(0), "{command:?} {typed:?}: {}", answered.stderr);
        }
        let wrong = sidecar::run(workshop.command(command).env("NODESIFT_SERVER", "https://h:1"));
        assert_eq!(wrong.code, Some(USAGE), "{command:?}: {}", wrong.stderr);
        assert!(wrong.stderr.contains("$NODESIFT_SERVER \"https://h:1\""), "{command:?}: {}", wrong.stderr);
        let two = [command, &["--socket", socket, "--server", &server]].concat();
        workshop.fails_naming(USAGE, &two, &["--socket", "--server"]);
    }
    let files = asked(&["why", "new", "--cluster", "cluster.json"]);
    assert_eq!(files.code, Some(0), "{}", files.stderr);
    // A socket that is named is not passed over, whatever is wrong with it.
    let nowhere = ["why", "default/new", "--socket", "/proc/none/s.sock"];
    workshop.fails_naming(UNAVAILABLE, &nowhere, &["/proc/none/s.sock"]);
    let policy = ["why", "default/new", "--socket", socket, "--predicates", "NodeName"];
    workshop.fails_naming(USAGE, &policy, &["by its own policy"]);
    for cluster in [&["--cluster", "cluster.json"][..], &["--kube"], &["--context", "c"]] {
        for typed in [["--socket", socket], ["--server", &server]] {
            let two = [&["why", "default/new"][..], cluster, &typed].concat();
            workshop.fails_naming(USAGE, &two, &[cluster[0], typed[0]]);
        }
    }
    workshop.fails_naming(USAGE, &["ui", "--local", "--socket", socket], &["--local", "--socket"]);
}

#[test]
fn a_bound_pod_is_proposed_with_its_node_where_the_cluster_is_in_files() {
    let workshop = new_workshop().with_cluster();
    let command = sidecar::command(Path::new(BINARY), Path::new(CACHE));
    let sidecar = Sidecar::start(command, &["--cluster", workshop.path("cluster.json").to_str().unwrap()]);
    let server = format!("unix:{}", sidecar.socket.to_str().unwrap());
    let near = "pods with a name like it: default/web (on node n2)";
    let questions = [
        &["why", "default/wbe"][..],
        &["why", "web", "-n", "other"],
        &["filter", "--pod", "wbe"],
        &["explain", "--pod", "other/web"],
    ];
    for question in questions {
        workshop.fails_naming(DATA, &[question, &["--cluster", "cluster.json"]].concat(), &[near]);
        // A name that was mistyped is not worth the whole state of a sidecar.
        let said = workshop.failure(DATA, &[question, &["--server", &server]].concat());
        assert!(!said.contains("default/web (on"), "{said}");
    }
    for source in [["--cluster", "cluster.json"], ["--server", &server]] {
        let bound = ["default/web is on node \"n2\"", "explain --pod default/web"];
        workshop.fails_naming(DATA, &[&["why", "default/web"], &source[..]].concat(), &bound);
    }
}

#[test]
fn top_predicates_tells_what_a_sidecar_has_spent() {
    let workshop = new_workshop().with_cluster();
    let command = sidecar::command(Path::new(BINARY), Path::new(CACHE));
    let sidecar = Sidecar::start(command, &["--cluster", workshop.path("cluster.json").to_str().unwrap()]);
    let socket = sidecar.socket.to_str().unwrap();
    workshop.answer(&["filter", "--pod", "default/new", "--server", &format!("unix:{socket}")]);
    let top = ["top", "predicates", "--socket", socket];
    let costs: Value = serde_json::from_str(&workshop.answer(&[&top[..], &["-o", "json"]].concat())).unwrap();
    let costs = costs.as_array().unwrap();
    let seconds: Vec<f64> = costs.iter().map(|cost| cost["seconds"].as_f64().unwrap()).collect();
    assert!(seconds.is_sorted_by(|a, b| a >= b) && seconds[0] > 0.0, "{costs:?}");
    let fit = costs.iter().find(|cost| cost["predicate"] == "NodeResourcesFit").unwrap();
    assert!(fit["calls"].as_u64().unwrap() >= 1 && fit["rows"].as_u64().unwrap() >= 1, "{fit}");
    assert!(fit["evaluated"].as_u64().unwrap() >= 1, "{fit}");
    let text = workshop.answer(&top);
    assert!(text.contains("NodeResourcesFit") && text.contains("nodes a call"), "{text}");
}

#[test]
fn hostile_names_reach_a_terminal_escaped_and_json_as_they_are() {
    let workshop = new_workshop();
    let mut cluster = nodesift_tests::workshop::three_nodes();
    let hostile = "\u{1b}[2J\u{202e}";
    cluster["items"][1]["spec"]["taints"][0]["value"] = hostile.into();
    workshop.write("cluster.json", cluster.to_string());
    let text = workshop.answer(&CLUSTER);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && text.contains("\\u{1b}[2J\\u{202e}"), "{text}");
    let json = workshop.answer(&with(&["-o", "json"]));
    assert!(serde_json::from_str::<Value>(&json).unwrap().to_string().contains("\\u001b[2J\u{202e}"), "{json}");
}

#[test]
fn pending_pods_are_counted_in_groups() {
    let workshop = new_workshop().with_cluster();
    let top = |by: &str| -> Value {
        let arguments = ["top", "pending", "--cluster", "cluster.json", "-o", "json", "--by", by];
        serde_json::from_str(&workshop.answer(&arguments)).unwrap()
    };
    let causes = top("cause");
    assert_eq!(
        (&causes[0]["key"], &causes[0]["count"], &causes[0]["pods"][0]),
        (&"Fits".into(), &1.into(), &"default/new".into())
    );
    assert_eq!(top("namespace")[0]["key"], "default");
    assert_eq!(top("predicate").as_array().unwrap().len(), 0, "the pod fits a node");
    let none = workshop.answer(&["top", "pending", "--cluster", "cluster.json", "--by", "predicate"]);
    assert_eq!(none, "1 pod is pending, and is in no group by predicate: top pending --by cause\n");
    let text = workshop.answer(&["top", "pending", "--cluster", "cluster.json"]);
    assert!(text.contains("Fits: 1 of 3 nodes fit") && text.contains("default/new"), "{text}");
    workshop.fails_naming(USAGE, &["top", "pending", "--watch", "--cluster", "cluster.json"], &["--watch"]);
}

#[test]
fn top_nodes_adds_up_what_is_free() {
    let workshop = new_workshop().with_cluster();
    let nodes = ["top", "nodes", "--cluster", "cluster.json"];
    let text = workshop.answer(&nodes);
    let of = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("n0"), ["4", "4", "8Gi", "8Gi", "110", "110"], "{text}");
    assert_eq!(of("n2"), ["0.5", "4", "8Gi", "8Gi", "109", "110"], "{text}");
    let grouped = [&nodes[..], &["--by", "kubernetes.io/hostname", "--resource", "cpu", "-o", "json"]].concat();
    let groups: Value = serde_json::from_str(&workshop.answer(&grouped)).unwrap();
    assert_eq!(groups.as_array().unwrap().len(), 3, "{groups}");
    assert_eq!(groups[2]["key"], "n2", "{groups}");
    assert_eq!(groups[2]["resources"][0]["free"], 500, "{groups}");
    workshop.fails_naming(USAGE, &[&nodes[..], &["--by", "a b"]].concat(), &["a b"]);
}

#[test]
fn the_plugin_of_kubectl_speaks_of_itself() {
    let workshop = new_workshop().with_cluster();
    let plugin = workshop.path("kubectl-nodesift");
    std::os::unix::fs::symlink(BINARY, &plugin).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = sidecar::plain(&plugin, Path::new(CACHE));
        sidecar::run(command.current_dir(workshop.path("")).args(arguments))
    };
    let help = run(&["why", "--help"]);
    assert!(help.stdout.contains("Usage: kubectl nodesift why"), "{}", help.stdout);
    let wrong = run(&["why", "--cluster", "cluster.json"]);
    assert!(wrong.stderr.starts_with("kubectl nodesift: "), "{}", wrong.stderr);
    let script = run(&["completion", "kubectl"]);
    assert!(
        script.stdout.starts_with("#!/bin/sh\n") && script.stdout.contains("exec kubectl-nodesift __complete \"$@\"")
    );
    let completed = run(&["__complete", "wh"]);
    assert!(completed.stdout.starts_with("why\t") && completed.stdout.ends_with(":4\n"), "{}", completed.stdout);
}
