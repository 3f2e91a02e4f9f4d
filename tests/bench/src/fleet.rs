//! A fleet of nodes and pods as an API server sends them: defaults filled in, `managedFields`, the kubelets' statuses.
//!
//! Any object can be made on its own from its number, so that a stream of events needs no memory of what came before. Nine
//! tenths of a pod's bytes are such as no predicate reads; [`Fleet::bare`] leaves them out where only memory is measured.

use std::fmt::Write as _;
use std::ops::Range;

/// What a fleet looks like.
#[derive(Debug, Clone, Copy)]
pub struct Fleet {
    /// How many nodes.
    pub nodes: u32,
    /// Pods of a DaemonSet on each node: each names its node in a required affinity, so no two have equal facts.
    pub daemons: u32,
    /// Pods of one ReplicaSet.
    pub replicas: u32,
    /// Whether everything is left out that is not decoded.
    pub bare: bool,
}

/// A pod's life, as far as it shows in its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Created, bound to no node.
    Pending,
    /// Bound, not started.
    Bound,
    /// Running; the count of status updates so far.
    Running(u32),
}

impl Fleet {
    /// The name of a node.
    pub fn node_name(self, node: u32) -> String {
        format!("ip-10-{}-{}-{}.eu-central-1.compute.internal", node >> 16, (node >> 8) & 0xff, node & 0xff)
    }

    /// The namespace of an app's pods.
    pub fn namespace(app: u32) -> String {
        format!("team-{}", app % 40)
    }

    /// Pods that DaemonSets make; pods of lower numbers are these.
    pub fn daemon_pods(self) -> u32 {
        self.nodes * self.daemons
    }

    /// One node, with 20 labels.
    pub fn node(self, node: u32) -> String {
        let name = self.node_name(node);
        let zone = ["eu-central-1a", "eu-central-1b", "eu-central-1c"][(node % 3) as usize];
        let machine = ["m6i.8xlarge", "m7g.8xlarge", "c6i.8xlarge", "r6i.8xlarge"][(mix(node) % 4) as usize];
        let (rack, group) = (mix(node) % 50, mix(node) % 12);
        let resources = r#"{"cpu":"31850m","ephemeral-storage":"190Gi","hugepages-1Gi":"0","hugepages-2Mi":"0","memory":"126976Mi","pods":"110"}"#;
        let mut json = format!(
            r#"{{"metadata":{{"name":"{name}","uid":"{}","resourceVersion":"{}","creationTimestamp":"2026-11-20T04:58:21Z","labels":{{"beta.kubernetes.io/arch":"amd64","beta.kubernetes.io/instance-type":"{machine}","beta.kubernetes.io/os":"linux","eks.amazonaws.com/capacityType":"ON_DEMAND","eks.amazonaws.com/nodegroup":"ng-{group}","example.com/disk":"ssd","example.com/generation":"4","example.com/pool":"general","example.com/rack":"rack-{rack}","failure-domain.beta.kubernetes.io/region":"eu-central-1","failure-domain.beta.kubernetes.io/zone":"{zone}","k8s.io/cloud-provider-aws":"8a8f9d3c1b","karpenter.sh/nodepool":"general","kubernetes.io/arch":"amd64","kubernetes.io/hostname":"{name}","kubernetes.io/os":"linux","node.kubernetes.io/instance-type":"{machine}","topology.ebs.csi.aws.com/zone":"{zone}","topology.kubernetes.io/region":"eu-central-1","topology.kubernetes.io/zone":"{zone}"}}"#,
            uid(u64::from(node) | 1 << 40),
            4_000_000 + node,
        );
        if !self.bare {
            json.push_str(NODE_METADATA);
        }
        let _ = write!(
            json,
            r#"}},"spec":{{"providerID":"aws:///{zone}/i-{node:017x}"}},"status":{{"allocatable":{resources},"capacity":{resources}"#
        );
        if !self.bare {
            json.push_str(NODE_STATUS);
            for image in 0..40 {
                let comma = if image == 0 { "" } else { "," };
                let _ = write!(
                    json,
                    r#"{comma}{{"names":["registry.example.com/app-{image}@sha256:{:064x}","registry.example.com/app-{image}:v4"],"sizeBytes":{}}}"#,
                    mix(image),
                    10_000_000 + image
                );
            }
            json.push(']');
        }
        json.push_str("}}");
        json
    }

    /// One pod. Pods of an equal `number` and different `life` follow each other in one place: another name, another UID.
    pub fn pod(self, number: u32, life: u32, stage: Stage) -> String {
        self.pod_with(number, life, stage, "")
    }

    /// One pod with further labels, each `,"key":"value"`.
    pub fn pod_with(self, number: u32, life: u32, stage: Stage, labels: &str) -> String {
        let is_daemon = number < self.daemon_pods();
        let app = if is_daemon { number % self.daemons.max(1) } else { number / self.replicas.max(1) };
        let node =
            self.node_name(if is_daemon { number / self.daemons.max(1) } else { mix(number) % self.nodes.max(1) });
        let identity = u64::from(number) | u64::from(life) << 32;
        let suffix = suffix(identity);
        let hash = suffix_of(u64::from(mix(app)) << 20, 10);
        let (owner_kind, owner) = if is_daemon {
            ("DaemonSet", format!("daemon-{app}"))
        } else {
            ("ReplicaSet", format!("checkout-service-{app}-{hash}"))
        };
        let namespace = if is_daemon { "kube-system".to_owned() } else { Self::namespace(app) };
        let version = 10_000_000 + u64::from(number) + u64::from(life) * 7;
        let updates = match stage {
            Stage::Running(updates) => 2 + updates,
            Stage::Bound => 1,
            Stage::Pending => 0,
        };
        let mut json = format!(
            r#"{{"metadata":{{"name":"{owner}-{suffix}","generateName":"{owner}-","namespace":"{namespace}","uid":"{}","resourceVersion":"{}","generation":1,"creationTimestamp":"2026-11-20T04:58:21Z","labels":{{"app":"app-{app}","app.kubernetes.io/instance":"checkout-{app}","app.kubernetes.io/name":"checkout","app.kubernetes.io/part-of":"shop","pod-template-hash":"{hash}","version":"v{}"{labels}}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"{owner_kind}","name":"{owner}","uid":"{}","controller":true,"blockOwnerDeletion":true}}]"#,
            uid(identity),
            version + u64::from(updates),
            app % 3,
            uid(u64::from(app) | 1 << 50),
        );
        if !self.bare {
            json.push_str(POD_METADATA);
        }
        json.push_str(r#"},"spec":{"#);
        if !self.bare {
            json.push_str(POD_SPEC);
        }
        if is_daemon {
            let _ = write!(
                json,
                r#""affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{node}"]}}]}}]}}}}}},"#
            );
        }
        let (cpu, memory) = (
            ["100m", "200m", "250m", "500m"][(app % 4) as usize],
            ["128Mi", "256Mi", "512Mi", "1Gi"][(app / 4 % 4) as usize],
        );
        let _ = write!(
            json,
            r#""containers":[{{"name":"app","image":"registry.example.com/app-{app}:1.2.3","resources":{{"limits":{{"memory":"{memory}"}},"requests":{{"cpu":"{cpu}","memory":"{memory}"}}}}"#
        );
        if !self.bare {
            json.push_str(POD_CONTAINER);
        }
        json.push_str(r#"}],"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0"#);
        if stage != Stage::Pending {
            let _ = write!(json, r#","nodeName":"{node}""#);
        }
        let phase = if matches!(stage, Stage::Running(_)) { "Running" } else { "Pending" };
        let _ = write!(json, r#"}},"status":{{"phase":"{phase}","qosClass":"Burstable""#);
        if let (false, Stage::Running(updates)) = (self.bare, stage) {
            json.push_str(POD_CONDITIONS);
            let _ = write!(
                json,
                r#","hostIP":"10.0.0.1","podIP":"10.1.{}.{}","startTime":"2026-11-20T04:58:25Z","containerStatuses":[{{"name":"app","ready":true,"restartCount":{updates},"started":true,"image":"registry.example.com/app-{app}:1.2.3","imageID":"registry.example.com/app-{app}@sha256:{:064x}","containerID":"containerd://{:064x}","lastState":{{}},"state":{{"running":{{"startedAt":"2026-11-20T04:58:27Z"}}}},"allocatedResources":{{"cpu":"{cpu}","memory":"{memory}"}},"resources":{{"limits":{{"memory":"{memory}"}},"requests":{{"cpu":"{cpu}","memory":"{memory}"}}}},"volumeMounts":[{{"name":"kube-api-access-x8k2p","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true,"recursiveReadOnly":"Disabled"}}]}}]"#,
                number >> 8 & 0xff,
                number & 0xff,
                mix(app),
                identity,
            );
        }
        json.push_str("}}");
        json
    }

    /// The pages of a list of nodes, as JSON.
    pub fn node_pages(self, items: u32) -> impl Iterator<Item = Vec<u8>> {
        page_bounds(self.nodes, items).map(move |nodes| page("NodeList", nodes, self.nodes, |node| self.node(node)))
    }

    /// The pages of a list of running pods, as JSON.
    pub fn pod_pages(self, pods: u32, items: u32) -> impl Iterator<Item = Vec<u8>> {
        page_bounds(pods, items).map(move |page| self.pod_page(page, Stage::Running(0)))
    }

    /// One page of a list of pods, as JSON.
    pub fn pod_page(self, pods: Range<u32>, stage: Stage) -> Vec<u8> {
        page("PodList", pods, u32::MAX, |pod| self.pod(pod, 0, stage))
    }
}

fn page_bounds(all: u32, items: u32) -> impl Iterator<Item = Range<u32>> {
    (0..all.div_ceil(items)).map(move |page| page * items..((page + 1) * items).min(all))
}

fn page(kind: &str, numbers: Range<u32>, all: u32, object: impl Fn(u32) -> String) -> Vec<u8> {
    let next = if numbers.end < all { "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTB9" } else { "" };
    let mut json = format!(
        r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"99000000","continue":"{next}"}},"items":["#
    );
    for (at, number) in numbers.enumerate() {
        json.push_str(if at == 0 { "" } else { "," });
        json.push_str(&object(number));
    }
    json.push_str("]}");
    json.into_bytes()
}

/// A number that looks random.
fn mix(number: u32) -> u32 {
    let mixed = u64::from(number).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    u32::try_from((mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40).unwrap_or(0)
}

fn uid(number: u64) -> String {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        mixed >> 32,
        mixed >> 16 & 0xffff,
        mixed & 0xfff,
        number >> 32 & 0xfff,
        number
    )
}

/// Five letters as Kubernetes appends to names, and more where they run out.
fn suffix(number: u64) -> String {
    suffix_of(number, 5)
}

fn suffix_of(number: u64, letters: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rest = number;
    let mut text = String::new();
    while text.len() < letters || rest > 0 {
        text.push(char::from(LETTERS[usize::try_from(rest % LETTERS.len() as u64).unwrap_or(0)]));
        rest /= LETTERS.len() as u64;
    }
    text
}

const POD_METADATA: &str = concat!(
    r#","annotations":{"kubectl.kubernetes.io/restartedAt":"2026-11-19T09:12:44Z","prometheus.io/port":"9090","prometheus.io/scrape":"true"},"#,
    r#""managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-20T04:58:21Z","fieldsType":"FieldsV1","#,
    r#""fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"#,
    r#""f:labels":{".":{},"f:app":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{},"f:pod-template-hash":{},"f:version":{}},"#,
    r#""f:ownerReferences":{".":{},"k:{\"uid\":\"2f1b7c1e-6a8f-4f0e-9d0a-1b2c3d4e5f60\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:env":{".":{},"#,
    r#""k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"POD_NAME\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"#,
    r#""f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"#,
    r#""f:name":{},"f:ports":{".":{},"k:{\"containerPort\":9090,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"#,
    r#""f:resources":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"#,
    r#""f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:serviceAccount":{},"f:serviceAccountName":{},"f:terminationGracePeriodSeconds":{}}}},"#,
    r#"{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-20T04:58:29Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"#,
    r#""k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"#,
    r#""k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"#,
    r#""f:podIPs":{".":{},"k:{\"ip\":\"10.1.2.3\"}":{".":{},"f:ip":{}}},"f:startTime":{}}},"subresource":"status"}]"#,
);

const POD_SPEC: &str = concat!(
    r#""volumes":[{"name":"config","configMap":{"name":"checkout-config","defaultMode":420}},{"name":"kube-api-access-x8k2p","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},"#,
    r#"{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"#,
    r#""restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"checkout","serviceAccount":"checkout","securityContext":{},"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","#,
);

const POD_CONTAINER: &str = concat!(
    r#","ports":[{"name":"metrics","containerPort":9090,"protocol":"TCP"}],"env":[{"name":"LOG_LEVEL","value":"info"},{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],"#,
    r#""volumeMounts":[{"name":"config","mountPath":"/etc/checkout"},{"name":"kube-api-access-x8k2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"#,
    r#""livenessProbe":{"httpGet":{"path":"/healthz","port":9090,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"#,
    r#""terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent""#,
);

const POD_CONDITIONS: &str = concat!(
    r#","conditions":[{"type":"PodReadyToStartContainers","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-20T04:58:27Z"},"#,
    r#"{"type":"Initialized","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-20T04:58:25Z"},"#,
    r#"{"type":"Ready","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-20T04:58:29Z"},"#,
    r#"{"type":"ContainersReady","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-20T04:58:29Z"},"#,
    r#"{"type":"PodScheduled","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-20T04:58:25Z"}]"#,
);

const NODE_METADATA: &str = concat!(
    r#","annotations":{"csi.volume.kubernetes.io/nodeid":"{\"ebs.csi.aws.com\":\"i-00000000000000013\"}","node.alpha.kubernetes.io/ttl":"0","volumes.kubernetes.io/controller-managed-attach-detach":"true"},"#,
    r#""managedFields":[{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-20T04:58:21Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:volumes.kubernetes.io/controller-managed-attach-detach":{}},"#,
    r#""f:labels":{".":{},"f:beta.kubernetes.io/arch":{},"f:beta.kubernetes.io/os":{},"f:kubernetes.io/arch":{},"f:kubernetes.io/hostname":{},"f:kubernetes.io/os":{}}},"f:spec":{"f:providerID":{}}}},"#,
    r#"{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-20T05:58:21Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"DiskPressure\"}":{"f:lastHeartbeatTime":{}},"#,
    r#""k:{\"type\":\"MemoryPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"PIDPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"Ready\"}":{"f:lastHeartbeatTime":{}}},"f:images":{}}},"subresource":"status"}]"#,
);

const NODE_STATUS: &str = concat!(
    r#","conditions":[{"type":"MemoryPressure","status":"False","lastHeartbeatTime":"2026-11-20T04:00:00Z","lastTransitionTime":"2026-11-20T03:00:00Z","reason":"KubeletHasSufficientMemory","message":"kubelet has sufficient memory available"},"#,
    r#"{"type":"DiskPressure","status":"False","lastHeartbeatTime":"2026-11-20T04:00:00Z","lastTransitionTime":"2026-11-20T03:00:00Z","reason":"KubeletHasNoDiskPressure","message":"kubelet has no disk pressure"},"#,
    r#"{"type":"Ready","status":"True","lastHeartbeatTime":"2026-11-20T04:00:00Z","lastTransitionTime":"2026-11-20T03:00:00Z","reason":"KubeletReady","message":"kubelet is posting ready status"}],"#,
    r#""addresses":[{"type":"InternalIP","address":"10.0.19.17"},{"type":"Hostname","address":"ip-10-0-19-17.eu-central-1.compute.internal"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}},"#,
    r#""nodeInfo":{"machineID":"ec2f1b7c1e6a8f4f0e9d0a1b2c3d4e5f","systemUUID":"ec2f1b7c-1e6a-8f4f-0e9d-0a1b2c3d4e5f","bootID":"2f1b7c1e-6a8f-4f0e-9d0a-1b2c3d4e5f60","kernelVersion":"6.12.1","osImage":"Amazon Linux 2023","containerRuntimeVersion":"containerd://2.1.4","kubeletVersion":"v1.36.2","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"},"images":["#,
);
