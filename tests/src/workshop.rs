//! A folder of files, and runs of a program in it. Start at [`Workshop`].

use std::path::PathBuf;
use std::process::Command;

use crate::sidecar::{self, Output};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder for one test, and the program that it runs there.
#[derive(Debug)]
pub struct Workshop {
    folder: TempDir,
    program: fn() -> Command,
}

impl Workshop {
    /// An empty folder, in which what `program` gives is run.
    pub fn new(program: fn() -> Command) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), program }
    }

    /// A folder with the cluster of [`three_nodes`] in `cluster.json`.
    pub fn with_cluster(self) -> Self {
        self.write("cluster.json", three_nodes().to_string());
        self
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// A command that runs the program in the folder, so that messages have the same file names as the arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = (self.program)();
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        sidecar::run(&mut self.command(arguments))
    }

    /// A run that must succeed; its stdout.
    pub fn answer(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code, Some(0), "{arguments:?}: {}", output.stderr);
        output.stdout
    }

    /// A run that must fail with this code and without output on stdout; its stderr.
    pub fn failure(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code, Some(code), "{arguments:?}: {}{}", output.stdout, output.stderr);
        assert_eq!(output.stdout, "", "{arguments:?}: no output on stdout");
        output.stderr
    }

    /// A run that must fail with this code and an error text that contains all of these.
    pub fn fails_naming(&self, code: i32, arguments: &[&str], named: &[&str]) {
        let text = self.failure(code, arguments);
        for name in named {
            assert!(text.contains(name), "{name:?} is not in: {text}");
        }
        assert!(!text.contains("panicked"), "{text}");
    }
}

/// Three nodes: `n1` is tainted and `n2` full. The pod `default/web` is bound to `n2`, `default/new` is pending.
pub fn three_nodes() -> Value {
    let node = |name: &str, taints: Value| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {"taints": taints},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
    };
    let pod = |name: &str, spec: Value| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "default", "name": name, "uid": format!("uid-{name}")}, "spec": spec})
    };
    let requests = |cpu: &str| json!([{"name": "main", "resources": {"requests": {"cpu": cpu}}}]);
    json!({"apiVersion": "v1", "kind": "List", "items": [
        node("n0", json!([])),
        node("n1", json!([{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])),
        node("n2", json!([])),
        pod("web", json!({"nodeName": "n2", "schedulerName": "default-scheduler", "containers": requests("3500m")})),
        pod("new", json!({"schedulerName": "default-scheduler", "containers": requests("1")})),
    ]})
}

/// The parsed lines of `explain -o jsonl`.
pub fn lines(jsonl: &str) -> Vec<Value> {
    jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The names of the predicates in the lines about the first pod, in order.
pub fn predicates(jsonl: &str) -> Vec<String> {
    let lines = lines(jsonl);
    let first = lines.first().unwrap()["pod"].clone();
    let of_first = lines.iter().filter(|line| line["pod"] == first);
    of_first.map(|line| line["predicate"].as_str().unwrap().to_owned()).collect()
}
