//! Synthetic clusters of any size, as objects in JSON: the shape of a busy cloud cluster, the same for the same seed.
//!
//! Twenty labels a node, three zones, racks, pools, a tenth of the nodes tainted, some cordoned, some with GPUs; pods
//! of 500 apps in 20 namespaces, some with a second container, a host port or required anti-affinity. [`PENDING`] are
//! four pods to place, each asking for more than the one before.

use std::fmt::Write as _;

/// What a synthetic cluster looks like.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// How many nodes.
    pub nodes: u32,
    /// How many pods on each node.
    pub pods_per_node: u32,
    /// The same seed gives the same cluster.
    pub seed: u64,
}

/// Apps whose pods run in the cluster.
const APPS: u32 = 500;
/// Namespaces that the apps are spread over.
pub const NAMESPACES: u32 = 20;
/// Parts per thousand of pods with required anti-affinity against their own app, by hostname.
const ANTI_AFFINE_PER_MILLE: u32 = 52;

impl Shape {
    /// The nodes, one v1 Node in JSON each.
    pub fn nodes(self) -> impl Iterator<Item = String> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        (0..self.nodes).map(move |node| node_json(node, &mut random))
    }

    /// The pods, one bound v1 Pod in JSON each, node after node.
    pub fn pods(self) -> impl Iterator<Item = String> {
        let mut random = fastrand::Rng::with_seed(!self.seed);
        let places = (0..self.nodes).flat_map(move |node| (0..self.pods_per_node).map(move |pod| (node, pod)));
        places.map(move |(node, pod)| pod_json(node, pod, &mut random))
    }
}

/// One of the [`NAMESPACES`], as a v1 Namespace in JSON.
pub fn namespace_json(namespace: u32) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"ns-{namespace}","uid":"ns-{namespace}","labels":{{"kubernetes.io/metadata.name":"ns-{namespace}"}}}}}}"#
    )
}

/// The name of a node.
fn node_name(node: u32) -> String {
    format!("ip-10-{}-{}-{}.eu-central-1.compute.internal", node >> 16, (node >> 8) & 0xff, node & 0xff)
}

fn node_json(node: u32, random: &mut fastrand::Rng) -> String {
    let name = node_name(node);
    let zone = ["eu-central-1a", "eu-central-1b", "eu-central-1c"][(node % 3) as usize];
    let machine = pick(random, &["m6i.8xlarge", "m7g.8xlarge", "c6i.8xlarge", "r6i.8xlarge"]);
    let pool = match random.u32(0..100) {
        0..68 => "general",
        68..89 => "batch",
        _ => "db",
    };
    let disk = if random.u32(0..100) < 61 { "ssd" } else { "hdd" };
    let (rack, generation, group) = (random.u32(0..50), random.u32(1..=6), random.u32(0..12));
    let gpus = if random.u32(0..20) == 0 { r#""nvidia.com/gpu":"4","# } else { "" };
    let mut taints = Vec::new();
    if random.u32(0..10) == 0 {
        taints.push(r#"{"key":"dedicated","value":"infra","effect":"NoSchedule"}"#);
    }
    let cordoned = random.u32(0..66) == 0;
    if cordoned {
        taints.push(r#"{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}"#);
    }
    let resources = format!(
        r#"{{"cpu":"31850m","ephemeral-storage":"190Gi","hugepages-1Gi":"0","hugepages-2Mi":"0","memory":"124Gi",{gpus}"pods":"110"}}"#
    );
    let labels = [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/instance-type", machine),
        ("beta.kubernetes.io/os", "linux"),
        ("eks.amazonaws.com/capacityType", "ON_DEMAND"),
        ("eks.amazonaws.com/nodegroup", &format!("ng-{group}")),
        ("example.com/disk", disk),
        ("example.com/generation", &generation.to_string()),
        ("example.com/pool", pool),
        ("example.com/rack", &format!("rack-{rack}")),
        ("failure-domain.beta.kubernetes.io/region", "eu-central-1"),
        ("failure-domain.beta.kubernetes.io/zone", zone),
        ("k8s.io/cloud-provider-aws", "8a8f9d3c1b"),
        ("karpenter.sh/nodepool", pool),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", &name),
        ("kubernetes.io/os", "linux"),
        ("node.kubernetes.io/instance-type", machine),
        ("topology.ebs.csi.aws.com/zone", zone),
        ("topology.kubernetes.io/region", "eu-central-1"),
        ("topology.kubernetes.io/zone", zone),
    ]
    .map(|(key, value)| format!("{key:?}:{value:?}"))
    .join(",");
    format!(
        r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}","uid":"{name}","labels":{{{labels}}}}},"spec":{{"unschedulable":{cordoned},"taints":[{}]}},"status":{{"capacity":{resources},"allocatable":{resources}}}}}"#,
        taints.join(",")
    )
}

fn pod_json(node: u32, pod: u32, random: &mut fastrand::Rng) -> String {
    // Apps differ in size: the smaller of two draws makes low numbers more frequent.
    let app = random.u32(0..APPS).min(random.u32(0..APPS));
    let name = format!("app-{app}-6d4cf56db6-{node}-{pod}");
    let tier = if app.is_multiple_of(5) { "front" } else { "back" };
    let version = random.u32(0..3);
    let port = if pod == 0 && random.bool() { r#""ports":[{"hostPort":9100,"containerPort":9100}],"# } else { "" };
    let mut containers = String::new();
    for container in 0..if random.u32(0..5) == 0 { 2 } else { 1 } {
        let cpu = pick(random, &["100m", "200m", "250m", "500m", "500m", "1"]);
        let memory = pick(random, &["128Mi", "256Mi", "512Mi", "1Gi", "2Gi"]);
        let (comma, port) = if container == 0 { ("", port) } else { (",", "") };
        // Writing to a string cannot fail.
        let _ = write!(
            containers,
            r#"{comma}{{"name":"c{container}","image":"registry.example.com/app-{app}:1.2.3",{port}"resources":{{"requests":{{"cpu":"{cpu}","memory":"{memory}"}}}}}}"#
        );
    }
    let affinity = if random.u32(0..1000) < ANTI_AFFINE_PER_MILLE {
        format!(
            r#""affinity":{{"podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"labelSelector":{{"matchLabels":{{"app":"app-{app}"}}}},"topologyKey":"kubernetes.io/hostname"}}]}}}},"#
        )
    } else {
        String::new()
    };
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"ns-{}","uid":"{name}","labels":{{"app":"app-{app}","pod-template-hash":"6d4cf56db6","tier":"{tier}","version":"v{version}"}}}},"spec":{{{affinity}"containers":[{containers}],"nodeName":"{}","schedulerName":"default-scheduler"}},"status":{{"phase":"Running"}}}}"#,
        app % NAMESPACES,
        node_name(node),
    )
}

fn pick<'a>(random: &mut fastrand::Rng, choices: &[&'a str]) -> &'a str {
    choices.get(random.usize(0..choices.len().max(1))).copied().unwrap_or("")
}

/// Four pods to place: `a` asks for cpu and memory, `b` also for a node selector, required node affinity and has a
/// toleration, `c` also spreads over zones and hosts, `d` also avoids its own app.
pub const PENDING: [(&str, &str); 4] = [
    ("a", include_str!("synthetic/a.json")),
    ("b", include_str!("synthetic/b.json")),
    ("c", include_str!("synthetic/c.json")),
    ("d", include_str!("synthetic/d.json")),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::object::{Node, Pod};

    #[test]
    fn every_object_decodes_and_the_seed_decides_all() {
        let shape = Shape { nodes: 300, pods_per_node: 3, seed: 1 };
        let nodes: Vec<Node> = shape.nodes().map(|json| serde_json::from_str(&json).unwrap()).collect();
        let pods: Vec<Pod> = shape.pods().map(|json| serde_json::from_str(&json).unwrap()).collect();
        assert_eq!((nodes.len(), pods.len()), (300, 900));
        assert!(
            nodes.iter().any(|node| node.spec.unschedulable) && nodes.iter().any(|node| !node.spec.taints.is_empty())
        );
        assert!(shape.pods().eq(shape.pods()));
        assert!(!shape.pods().eq(Shape { seed: 2, ..shape }.pods()));
        for (name, json) in PENDING {
            let pod: Pod = serde_json::from_str(json).unwrap();
            assert_eq!(pod.metadata.name, name);
        }
    }
}
