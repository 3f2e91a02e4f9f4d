//! The cases of `cases.yaml` as a unit test, without the sandbox. `nodesift-dev` reads the file, and compares what was found with what the
//! case expects, so that a case means the same as in `nodesift-dev module test`. Start at [`check_cases`].

use std::any::Any;
use std::env;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use super::cluster::Cluster;
use super::lines::take_lines;
use super::node::Node;
use super::pod::Pod;
use crate::columns::node_conditions;
use crate::columns::node_info::Field;
use crate::columns::node_taints::Effect;
use crate::columns::pod_owner::Owner;
use crate::columns::pod_tolerations::Operator;
use crate::log::Level;
use crate::predicate::{Predicate, configure};
use crate::verdict::{Failure, Status};

/// Variable that names the program that reads cases, where it is not the `nodesift-dev` of the `PATH`.
const PROGRAM: &str = "NODESIFT_DEV";

/// Runs every case of a file. A case that needs the sandbox, or facts that a [`Cluster`] of cases does not have, is printed with the
/// reason, and not run.
///
/// # Panics
///
/// Where a case fails, with the text of all that fail; where the file cannot be read, or `nodesift-dev` does not run.
#[allow(clippy::panic, reason = "fails the author's test")]
pub fn check_cases<P: Predicate>(file: &str) {
    let failures = match failures::<P>(file) {
        Ok(failures) => failures,
        Err(error) => panic!("{error}"),
    };
    assert!(failures.is_empty(), "\n{}", failures.concat());
}

/// The texts of the cases that fail.
fn failures<P: Predicate>(file: &str) -> Result<Vec<String>, String> {
    let document = asked(file, &[], &[])?;
    let mut found = Vec::new();
    for case in list(&document["cases"]) {
        match case["skip"].as_str() {
            Some(why) => note(&format!("not run: {}: {why}", text(&case["name"]))),
            None => found.push(answer::<P>(case)),
        }
    }
    let answers = Value::Array(found).to_string();
    let document = asked(file, &["--answers", "-"], answers.as_bytes())?;
    Ok(list(&document["cases"]).iter().filter_map(|case| case["failure"].as_str()).map(str::to_owned).collect())
}

#[allow(clippy::print_stdout, reason = "the output of a test")]
fn note(line: &str) {
    println!("{line}");
}

/// Runs `nodesift-dev module cases` on a file, and reads the JSON that it prints.
fn asked(file: &str, options: &[&str], input: &[u8]) -> Result<Value, String> {
    let program = env::var(PROGRAM).unwrap_or_else(|_| "nodesift-dev".to_owned());
    let failed = |error: std::io::Error| format!("{program} does not run, which reads {file}: {error}");
    let mut command = Command::new(&program);
    command.args(["module", "cases", file]).args(options);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // It reads all of it before it prints. One that does not read it says why, and its end of the pipe is closed.
        let _refused_is_said = stdin.write_all(input);
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{program} module cases {file}: {error}"))
}

/// Finding for a case, as `nodesift-dev module cases --answers` reads it.
fn answer<P: Predicate>(case: &Value) -> Value {
    let name = &case["name"];
    let predicate = match configure::<P>(&case["args"].to_string()) {
        Ok(predicate) => predicate,
        Err(refused) => return json!({"name": name, "refused": refused}),
    };
    let cluster = cluster(&case["cluster"]);
    let _of_cases_before = take_lines();
    // As `module test`, which asks about all nodes at once; `module check` asks about each alone.
    let nodes: Vec<usize> = (0..cluster.nodes.len()).collect();
    let failures = match catch_unwind(AssertUnwindSafe(|| cluster.evaluate(nodes, &predicate).0)) {
        Ok(failures) => failures,
        Err(thrown) => return json!({"name": name, "fault": thrown_text(&*thrown)}),
    };
    let mut rejected = Map::new();
    for (node, failure) in cluster.nodes.iter().zip(failures) {
        if let Some(Failure { status, reasons }) = failure {
            rejected.insert(node.name.clone(), json!({"code": code(status), "reasons": reasons}));
        }
    }
    let log: Vec<Value> =
        take_lines().into_iter().map(|(level, text)| json!({"level": level_name(level), "text": text})).collect();
    json!({"name": name, "rejected": rejected, "log": log})
}

fn thrown_text(thrown: &(dyn Any + Send)) -> String {
    let text = thrown.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| thrown.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text").to_owned()
}

/// kube-scheduler's name of a status code.
fn code(status: Status) -> &'static str {
    match status {
        Status::Unschedulable => "Unschedulable",
        Status::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        Status::Error => "Error",
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Keys and texts of a map.
fn texts(value: &Value) -> impl Iterator<Item = (&str, &str)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), text(value)))
}

/// Keys and numbers of a map.
fn numbers(value: &Value) -> impl Iterator<Item = (&str, i64)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_i64().unwrap_or_default()))
}

fn cluster(given: &Value) -> Cluster {
    let asked = pod(&given["pod"]);
    let ports = |pod: &Value| -> Vec<i64> { list(&pod["hostPorts"]).iter().filter_map(Value::as_i64).collect() };
    let wanted = ports(&given["pod"]);
    let own: Vec<&str> = list(&given["schedulerNames"]).iter().map(text).collect();
    let mut cluster = Cluster::new(asked).at(given["now"].as_i64().unwrap_or_default());
    for node in list(&given["nodes"]) {
        let name = text(&node["name"]);
        let on: Vec<&Value> = list(&given["pods"]).iter().filter(|pod| text(&pod["nodeName"]) == name).collect();
        let is_foreign = |pod: &&Value| !own.contains(&text(&pod["schedulerName"]));
        let foreign: Vec<&Value> = on.iter().copied().filter(is_foreign).collect();
        let limit = node["podLimit"].as_i64().unwrap_or_default();
        let mut made = self::node(node).pods(limit, count(&on)).foreign_pods(count(&foreign));
        for (resource, amount) in numbers(&node["allocatable"]) {
            made = made.resource(resource, amount, 0);
        }
        for (resource, amount) in on.iter().flat_map(|pod| numbers(&pod["requests"])) {
            *made.requested.entry(resource.to_owned()).or_default() += amount;
        }
        for (resource, amount) in foreign.iter().flat_map(|pod| numbers(&pod["requests"])) {
            *made.foreign.entry(resource.to_owned()).or_default() += amount;
        }
        for running in on {
            if ports(running).iter().any(|port| wanted.contains(port)) {
                made = made.port_taken();
            }
            made = made.running(pod(running));
        }
        cluster = cluster.node(made);
    }
    for (name, labels) in given["namespaces"].as_object().into_iter().flatten() {
        cluster = cluster.namespace(name, &texts(labels).collect::<Vec<_>>());
    }
    for (name, entries) in given["configMaps"].as_object().into_iter().flatten() {
        for (key, value) in texts(entries) {
            cluster = cluster.config_entry(name, key, value);
        }
    }
    for resource in list(&given["deviceClassResources"]) {
        cluster = cluster.device_class(text(resource));
    }
    cluster
}

fn count(pods: &[&Value]) -> i64 {
    i64::try_from(pods.len()).unwrap_or(i64::MAX)
}

fn pod(given: &Value) -> Pod {
    let uid = format!("{}/{}", text(&given["namespace"]), text(&given["name"]));
    let mut pod = Pod::new(text(&given["namespace"])).identity(text(&given["name"]), &uid);
    pod = pod.scheduler_name(text(&given["schedulerName"]));
    for (key, value) in texts(&given["labels"]) {
        pod = pod.label(key, value);
    }
    for (key, value) in texts(&given["annotations"]) {
        pod = pod.annotation(key, value);
    }
    for (key, value) in texts(&given["nodeSelector"]) {
        pod = pod.node_selector(key, value);
    }
    for toleration in list(&given["tolerations"]) {
        let operator = match text(&toleration["operator"]) {
            "Equal" => Operator::Equal,
            "Exists" => Operator::Exists,
            _ => Operator::Other,
        };
        let about = toleration["effect"].as_str().map(effect);
        pod = pod.toleration(text(&toleration["key"]), operator, text(&toleration["value"]), about);
    }
    for (resource, amount) in numbers(&given["requests"]) {
        pod = pod.request(resource, amount);
    }
    for image in list(&given["images"]) {
        pod = pod.image(text(image));
    }
    if let Some(name) = given["nodeName"].as_str() {
        pod = pod.node_name(name);
    }
    pod.priority = given["priority"].as_i64().and_then(|priority| i32::try_from(priority).ok()).unwrap_or_default();
    let named = |field: &str| given[field].as_str().map(str::to_owned);
    pod.priority_class = named("priorityClass");
    pod.service_account = named("serviceAccount");
    pod.runtime_class = named("runtimeClass");
    pod.host_network = given["hostNetwork"].as_bool().unwrap_or_default();
    pod.terminating = given["terminating"].as_bool().unwrap_or_default();
    pod.host_port = !list(&given["hostPorts"]).is_empty();
    let controller = &given["controller"];
    if controller.is_object() {
        let part = |field: &str| text(&controller[field]).to_owned();
        let owner = Owner { api_version: part("apiVersion"), kind: part("kind"), name: part("name") };
        let default = format!("{}/{}/{}", text(&given["namespace"]), owner.kind, owner.name);
        let uid = controller["uid"].as_str().unwrap_or(&default);
        pod = pod.controller(owner, uid);
    }
    pod
}

/// A node without the pods on it.
fn node(given: &Value) -> Node {
    let mut node = Node::new(text(&given["name"]));
    node.unschedulable = given["unschedulable"].as_bool().unwrap_or_default();
    for (key, value) in texts(&given["labels"]) {
        node = node.label(key, value);
    }
    for (key, value) in texts(&given["annotations"]) {
        node = node.annotation(key, value);
    }
    for taint in list(&given["taints"]) {
        node = node.taint(text(&taint["key"]), text(&taint["value"]), effect(text(&taint["effect"])));
    }
    for (kind, status) in texts(&given["conditions"]) {
        let status = match status {
            "True" => node_conditions::TRUE,
            "False" => node_conditions::FALSE,
            _ => node_conditions::UNKNOWN,
        };
        node = node.condition(kind, status);
    }
    for (name, said) in texts(&given["info"]) {
        if let Some(field) = field(name) {
            node = node.info(field, said);
        }
    }
    for image in list(&given["images"]) {
        node = node.image(text(image));
    }
    for (name, sum) in numbers(&given["sums"]) {
        node = node.sum(name, sum);
    }
    match given["created"].as_i64() {
        Some(seconds) => node.created(seconds),
        None => node,
    }
}

fn effect(name: &str) -> Effect {
    match name {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Other,
    }
}

fn field(name: &str) -> Option<Field> {
    Some(match name {
        "kubelet-version" => Field::KubeletVersion,
        "kernel-version" => Field::KernelVersion,
        "container-runtime-version" => Field::ContainerRuntimeVersion,
        "os-image" => Field::OsImage,
        "operating-system" => Field::OperatingSystem,
        "architecture" => Field::Architecture,
        "provider-id" => Field::ProviderId,
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::columns::{node_labels, node_ports, node_resources, pod_labels, pod_owner};
    use crate::{Verdict, log, rows};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Args {
        label: String,
    }

    /// Keeps pods to the nodes of their team, and writes what it reads.
    #[derive(Debug)]
    struct Team(Args);

    impl Predicate for Team {
        const NAME: &'static str = "Team";
        const SUMMARY: &'static str = "tests";
        type Args = Args;

        fn new(args: Args) -> Result<Self, String> {
            Ok(Self(args))
        }

        fn filter(&self, _: usize) -> Verdict {
            let Some(team) = pod_labels::label(&self.0.label) else { panic!("no team") };
            let (requested, foreign) = (node_resources::requested("cpu"), node_resources::foreign("cpu"));
            let (pods, conflicts) = (node_resources::pods(), node_ports::conflicts());
            log::info(&format!("{requested:?} {foreign:?} {pods:?} {conflicts:?} {:?}", pod_owner::controller_uid()));
            let own = rows::label_in(&self.0.label, &[team.as_str()]);
            own.not().reject(&Failure::unresolvable("another team"));
            assert_eq!(node_labels::column("none").len(), 2);
            Verdict::FitsAll
        }
    }

    fn case(args: &Value, pod: &Value) -> Value {
        let on = |node: &str, cpu: i64, scheduler: &str| json!({"name": "on", "namespace": "default", "nodeName": node, "requests": {"cpu": cpu}, "schedulerName": scheduler, "hostPorts": [80]});
        json!({"name": "c", "line": 1, "args": args, "cluster": {
            "pod": pod,
            "nodes": [
                {"name": "red", "labels": {"team": "red"}, "allocatable": {"cpu": 4000}, "podLimit": 110},
                {"name": "blue", "labels": {"team": "blue"}, "podLimit": 110, "conditions": {"Ready": "True"}, "created": 5},
            ],
            "pods": [on("red", 500, "default-scheduler"), on("red", 1000, "other")],
            "namespaces": {"default": {"a": "b"}}, "configMaps": {"a/b": {"k": "v"}}, "deviceClassResources": [],
            "schedulerNames": ["default-scheduler"], "now": 1,
        }})
    }

    #[test]
    fn a_case_has_the_rejected_nodes_and_the_lines_that_were_written() {
        let controller = json!({"apiVersion": "v1", "kind": "Job", "name": "j"});
        let pod = json!({"name": "p", "namespace": "default", "labels": {"team": "red"}, "hostPorts": [80], "controller": controller});
        let found = answer::<Team>(&case(&json!({"label": "team"}), &pod));
        let rejected = json!({"blue": {"code": "UnschedulableAndUnresolvable", "reasons": ["another team"]}});
        let text = r#"[1500, 0] [1000, 0] [2, 0] Some([1, 0]) Some("default/Job/j")"#;
        assert_eq!(found, json!({"name": "c", "rejected": rejected, "log": [{"level": "info", "text": text}]}));
    }

    #[test]
    fn a_refusal_and_a_panic_are_what_a_case_has_found() {
        let pod = json!({"name": "p", "namespace": "default"});
        let found = answer::<Team>(&case(&json!({"lable": "team"}), &pod));
        let refused = "lable: unknown field `lable`, expected `label`";
        assert_eq!(found, json!({"name": "c", "refused": refused}));
        let found = answer::<Team>(&case(&json!({"label": "team"}), &pod));
        assert_eq!(found, json!({"name": "c", "fault": "no team"}));
    }

    #[test]
    fn a_program_that_does_not_run_is_named_with_the_file() {
        let error = failures::<Team>("none/cases.yaml").unwrap_err();
        assert!(error.contains("none/cases.yaml"), "{error}");
    }
}
