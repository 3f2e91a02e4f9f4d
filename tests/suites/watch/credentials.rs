//! Tokens and kubeconfigs as people write them, and what changes of them while the sidecar runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::http::get;
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::{timeout, timing};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::oracle;
use crate::world::{command, fill, pod};

/// A kubeconfig whose token was pasted with the line break at its end, for [`PASTED_SERVER`].
const PASTED: &str = include_str!("../../data/inputs/token-with-line-break.yaml");

const PASTED_SERVER: &str = "http://127.0.0.1:28123";

/// Limit on the time until a replaced token or kubeconfig is used.
const IN_USE: Duration = Duration::from_secs(15);

/// A kubeconfig for a server, in a folder with the files that it names.
struct Configured {
    folder: TempDir,
}

impl Configured {
    fn new(server: &ApiServer, user: &Value) -> Self {
        let configured = Self { folder: tempfile::tempdir().unwrap() };
        configured.point_to(server, user);
        configured
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the kubeconfig, as `kubectl config` does: in place.
    fn point_to(&self, server: &ApiServer, user: &Value) {
        let mut config: Value = serde_json::from_slice(&fs::read(server.kubeconfig()).unwrap()).unwrap();
        config["users"][0]["user"] = user.clone();
        fs::write(self.path("kubeconfig"), config.to_string()).unwrap();
    }

    /// Replaces a file by a rename, as the kubelet does in a volume.
    fn replace(&self, name: &str, content: &str) {
        fs::write(self.path("new"), content).unwrap();
        fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    fn launch(&self) -> Sidecar {
        Sidecar::launch(command(), &["--kubeconfig", text(&self.path("kubeconfig"))])
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn filled() -> ApiServer {
    let server = ApiServer::start();
    fill(&server, 3, 2);
    server
}

#[test]
fn a_token_of_the_kubeconfig_with_a_line_break_at_its_end_is_sent_without_it() {
    let _beside = beside_others();
    let server = filled();
    server.require_token("tok");
    let configured = Configured::new(&server, &json!({}));
    let known: Value = serde_json::from_slice(&fs::read(server.kubeconfig()).unwrap()).unwrap();
    let address = known["clusters"][0]["cluster"]["server"].as_str().unwrap();
    configured.replace("kubeconfig", &PASTED.replace(PASTED_SERVER, address));
    let sidecar = configured.launch();
    sidecar.wait_until_ready();
    oracle::converges(&server, &sidecar);
    assert_eq!(server.count(|request| request.token != "tok"), 0);
}

#[test]
fn a_token_of_the_kubeconfig_with_a_line_break_inside_is_refused_by_name() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let (config, socket) = (folder.path().join("kubeconfig"), folder.path().join("nodesift.sock"));
    let broken = PASTED.replace(r"tok\n", r"to\nk");
    fs::write(&config, broken).unwrap();
    let arguments = ["serve", "--kubeconfig", text(&config), "--no-tcp", "--socket", text(&socket)];
    let output = sidecar::run(command().args(arguments));
    assert_eq!((output.code, output.stdout.as_str()), (Some(65), ""), "{}", output.stderr);
    let said = "nodesift: kubeconfig: the token of the user holds a character that no header may have, such as a line break: \
         write it again\n";
    assert_eq!(output.stderr, said);
}

#[test]
fn a_token_file_with_a_newline_at_its_end_works_and_a_replaced_token_is_used_at_once() {
    let _beside = beside_others();
    let server = filled();
    server.require_token("first");
    let user = json!({"tokenFile": "token"});
    let configured = Configured::new(&server, &user);
    fs::write(configured.path("token"), "first\n").unwrap();
    let sidecar = configured.launch();
    sidecar.wait_until_ready();
    oracle::converges(&server, &sidecar);

    // The old token is not accepted any more; the new one comes a moment later.
    server.require_token("second");
    configured.replace("token", "second\n");
    server.cut();
    let replaced = Instant::now();
    server.apply(pod("after", "n1", 6_000));
    let uses = || (server.count(|request| request.is_watch() && request.token == "second") > 0).then_some(());
    timeout::until(uses).expect("the new token is used");
    oracle::converges(&server, &sidecar);
    let took = replaced.elapsed();
    println!("in use after {took:?}");
    timing::at_most("a new token in use after a refusal", took, IN_USE + Duration::from_secs(1));
}

#[test]
fn a_token_that_is_replaced_before_the_old_one_ends_is_in_use_within_seconds() {
    let _beside = beside_others();
    let server = filled();
    let configured = Configured::new(&server, &json!({"tokenFile": "token"}));
    fs::write(configured.path("token"), "first").unwrap();
    let sidecar = configured.launch();
    sidecar.wait_until_ready();
    configured.replace("token", "second");
    let replaced = Instant::now();
    let uses = || (server.count(|request| request.token == "second") > 0).then_some(());
    timeout::until(uses).expect("the new token is used");
    timing::at_most("a new token in use", replaced.elapsed(), IN_USE + Duration::from_secs(1));
    assert_eq!(server.count(|request| request.is_list() && request.token == "second"), 0, "no relist");
}

#[test]
fn a_kubeconfig_that_is_rewritten_is_followed_to_the_new_server() {
    let _beside = beside_others();
    let (old, new) = (filled(), filled());
    let user = json!({"token": "any"});
    let configured = Configured::new(&old, &user);
    let sidecar = configured.launch();
    sidecar.wait_until_ready();
    oracle::converges(&old, &sidecar);

    // Half written for a moment: what was known is used.
    fs::write(configured.path("kubeconfig"), "apiVersion: v1\nclusters: [").unwrap();
    old.cut();
    let noted = || sidecar.output().contains("cannot be used").then_some(());
    timeout::until(noted).expect("the broken file is noted");
    assert_eq!(get(&sidecar.unix(), "/readyz").unwrap().status, 200);
    configured.point_to(&new, &user);
    // The new server's versions are higher, and it does not know the sidecar's.
    new.change(|store| {
        for number in 0..100 {
            store.apply(pod(&format!("moved{number}"), "n1", 10));
        }
        store.compact();
    });
    old.go_down();
    let asked = || (new.count(|request| request.is_watch()) > 0).then_some(());
    timeout::until(asked).expect("the new server is asked");
    oracle::converges(&new, &sidecar);
}

/// A plugin is a process that may take long. Requests go on with the credentials from before, and it runs once at a time.
#[test]
fn a_credential_plugin_that_hangs_stops_nothing() {
    let _beside = beside_others();
    let server = filled();
    server.require_token("first");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let script = format!(
        "cd {}; echo >> runs; while [ -e hang ]; do sleep 0.02; done
         printf '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",'
         printf '\"status\":{{\"token\":\"%s\"}}}}' $(cat token)",
        text(folder.path())
    );
    let user = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
        "interactiveMode": "Never"}});
    fs::write(at("token"), "first").unwrap();
    let configured = Configured::new(&server, &user);
    let sidecar = configured.launch();
    sidecar.wait_until_ready();

    let runs = || fs::read_to_string(at("runs")).unwrap().lines().count();
    let before = runs();
    fs::write(at("hang"), "").unwrap();
    fs::write(at("token"), "second").unwrap();
    for round in 0..3 {
        // Written anew, so that it is read again.
        configured.replace("kubeconfig", &fs::read_to_string(configured.path("kubeconfig")).unwrap());
        let watches = || server.count(|request| request.is_watch() && request.kind == "Pod");
        let watched = watches();
        server.end_watches("Pod");
        server.end_watches("Node");
        timeout::until(|| (watches() > watched).then_some(())).expect("pods are watched again");
        timeout::until(|| (runs() > before).then_some(())).expect("the plugin runs again");
        assert_eq!(runs(), before + 1, "round {round}");
        assert_eq!(get(&sidecar.unix(), "/livez").unwrap().status, 200);
    }
    assert_eq!(server.count(|request| request.token == "second"), 0);
    server.apply(pod("after", "n1", 6_000));
    oracle::converges(&server, &sidecar);
    fs::remove_file(at("hang")).unwrap();
    server.cut();
    let uses = || (server.count(|request| request.token == "second") > 0).then_some(());
    // The old token is good enough until then.
    timeout::until(|| {
        server.end_watches("Pod");
        uses()
    })
    .expect("the new token is used");
}
