//! Shared by the tests: a scripted API server, a sidecar that follows it, and objects for it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::http::get;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::oracle::{self, Verdicts};

/// Millicores of a node made by [`node`].
pub(crate) const NODE_MILLICORES: i64 = 16_000;

pub(crate) fn command() -> Command {
    sidecar::command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// Starts a sidecar that follows a server, and waits until it listens.
pub(crate) fn launch(server: &ApiServer, arguments: &[&str]) -> Sidecar {
    let kubeconfig = server.kubeconfig().to_str().unwrap();
    Sidecar::launch(command(), &[&["--kubeconfig", kubeconfig], arguments].concat())
}

/// A server and a sidecar that follows it.
pub(crate) struct World {
    pub(crate) sidecar: Sidecar,
    pub(crate) server: ApiServer,
}

impl World {
    /// A sidecar that has listed all of a server's objects.
    pub(crate) fn new(server: ApiServer) -> Self {
        Self::started(server, &[])
    }

    /// Starts a sidecar like [`Self::new`], with more arguments.
    pub(crate) fn started(server: ApiServer, arguments: &[&str]) -> Self {
        let sidecar = launch(&server, arguments);
        sidecar.wait_until_ready();
        Self { sidecar, server }
    }

    /// Some nodes, and some pods on each.
    pub(crate) fn with(nodes: usize, pods: usize) -> Self {
        let server = ApiServer::start();
        fill(&server, nodes, pods);
        Self::new(server)
    }

    /// Waits until the sidecar's verdicts are as expected. Returns the time that this took.
    pub(crate) fn converges(&self) -> Duration {
        oracle::converges(&self.server, &self.sidecar)
    }

    /// Waits like [`Self::converges`] for the verdicts on these pods.
    pub(crate) fn converges_on(&self, probes: &[Value]) -> Duration {
        oracle::converges_on(&self.server, &self.sidecar, probes)
    }

    /// The sidecar's verdicts on the usual probes.
    pub(crate) fn verdicts(&self) -> Verdicts {
        oracle::asked(&self.sidecar, &oracle::probes()).expect("the sidecar answers")
    }

    /// Ends the open watch of this kind after an event, so that the next one starts at once, and lets the next one meet a
    /// fault.
    pub(crate) fn next_watch_meets(&self, kind: &'static str, fault: Fault) {
        self.is_followed(kind);
        self.server.next(kind, Verb::Watch, fault);
        self.server.end_watches(kind);
    }

    /// Waits until there were `count` requests of this kind and verb.
    pub(crate) fn sees(&self, kind: &'static str, verb: Verb, count: usize) {
        let enough = || self.server.script(|script| script.count(kind, verb) >= count).then_some(());
        timeout::until(enough).unwrap_or_else(|| panic!("no request {count} of {kind} {verb:?}"));
    }

    /// The sum of a metric over all of its series with `labels`; 0 where there is none.
    pub(crate) fn metric(&self, name: &str, labels: &str) -> f64 {
        let answer = get(&self.sidecar.unix(), "/metrics").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        let of_name = answer.body.lines().filter_map(|line| line.strip_prefix(name));
        let of_name = of_name.filter(|rest| rest.starts_with(['{', ' ']) && rest.contains(labels));
        of_name.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Waits until a watch of a kind is open.
    pub(crate) fn is_followed(&self, kind: &'static str) {
        let is_watched = || self.server.is_watched(kind).then_some(());
        timeout::until(is_watched).unwrap_or_else(|| panic!("{kind} is never watched"));
    }

    /// The number of lists of a kind.
    pub(crate) fn lists(&self, kind: &'static str) -> usize {
        self.server.script(|script| script.count(kind, Verb::List(1)))
    }

    /// The number of watches of a kind.
    pub(crate) fn watches(&self, kind: &'static str) -> usize {
        self.server.script(|script| script.count(kind, Verb::Watch))
    }
}

/// Adds nodes to a server, and `pods` pods on each.
pub(crate) fn fill(server: &ApiServer, nodes: usize, pods: usize) {
    server.change(|store| {
        store.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}));
        for number in 0..nodes {
            store.apply(node(number));
        }
        for number in 0..nodes * pods {
            store.apply(pod(&format!("p{number}"), &node_name(number % nodes), 100));
        }
    });
}

pub(crate) fn node_name(number: usize) -> String {
    format!("n{number}")
}

/// A node in one of three zones.
pub(crate) fn node(number: usize) -> Value {
    let name = node_name(number);
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("z{}", number % 3),
            "generation": "1",
        }},
        "spec": {},
        "status": {"allocatable": {
            "cpu": format!("{NODE_MILLICORES}m"), "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi",
        }},
    })
}

/// A pod of the application `app` on a node; pending where `node` is empty.
pub(crate) fn pod(name: &str, node: &str, millicores: i64) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "labels": {"app": "app"}},
        "spec": {"schedulerName": "default-scheduler", "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": format!("{millicores}m"), "memory": "64Mi"}}},
        ]},
        "status": {"phase": "Pending"},
    });
    if !node.is_empty() {
        pod["spec"]["nodeName"] = json!(node);
        pod["status"]["phase"] = json!("Running");
    }
    pod
}
