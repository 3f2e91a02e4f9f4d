//! Negotiation through the binary: who may attend over TCP, and what `explain` says of parties.

use std::process::{Child, Command};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use nodesift_proto::v1::negotiation_client::NegotiationClient;
use nodesift_proto::v1::parties_client::PartiesClient;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, PartyAttend, PartyMessage};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::{http, timeout};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Status};

use crate::agreement::over;
use crate::decisions::{node, pod, serving};
use crate::running::{answer, ask, command};
use crate::tls::{Authority, Signed};

const POLICY: &str = "
apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
spec:
  schedulerNames: [default-scheduler]
  predicates:
  - name: NodeResourcesFit
  - name: Parties
    phases: [allocate]
  parties:
  - {name: licences, for: {podSelector: {}}}
  - {name: disk, for: {podSelector: {}}, onSilence: Ignore}
";

fn overview(sidecar: &Sidecar) -> Value {
    serde_json::from_str(&http::get(&sidecar.unix(), "/v1/negotiations").unwrap().body).unwrap()
}

fn attends(sidecar: &Sidecar, party: &str) -> bool {
    let overview = overview(sidecar);
    let parties = overview["parties"].as_array().unwrap().iter();
    parties.filter(|known| known["attends"] == true).any(|known| known["party"] == party)
}

/// A connection over TLS, as a client with this certificate.
async fn channel(authority: &Authority, sidecar: &Sidecar, client: &Signed) -> Channel {
    let mut config = authority.client_config(Some(client));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (connector, address) = (TlsConnector::from(Arc::new(config)), sidecar.address);
    let connect = tower::service_fn(move |_: Uri| {
        let connector = connector.clone();
        async move {
            let socket = TcpStream::connect(address).await?;
            let stream = connector.connect(ServerName::try_from("localhost").unwrap(), socket).await?;
            Ok::<_, std::io::Error>(TokioIo::new(stream))
        }
    });
    // What is in the stream is TLS already.
    let endpoint = Endpoint::from_shared(format!("http://localhost:{}", address.port())).unwrap();
    endpoint.connect_with_connector(connect).await.unwrap()
}

/// Attends as a party until it is seen to attend, or refused.
async fn attend(channel: Channel, sidecar: &Sidecar, party: &str) -> Result<(), Status> {
    let message = PartyMessage { message: Some(Message::Attend(PartyAttend { party: party.to_owned() })) };
    // It says who it is, and then nothing.
    let said = futures_util::stream::iter([message]);
    let said = futures_util::StreamExt::chain(said, futures_util::stream::pending());
    let mut calls = PartiesClient::new(channel).attend(said).await?.into_inner();
    let seen = async {
        while !attends(sidecar, party) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        call = calls.message() => Err(call.expect_err("nobody is asked anything")),
        () = seen => Ok(()),
        () = tokio::time::sleep(timeout::limit()) => panic!("neither attends nor is refused"),
    }
}

#[test]
fn over_tcp_a_party_attends_with_the_certificate_that_is_allowed_for_it_and_with_no_other() {
    let authority = Authority::new();
    authority.certify("localhost");
    std::fs::write(authority.path("policy.yaml"), POLICY).unwrap();
    let allowed = ["--allow-attend", "licences=licences.example", "--allow-attend", "disk=disk.example"];
    let arguments = [&["--tls-client-ca", "ca.pem", "--policy", "policy.yaml", "--sample"], &allowed[..]].concat();
    let sidecar = authority.serve(&arguments);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let attend_as = |name: &str, party: &str| {
        let client = authority.sign(name);
        runtime.block_on(async { attend(channel(&authority, &sidecar, &client).await, &sidecar, party).await })
    };
    // The certificate of another party, and that of nobody's.
    for (name, party) in [
        ("disk.example", "licences"),
        ("licences.example", "disk"),
        ("stranger.example", "licences"),
        ("licences", "licences"),
    ] {
        let refused = attend_as(name, party).unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{name} as {party}: {refused}");
        assert!(refused.message().contains("--allow-attend"), "{name} as {party}: {refused}");
        assert!(!attends(&sidecar, party), "{name} as {party}");
    }
    attend_as("licences.example", "licences").unwrap();
    attend_as("disk.example", "disk").unwrap();
    // A party is nobody else.
    let client = authority.sign("licences.example");
    let asked = runtime.block_on(async {
        let channel = channel(&authority, &sidecar, &client).await;
        NegotiationClient::new(channel).negotiate(v1::NegotiateRequest::default()).await.map(drop)
    });
    assert_eq!(asked.unwrap_err().code(), Code::PermissionDenied);
}

/// Attends where another client may attend meanwhile: until the first call, or a refusal.
async fn attend_and_wait(channel: Channel, party: &str) -> Result<(), Status> {
    let message = PartyMessage { message: Some(Message::Attend(PartyAttend { party: party.to_owned() })) };
    let said = futures_util::stream::iter([message]);
    let said = futures_util::StreamExt::chain(said, futures_util::stream::pending());
    let mut calls = PartiesClient::new(channel).attend(said).await?.into_inner();
    calls.message().await.map(drop)
}

/// A connection over the Unix socket.
async fn local(sidecar: &Sidecar) -> Channel {
    Endpoint::from_shared(format!("unix:{}", sidecar.socket.display())).unwrap().connect().await.unwrap()
}

#[test]
fn a_party_is_not_displaced_by_another_process_and_leaves_its_place_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("policy.yaml"), POLICY).unwrap();
    std::fs::write(path("script.yaml"), "silent: false\n").unwrap();
    let (sidecar, _cluster) = serving(&[node("n1", "1")], &["--policy", &path("policy.yaml")]);
    let server = format!("unix:{}", sidecar.socket.display());
    let arguments = ["party", "--name", "licences", "--server", &server, "--script", &path("script.yaml")];
    let first = start(command().args(arguments));
    timeout::until(|| attends(&sidecar, "licences").then_some(())).expect("the party attends");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let attending = || runtime.block_on(async { attend_and_wait(local(&sidecar).await, "licences").await });
    let refused = attending().unwrap_err();
    assert_eq!(refused.code(), Code::AlreadyExists, "{refused}");
    assert!(attends(&sidecar, "licences"));
    drop(first);
    timeout::until(|| (!attends(&sidecar, "licences")).then_some(())).expect("the party has left");
    runtime.block_on(async { attend(local(&sidecar).await, &sidecar, "licences").await }).unwrap();
}

/// `nodesift party`, until it is dropped.
struct Party(Child);

impl Drop for Party {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn start(command: &mut Command) -> Party {
    Party(command.stdout(std::process::Stdio::null()).spawn().unwrap())
}

#[test]
fn explain_of_a_running_sidecar_says_who_has_refused_and_since_when() {
    let objects = [node("n1", "1"), node("n2", "1"), pod("first", "600m", &json!({}))];
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("policy.yaml"), POLICY).unwrap();
    let script = "unsuitable: [{nodes: [n1], reason: no free licence}]\nvalidMs: 30000\n";
    std::fs::write(path("script.yaml"), script).unwrap();
    let (sidecar, _cluster) = serving(&objects, &["--policy", &path("policy.yaml")]);
    let server = format!("unix:{}", sidecar.socket.display());
    let explain = |format: &str| answer(&["explain", "--server", &server, "--pod", "ns/first", "-o", format]);
    let explained = || serde_json::from_str::<Value>(&explain("json")).unwrap()[0]["parties"].clone();
    let away = |party: &str| json!({"party": party, "said": "NotAsked", "reason": "it does not attend", "nodes": 0});
    assert_eq!(explained(), json!([away("licences"), away("disk")]));

    let party = ["party", "--name", "licences", "--server", &server, "--script", &path("script.yaml")];
    let _party = start(command().args(party));
    timeout::until(|| attends(&sidecar, "licences").then_some(())).expect("the party attends");
    let viable = over(&sidecar.unix(), |channel| async move {
        let pod = Some(v1::Pod::from(v1::pod::Pod::Uid("uid-first".to_owned())));
        let request = v1::NegotiateRequest { pod, round_ms: 100, ..Default::default() };
        let mut events = NegotiationClient::new(channel).negotiate(request).await.unwrap().into_inner();
        let mut viable = Vec::new();
        while let Some(event) = events.message().await.unwrap() {
            if let Some(v1::negotiation_event::Event::Viable(nodes)) = event.event {
                viable = nodes.nodes;
            }
        }
        viable
    });
    assert_eq!(viable, ["n2"]);

    let mut found = explained();
    for stance in found.as_array_mut().unwrap().iter_mut().take(2) {
        let since = stance.as_object_mut().unwrap().remove("since").unwrap();
        assert!(since.as_str().unwrap().starts_with("20") && since.as_str().unwrap().contains('T'), "{since}");
    }
    let refused = json!({"party": "licences", "said": "Refused", "reason": "no free licence", "nodes": 1});
    let accepted = json!({"party": "licences", "said": "Accepted", "nodes": 1});
    assert_eq!(found.as_array().unwrap()[..2], [refused, accepted]);
    assert_eq!((&found[2]["party"], &found[2]["said"]), (&json!("disk"), &json!("NotAsked")));
    let table = explain("table");
    let line = table.lines().find(|line| line.contains("refused: no free licence")).expect(&table);
    assert!(line.trim_start().starts_with("licences ") && line.ends_with(" s"), "{table}");
    // The verdicts are as they were, and of no time.
    assert!(explain("jsonl").lines().last().unwrap().contains("\"parties\":["));
}

#[test]
fn a_claim_of_a_party_needs_no_devices_and_any_other_does() {
    let class = |name: &str| json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": {}});
    let claim = |name: &str| {
        let exactly = json!({"deviceClassName": name, "allocationMode": "ExactCount", "count": 1});
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "ns", "uid": name},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}})
    };
    let claiming =
        |name: &str| pod(name, "100m", &json!({"resourceClaims": [{"name": "c", "resourceClaimName": name}]}));
    let names = ["uplink", "gpu"];
    let objects =
        [node("n1", "1")].into_iter().chain(names.iter().flat_map(|name| [class(name), claim(name), claiming(name)]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    let policy = POLICY
        .replace("  - name: Parties\n", "  - name: DynamicResources\n    phases: [allocate]\n  - name: Parties\n");
    let policy =
        policy.replace("{name: licences, for: {podSelector: {}}}", "{name: licences, for: {deviceClass: uplink}}");
    std::fs::write(&path, policy).unwrap();
    let (sidecar, _cluster) = serving(&objects.collect::<Vec<_>>(), &["--policy", path.to_str().unwrap()]);
    let asked = |pod: &str, negotiates: bool| {
        let request = json!({"pods": [{"uid": format!("uid-{pod}")}], "negotiates": negotiates});
        let mut answer = ask(&sidecar.unix(), "/v1/filter", &request);
        assert_eq!(answer["pods"][0]["faults"], json!([]), "{answer}");
        answer["pods"][0].take()
    };
    // The party has yet to allocate it: whoever does not negotiate waits.
    let (uplink, gpu) = (asked("uplink", false), asked("gpu", false));
    assert_eq!((&uplink["feasible"], &gpu["feasible"]), (&json!([]), &json!([])));
    assert_eq!(uplink["failures"][0]["reasons"], json!(["waiting for party licences"]));
    assert_eq!(gpu["failures"][0]["predicate"], "DynamicResources");
    let needed = |party: &str| json!({"party": party, "knownNodes": 0});
    assert_eq!(uplink["parties"], json!([needed("licences"), needed("disk")]));
    assert_eq!(gpu["parties"], json!([needed("disk")]));
    let (uplink, gpu) = (asked("uplink", true), asked("gpu", true));
    assert_eq!((&uplink["feasible"], &gpu["feasible"]), (&json!(["n1"]), &json!([])));
}
