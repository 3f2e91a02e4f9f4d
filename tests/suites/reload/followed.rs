//! Followed objects move with the policy: kinds, annotations and ConfigMaps, over a scripted API server.

use std::time::{Duration, Instant};

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{ask, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::quarantine::{TRAP, about, failing};
use crate::running::{Folder, Reloading, command, policy};

/// The kinds that only VolumeBinding reads here, by their plural.
const STORAGE: [(&str, &str); 6] = [
    ("PersistentVolumeClaim", "persistentvolumeclaims"),
    ("PersistentVolume", "persistentvolumes"),
    ("StorageClass", "storageclasses"),
    ("CSINode", "csinodes"),
    ("CSIDriver", "csidrivers"),
    ("CSIStorageCapacity", "csistoragecapacities"),
];

fn plain() -> String {
    policy(&["name: NodeUnschedulable", "name: NodeResourcesFit"])
}

fn with_volumes() -> String {
    policy(&["name: NodeUnschedulable", "name: NodeResourcesFit", "name: VolumeBinding"])
}

/// A sidecar that follows a server, and how long a policy waits for what it reads.
struct Watching {
    server: ApiServer,
    reloading: Reloading,
}

/// Two nodes, and a pending pod whose volume is reachable from one of them.
fn cluster() -> ApiServer {
    let server = ApiServer::start();
    server.change(|store| {
        store.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}));
        for name in ["n0", "n1"] {
            store.apply(json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}, "annotations": {"team": name}},
                "spec": {}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}));
        }
        store.apply(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "default", "name": "asking", "annotations": {"team": "a"}},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
            "status": {"phase": "Pending"}}));
        store.apply(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"namespace": "default", "name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": "v", "storageClassName": "slow", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound"}}));
        let here = json!([{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]);
        store.apply(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "slow",
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": here}]}}},
            "status": {"phase": "Bound"}}));
        store.apply(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "slow"},
            "provisioner": "example.com/slow"}));
    });
    server
}

impl Watching {
    fn start(server: ApiServer, folder: Folder, document: &str) -> Self {
        folder.put("policy.yaml", document);
        let path = folder.path("policy.yaml");
        let mut command = command();
        command.env("NODESIFT_FAILPOINTS", folder.path(""));
        // Drift ends the process.
        command.env("NODESIFT_AUDIT_ABORTS", "1");
        let kubeconfig = server.kubeconfig().to_str().unwrap().to_owned();
        let reloading = Reloading::started(folder, &path, command, &["--kubeconfig", &kubeconfig, "--verify-reuse"]);
        Self { server, reloading }
    }

    /// How long a policy waits for what it reads, from now on.
    fn waits(&self, time: Duration) {
        self.reloading.folder.put("sync-time", time.as_millis().to_string());
    }

    fn becomes(&self, document: &str) {
        self.reloading.put(document);
        self.reloading.becomes(document);
    }

    /// The nodes on which the pod fits.
    fn feasible(&self) -> Value {
        let pod = json!({"name": {"namespace": "default", "name": "asking"}});
        let answer = ask(&self.reloading.sidecar.unix(), "/v1/filter", &json!({"pods": [pod]}));
        answer["pods"][0]["feasible"].clone()
    }

    fn lists(&self, kind: &'static str) -> usize {
        self.server.script(|script| script.count(kind, Verb::List(1)))
    }

    /// Waits until a kind is watched, or is not.
    fn until_watched(&self, kind: &str, is_watched: bool) {
        let seen = timeout::until(|| (self.server.is_watched(kind) == is_watched).then_some(()));
        seen.unwrap_or_else(|| panic!("{kind} is watched: {}", !is_watched));
    }

    fn metrics(&self) -> String {
        get(&self.reloading.sidecar.unix(), "/metrics").unwrap().body
    }

    /// The number of objects of a kind in the cache.
    fn held(&self, kind: &str) -> f64 {
        self.reloading.metric(&format!("nodesift_feed_objects{{kind=\"{kind}\"}}"))
    }

    /// Asserts that nothing but what the policy without volumes reads is held, watched or spoken of.
    fn has_no_storage(&self) {
        for (kind, plural) in STORAGE {
            self.until_watched(kind, false);
            // The feed takes its turn after the task has ended.
            let is_gone = || (self.held(kind) == 0.0).then_some(());
            timeout::until(is_gone).unwrap_or_else(|| panic!("{kind} are held"));
            let silence = format!("nodesift_kube_silence_seconds{{kind=\"{plural}\"}}");
            assert!(!self.metrics().contains(&silence), "{}", self.metrics());
        }
        assert!(self.metrics().contains("nodesift_kube_silence_seconds{kind=\"pods\"}"));
        let ready = get(&self.reloading.sidecar.unix(), "/readyz").unwrap();
        assert!(!ready.body.contains("storageclass") && !ready.body.contains("persistentvolume"), "{}", ready.body);
        let state = get(&self.reloading.sidecar.unix(), "/v1/state").unwrap().body;
        assert!(state.contains("n1") && !state.contains("\"slow\"") && !state.contains("\"v\""), "{state}");
    }

    /// Compares the cache with fresh lists.
    fn has_no_drift(&self) {
        let runs = || self.reloading.metric("nodesift_audit_runs_total");
        let before = runs();
        self.reloading.sidecar.signal("USR1");
        timeout::until(|| (runs() > before).then_some(())).expect("a self-check ends");
        let metrics = self.metrics();
        let mut found = metrics.lines().filter(|line| line.starts_with("nodesift_audit_differences_total{"));
        assert!(found.all(|line| line.ends_with(" 0")), "{metrics}");
    }
}

#[test]
fn a_policy_that_reads_more_kinds_is_active_once_they_are_there_and_one_that_reads_fewer_drops_them() {
    let _beside = beside_others();
    let watching = Watching::start(cluster(), Folder::new(), &plain());
    for round in 1..=2 {
        assert_eq!(watching.feasible(), json!(["n0", "n1"]), "round {round}");
        watching.has_no_storage();
        let before = STORAGE.map(|(kind, _)| watching.lists(kind));
        assert!(round > 1 || before == [0; 6], "{before:?}");
        watching.becomes(&with_volumes());
        assert_eq!(watching.feasible(), json!(["n1"]), "round {round}");
        for ((kind, plural), before) in STORAGE.iter().zip(before) {
            watching.until_watched(kind, true);
            assert_eq!(watching.lists(kind), before + 1, "{kind}");
            let silence = format!("nodesift_kube_silence_seconds{{kind=\"{plural}\"}}");
            assert!(watching.metrics().contains(&silence), "{}", watching.metrics());
        }
        assert_eq!((watching.held("PersistentVolume"), watching.held("StorageClass")), (1.0, 1.0));
        watching.has_no_drift();
        watching.becomes(&plain());
        watching.has_no_drift();
    }
    // What happens to them meanwhile does not matter, and is there when they are followed again.
    watching.has_no_storage();
    watching.server.delete("PersistentVolume", "v");
    watching.becomes(&with_volumes());
    assert_eq!(watching.feasible(), json!([]));
    assert_eq!(watching.held("PersistentVolume"), 0.0);
    // Each self-check has listed everything that was followed.
    let checks = watching.reloading.metric("nodesift_audit_runs_total");
    for kind in ["Node", "Pod", "DeviceClass"] {
        assert_eq!(watching.lists(kind) as f64, 1.0 + checks, "{kind} are listed once by the reflector");
    }
}

#[test]
fn a_policy_whose_kinds_cannot_be_listed_is_refused_with_the_reason_and_changes_nothing() {
    let _beside = beside_others();
    for (fault, words) in [(Fault::forbidden(), "403"), (Fault::broken(), "500")] {
        let watching = Watching::start(cluster(), Folder::new(), &plain());
        watching.waits(timeout::scaled(Duration::from_millis(700)));
        watching.server.script(|script| script.always(Some("StorageClass"), None, fault));
        let since = Instant::now();
        watching.reloading.put(&with_volumes());
        // The policy serves meanwhile, and the sidecar is ready.
        loop {
            let ready = get(&watching.reloading.sidecar.unix(), "/readyz").unwrap();
            assert_eq!(ready.status, 200, "{}", ready.body);
            assert_eq!(watching.feasible(), json!(["n0", "n1"]));
            if watching.reloading.status()["lastFailure"].is_object() {
                break;
            }
            assert!(since.elapsed() < timeout::limit(), "neither active nor refused");
        }
        let failure = watching.reloading.status()["lastFailure"].clone();
        let failure = &failure["failures"][0];
        assert_eq!((&failure["step"], &failure["predicate"]), (&json!("follow"), &json!("VolumeBinding")), "{failure}");
        let reason = failure["reason"].as_str().unwrap();
        assert!(
            reason.contains(&format!("storageclasses: {words}")) && reason.contains("not listed within"),
            "{reason}"
        );
        assert!(!reason.contains("csinodes:"), "those were listed: {reason}");
        assert_eq!(watching.reloading.generation(), 1);
        watching.has_no_storage();
        // It can be had once the permission is there.
        watching.server.clear_faults();
        let again = format!("# again\n{}", with_volumes());
        watching.becomes(&again);
        assert_eq!(watching.feasible(), json!(["n1"]));
    }
}

#[test]
fn a_newer_policy_ends_the_wait_of_one_that_is_not_active_yet() {
    let _beside = beside_others();
    let watching = Watching::start(cluster(), Folder::new(), &plain());
    watching.server.script(|script| script.always(Some("StorageClass"), None, Fault::Hang));
    watching.reloading.put(&with_volumes());
    timeout::until(|| (watching.lists("StorageClass") > 0).then_some(())).expect("storage classes are listed");
    let newer = format!("# newer\n{}", plain());
    watching.becomes(&newer);
    let status = watching.reloading.status();
    assert_eq!((&status["generation"], &status["lastFailure"]), (&json!("2"), &Value::Null), "{status}");
    watching.has_no_storage();
    // And one after the other, as fast as they are noticed.
    watching.server.clear_faults();
    for round in 0..12_u64 {
        let document = if round % 2 == 0 { with_volumes() } else { plain() };
        watching.reloading.put(&format!("# round {round}\n{document}"));
        // Shorter and longer than a reload takes.
        std::thread::park_timeout(Duration::from_millis(round * 89 % 600));
    }
    watching.becomes(&with_volumes());
    assert_eq!(watching.feasible(), json!(["n1"]));
    watching.has_no_drift();
}

#[test]
fn what_the_policy_before_reads_is_followed_for_as_long_as_it_can_be_gone_back_to() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("own.wasm", failing(TRAP).component());
    let watching = Watching::start(cluster(), folder, &with_volumes());
    assert_eq!(watching.feasible(), json!(["n1"]));
    let own = policy(&["name: NodeUnschedulable", "{name: Own, module: {path: own.wasm}}"]);
    watching.becomes(&own.replace("spec:", "spec:\n  rollbackOnQuarantine: true"));
    assert_eq!(watching.feasible(), json!(["n0"]));
    watching.until_watched("PersistentVolume", true);
    assert_eq!(watching.held("PersistentVolume"), 1.0);
    let mut number = 0;
    let is_back = || {
        number += 1;
        ask(&watching.reloading.sidecar.unix(), "/v1/filter", &about(number, true));
        (watching.reloading.generation() == 3).then_some(())
    };
    timeout::until(is_back).expect("the policy is rolled back");
    assert_eq!((watching.feasible(), watching.lists("PersistentVolume")), (json!(["n1"]), 1));
    // Nothing goes back beyond that.
    watching.becomes(&plain());
    watching.has_no_storage();
}

/// A predicate that finds a node only where some node has the annotation `team: n1`, and the pod has one of this key.
pub(crate) fn team() -> Vec<u8> {
    let imports = r#"
        (import "nodesift:predicate/pod-annotations@0.2.0" "annotation" (func $of_pod (param i32 i32 i32)))
        (import "nodesift:predicate/node-annotations@0.2.0" "code" (func $of_node (param i32 i32 i32 i32 i32)))"#;
    let reject = "(return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))";
    let filter = format!(
        "(call $of_pod (i32.const 2048) (i32.const 4) (i32.const 2304))
         (if (i32.eqz (i32.load8_u (i32.const 2304))) (then {reject}))
         (call $of_node (i32.const 2048) (i32.const 4) (i32.const 2052) (i32.const 2) (i32.const 2304))
         (if (i32.eqz (i32.load8_u (i32.const 2304))) (then {reject}))
         (call $fits_all)"
    );
    let definitions = r#"(data (i32.const 2048) "teamn1")"#;
    Guest::healthy().imports(imports).definitions(definitions).filter(filter).component()
}

fn reading_annotations(keys: &str) -> String {
    let own = "{name: Team, module: {path: team.wasm}, allow: [pod-annotations, node-annotations]}";
    format!("{}  facts: {{annotations: [{keys}]}}\n", policy(&["name: NodeUnschedulable", own]))
}

#[test]
fn annotations_that_a_policy_adds_are_read_of_objects_that_were_there_before() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("team.wasm", team());
    let watching = Watching::start(cluster(), folder, &reading_annotations("other"));
    let nowhere = json!([]);
    assert_eq!(watching.feasible(), nowhere);
    watching.becomes(&reading_annotations("team"));
    assert_eq!(watching.feasible(), json!(["n0", "n1"]));
    let listed = (watching.lists("Node"), watching.lists("Pod"), watching.lists("DeviceClass"));
    assert_eq!(listed, (2, 2, 1));
    watching.has_no_drift();
    let listed = (watching.lists("Node"), watching.lists("Pod"));
    // The cache still holds them, and nobody sees them: neither a predicate nor, through it, a cached verdict.
    for _ in 0..2 {
        watching.becomes(&reading_annotations("other"));
        assert_eq!(watching.feasible(), nowhere);
        watching.becomes(&reading_annotations(""));
        assert_eq!(watching.feasible(), nowhere);
        watching.becomes(&reading_annotations("team, other"));
        assert_eq!(watching.feasible(), json!(["n0", "n1"]));
    }
    assert_eq!((watching.lists("Node"), watching.lists("Pod")), listed, "nothing is listed for fewer keys");
    watching.becomes(&reading_annotations("other"));
    watching.has_no_drift();
    // What the watch brings is compiled as what is held.
    watching.server.apply(json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "annotations": {"team": "n9"}}, "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}));
    watching.becomes(&reading_annotations("team"));
    timeout::until(|| (watching.feasible() == nowhere).then_some(())).expect("no node has the annotation");
    watching.has_no_drift();
}

#[test]
fn annotations_that_cannot_be_read_are_refused_and_pods_are_watched_on() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("team.wasm", team());
    let watching = Watching::start(cluster(), folder, &reading_annotations("other"));
    watching.until_watched("Pod", true);
    watching.waits(timeout::scaled(Duration::from_millis(700)));
    watching.server.script(|script| script.always(Some("Pod"), Some(Verb::List(1)), Fault::broken()));
    let since = Instant::now();
    watching.reloading.put(&reading_annotations("team"));
    let (failure, _) = watching.reloading.refuses("what cannot be listed", since);
    let failure = &failure["failures"][0];
    let reason = failure["reason"].as_str().unwrap();
    assert!(reason.contains("spec.facts.annotations") && reason.contains("pods: 500"), "{reason}");
    assert_eq!((&failure["step"], watching.reloading.generation()), (&json!("follow"), 1));
    // Lists still fail, so this comes by the watch from where it was.
    watching.server.apply(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "late"},
        "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Pending"}}),
    );
    let is_there = || get(&watching.reloading.sidecar.unix(), "/v1/state").unwrap().body.contains("\"late\"");
    timeout::until(|| is_there().then_some(())).expect("pods are watched on");
}

/// A predicate that finds a node only where the ConfigMap `ops/teams` has an entry `team`.
fn configured() -> Vec<u8> {
    let import = r#"(import "nodesift:predicate/config-maps@0.2.0" "entry" (func $entry (param i32 i32 i32 i32 i32)))"#;
    Guest::healthy()
        .imports(import)
        .definitions(r#"(data (i32.const 2048) "ops/teams") (data (i32.const 2064) "team")"#)
        .filter(
            "(call $entry (i32.const 2048) (i32.const 9) (i32.const 2064) (i32.const 4) (i32.const 2304))
             (if (i32.load8_u (i32.const 2304)) (then (return (call $fits_all))))
             (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))",
        )
        .component()
}

fn reading_config_maps(names: &str) -> String {
    let own = "{name: Configured, module: {path: configured.wasm}, allow: [config-maps]}";
    format!("{}  facts: {{configMaps: [{names}]}}\n", policy(&["name: NodeUnschedulable", own]))
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "ops", "name": name}, "data": data})
}

#[test]
fn config_maps_that_a_policy_lists_are_read_and_no_others() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("configured.wasm", configured());
    let watching = Watching::start(cluster(), folder, &plain());
    let (nowhere, everywhere) = (json!([]), json!(["n0", "n1"]));
    watching.server.apply(config_map("teams", &json!({"team": "a"})));
    watching.server.apply(config_map("others", &json!({"team": "b"})));
    assert_eq!(watching.lists("ConfigMap"), 0, "no predicate reads them");
    watching.becomes(&reading_config_maps("ops/others"));
    assert_eq!(watching.feasible(), nowhere, "another one is listed");
    watching.becomes(&reading_config_maps("ops/others, ops/teams, ops/none"));
    assert_eq!((watching.feasible(), watching.lists("ConfigMap")), (everywhere.clone(), 3));
    let state = get(&watching.reloading.sidecar.unix(), "/v1/policy").unwrap();
    assert!(state.body.contains(r#""configMaps":["ops/none","ops/others","ops/teams"]"#), "{}", state.body);
    // What the watch brings changes cached verdicts.
    watching.server.apply(config_map("teams", &json!({})));
    timeout::until(|| (watching.feasible() == nowhere).then_some(())).expect("the entry has gone");
    watching.server.apply(config_map("teams", &json!({"team": "c"})));
    timeout::until(|| (watching.feasible() == everywhere).then_some(())).expect("the entry is back");
    // The cache may still hold it, and nobody sees it.
    watching.becomes(&reading_config_maps("ops/others"));
    assert_eq!(watching.feasible(), nowhere);
    watching.becomes(&reading_config_maps("ops/teams"));
    assert_eq!(watching.feasible(), everywhere);
    watching.becomes(&plain());
    watching.becomes(&reading_config_maps("ops/teams"));
    assert_eq!(watching.feasible(), everywhere);
}
