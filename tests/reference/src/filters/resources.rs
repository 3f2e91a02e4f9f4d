//! NodePorts and NodeResourcesFit: host ports and resources that the pods on a node leave free.

use nodesift_fixtures::Cluster;
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::outcome::{Code, Failure, Outcome};
use crate::requests::{HostPort, asked_by, given_by, host_ports, served_by_device_classes, taken_under};

pub(super) fn ports(cluster: &Cluster, pod: &Value) -> Outcome {
    let wanted = host_ports(pod);
    Outcome::each_node(cluster.nodes(), |node| {
        let used: Vec<HostPort> = cluster.pods_on(node).flat_map(host_ports).collect();
        let conflict = wanted.iter().any(|wanted| used.iter().any(|used| ports_conflict(wanted, used)));
        conflict
            .then(|| Failure::new(Code::Unschedulable, "node(s) didn't have free ports for the requested pod ports"))
    })
}

fn ports_conflict(wanted: &HostPort, used: &HostPort) -> bool {
    let any = |port: &HostPort| port.0 == "0.0.0.0";
    (wanted.1 == used.1 && wanted.2 == used.2) && (any(wanted) || any(used) || wanted.0 == used.0)
}

pub(super) fn fit(cluster: &Cluster, pod: &Value, switches: &Switches) -> Outcome {
    let asked = asked_by(pod);
    let classes = cluster.all("DeviceClass").filter(|_| switches.has("DRAExtendedResource"));
    let served = served_by_device_classes(classes);
    Outcome::each_node(cluster.nodes(), |node| {
        let given = given_by(node);
        let given = |resource: &str| given.get(resource).copied().unwrap_or(0);
        let pods: Vec<_> = cluster.pods_on(node).map(|pod| taken_under(pod, switches)).collect();
        let taken = |resource: &str| {
            pods.iter().filter_map(|pod| pod.get(resource)).fold(0_i64, |sum, amount| sum.wrapping_add(*amount))
        };

        let mut reasons = Vec::new();
        let mut code = Code::Unschedulable;
        if i64::try_from(pods.len()).is_ok_and(|count| count + 1 > given("pods")) {
            reasons.push("Too many pods".to_owned());
        }
        for (resource, amount) in asked.iter().filter(|(resource, _)| *resource != "pods") {
            // kube-scheduler treats negative requests as zero.
            let by_device_class = served.contains(resource) && given(resource) <= 0;
            if *amount <= 0 || by_device_class {
                continue;
            }
            if *amount > given(resource).wrapping_sub(taken(resource)) {
                reasons.push(format!("Insufficient {resource}"));
                if *amount > given(resource) {
                    code = Code::UnschedulableAndUnresolvable;
                }
            }
        }
        reasons.sort();
        (!reasons.is_empty()).then_some(Failure { code, reasons })
    })
}
