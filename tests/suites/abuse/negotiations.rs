//! Negotiations and parties: whatever many of them bring at the same time, over both listeners, memory stays bounded and a core that asks
//! beside them is answered. Start at [`Flood`].

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::future::join_all;
use futures_util::stream::unfold;
use nodesift_negotiation::limits::HELD_BYTES;
use nodesift_proto::v1::negotiation_client::NegotiationClient;
use nodesift_proto::v1::parties_client::PartiesClient;
use nodesift_proto::v1::party_call::Call;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, PartyMessage};
use nodesift_tests::http::Endpoint;
use nodesift_tests::machine::alone;
use nodesift_tests::{process, timeout};
use serde_json::json;
use tokio::sync::mpsc;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::arena::{Arena, mib};

/// Memory that the sidecar may take whatever is asked, beyond half of what it takes idle.
const GROWTH: u64 = 64 << 20;

/// A pod with the label `seat` waits for a party that says a lot; any other pod is agreed on at once.
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
  - {name: licences, for: {podSelector: {matchLabels: {seat: taken}}}}
";

/// Requests of the largest size that are negotiated by each class of clients: together nine times what it may hold.
const LARGE: usize = 90;

/// Labels of one of them: 64 bytes each, and its annotations as much again.
const LABELS: usize = 12_000;

/// Small requests, which are agreed on and never selected: twice as many as a class may have.
const SMALL: usize = 4_000;

/// Streams of negotiations that wait for the party, unread: more than one client may have.
const WAITING: usize = 2_000;

/// Messages of a party that takes back what it said.
const TAKEN_BACK: usize = 14_000;

/// Streams that one connection may have, and how many requests are on their way at once.
const STREAMS: usize = 100;

/// Negotiating clients of one endpoint, over several connections.
struct Flood {
    channels: Vec<Channel>,
    /// In the names of its pods, so that no two are the same.
    name: &'static str,
}

/// A pod as its object.
fn pod(name: &str, labels: &BTreeMap<String, String>, note: &str) -> Option<v1::Pod> {
    let object = json!({
        "metadata": {"namespace": "flood", "name": name, "uid": name, "labels": labels, "annotations": {"note": note}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1m"}}}]}
    });
    Some(v1::Pod::from(v1::pod::Pod::Json(object.to_string())))
}

impl Flood {
    async fn new(endpoint: &Endpoint, name: &'static str) -> Self {
        Self::with_window(endpoint, name, None).await
    }

    /// Connects with this initial window of each stream in bytes: so much is taken until some of it has been read. `None` for the default.
    async fn with_window(endpoint: &Endpoint, name: &'static str, window: Option<u32>) -> Self {
        let url = match endpoint {
            Endpoint::Tcp(address) => format!("http://{address}"),
            Endpoint::Unix(path) => format!("unix:{}", path.display()),
        };
        let open = || async {
            let endpoint = tonic::transport::Endpoint::from_shared(url.clone()).unwrap();
            endpoint.initial_stream_window_size(window).connect().await.expect("a connection")
        };
        Self { channels: join_all((0..=WAITING / STREAMS).map(|_| open())).await, name }
    }

    /// One request, on one of the connections.
    async fn negotiate(&self, at: usize, pod: Option<v1::Pod>) -> Result<Streaming<v1::NegotiationEvent>, Status> {
        let channel = self.channels[at % self.channels.len()].clone();
        let request = v1::NegotiateRequest { pod, deadline_ms: 600_000, round_ms: 500, ..Default::default() };
        Ok(NegotiationClient::new(channel).negotiate(request).await?.into_inner())
    }

    /// Has as many requests answered as it can, each to its end. Returns how many were taken.
    async fn to_their_ends(&self, kind: &str, requests: usize, pod: impl Fn(&str) -> Option<v1::Pod>) -> usize {
        let one = |at: usize| {
            let pod = pod(&format!("{}-{kind}-{at}", self.name));
            async move {
                let Ok(mut events) = self.negotiate(at, pod).await else { return 0 };
                while let Ok(Some(_)) = events.message().await {}
                1
            }
        };
        let mut taken = 0;
        for from in (0..requests).step_by(STREAMS) {
            taken += join_all((from..requests.min(from + STREAMS)).map(one)).await.into_iter().sum::<usize>();
        }
        taken
    }

    /// Requests of pods with very many labels.
    async fn large(&self) -> usize {
        let labels = |name: &str| (0..LABELS).map(|at| (format!("{name}-{at:040}"), "x".repeat(16))).collect();
        let mut taken = 0;
        for at in 0..LARGE {
            taken += self
                .to_their_ends(&format!("large-{at}"), 1, |name| pod(name, &labels(name), &"n".repeat(800_000)))
                .await;
        }
        taken
    }

    async fn small(&self) -> usize {
        self.to_their_ends("small", SMALL, |name| pod(name, &BTreeMap::new(), "")).await
    }

    /// Streams that wait for the party and are not read.
    async fn waiting(&self) -> Vec<Streaming<v1::NegotiationEvent>> {
        self.unread("waiting", &BTreeMap::from([("seat".to_owned(), "taken".to_owned())])).await
    }

    /// Streams of negotiations that are over at once, and that are not read.
    async fn over(&self) -> Vec<Streaming<v1::NegotiationEvent>> {
        self.unread("over", &BTreeMap::new()).await
    }

    async fn unread(&self, kind: &str, labels: &BTreeMap<String, String>) -> Vec<Streaming<v1::NegotiationEvent>> {
        let mut streams = Vec::new();
        for from in (0..WAITING).step_by(STREAMS) {
            let one = |at: usize| self.negotiate(at, pod(&format!("{}-{kind}-{at}", self.name), labels, ""));
            streams.extend(join_all((from..from + STREAMS).map(one)).await.into_iter().flatten());
        }
        streams
    }
}

/// A party that refuses every node with a reason of its own of 1 KiB, for as long as an answer may be kept, and names as many others; then
/// takes all back again and again. It begins anew where it is cut off, until it is aborted.
async fn party(channel: Channel) {
    let mut answered = 0_u64;
    loop {
        let (say, said) = mpsc::channel(64);
        let message = |message| PartyMessage { message: Some(message) };
        let _ = say.send(message(Message::Attend(v1::PartyAttend { party: "licences".to_owned() }))).await;
        let listened = unfold(said, |mut said| async move { Some((said.recv().await?, said)) });
        let Ok(calls) = PartiesClient::new(channel.clone()).attend(listened).await else { continue };
        let mut calls = calls.into_inner();
        while let Ok(Some(call)) = calls.message().await {
            let Some(Call::Ask(ask)) = call.call else { continue };
            answered += 1;
            let reason = |at: usize| format!("{answered}-{at}-{}", "r".repeat(900));
            let refused = ask.nodes.into_iter().enumerate();
            let nodes = refused.map(|(at, node)| v1::Unsuitable { node, reason: reason(at), claim: String::new() });
            let alternatives = (0..256).map(|at| format!("alternative-{answered}-{at:0200}")).collect();
            let answer = v1::Answer {
                id: ask.id,
                nodes: nodes.collect(),
                partial: true,
                alternatives,
                valid_ms: 30_000,
                ..Default::default()
            };
            if say.send(message(Message::Answer(answer))).await.is_err() {
                break;
            }
            if answered.is_multiple_of(50) {
                for _ in 0..TAKEN_BACK {
                    if say.send(message(Message::Invalidate(v1::Invalidate::default()))).await.is_err() {
                        break;
                    }
                }
            }
        }
    }
}

/// A core's own negotiation, over the socket: taken at once, and agreed on in the end.
async fn agrees(core: &Flood, name: &str) {
    let agreed = async {
        let mut events = core.negotiate(0, pod(name, &BTreeMap::new(), "")).await.expect("the core has room");
        while let Some(event) = events.message().await.expect("the core's stream goes on") {
            if let Some(v1::negotiation_event::Event::Viable(_)) = event.event {
                return;
            }
        }
        panic!("{name} is not agreed on");
    };
    tokio::time::timeout(timeout::limit(), agreed).await.expect("the core is answered");
}

/// Peak memory of the sidecar, checked against what it took idle, and `more`.
fn assert_bounded(arena: &Arena, idle: u64, more: u64, what: &str) {
    let peak = process::peak_resident_bytes(arena.sidecar.id());
    let now = process::resident_bytes(arena.sidecar.id());
    println!("{what}: idle {}, at most {}, now {}", mib(idle), mib(peak), mib(now));
    assert!(peak <= idle + idle / 2 + GROWTH + more, "{what}: idle {}, at most {}", mib(idle), mib(peak));
}

#[test]
fn negotiations_and_parties_together_take_bounded_memory_and_keep_no_core_out() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    let arena = Arena::new(&["--sample", "--policy", Path::to_str(&policy).unwrap()]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let remote = Flood::new(&arena.sidecar.tcp(), "remote").await;
        let local = Flood::new(&arena.sidecar.unix(), "local").await;
        let core = Flood::new(&arena.sidecar.unix(), "core").await;
        agrees(&core, "first").await;
        let idle = process::resident_bytes(arena.sidecar.id());
        process::forget_peak(arena.sidecar.id());
        let party = tokio::spawn(party(core.channels[1].clone()));

        let large = remote.large().await;
        assert_bounded(&arena, idle, 0, &format!("{large} large ones over TCP"));
        agrees(&core, "second").await;
        let small = remote.small().await;
        assert_bounded(&arena, idle, 0, &format!("and {small} small ones"));
        agrees(&core, "third").await;
        let deaf = Flood::with_window(&arena.sidecar.tcp(), "deaf", Some(0)).await;
        let over = deaf.over().await;
        assert_bounded(&arena, idle, 0, &format!("and {} that are over and not read", over.len()));
        // Some bytes are taken of each: its largest event has begun.
        let slow = Flood::with_window(&arena.sidecar.tcp(), "slow", Some(200)).await;
        let begun = slow.over().await;
        assert_bounded(&arena, idle, 0, &format!("and {} that are read a little", begun.len()));
        agrees(&core, "fourth").await;
        let waiting = remote.waiting().await;
        assert_bounded(&arena, idle, 0, &format!("and {} that wait", waiting.len()));
        agrees(&core, "fifth").await;

        // Whoever may use the socket shares its room with the core: memory is bounded there as well. Both together take what is allowed
        // for one of them, or, where the allocator of the C library keeps more of what is freed, some MiB more.
        let more = HELD_BYTES as u64;
        let large = local.large().await;
        assert_bounded(&arena, idle, more, &format!("{large} large ones over the socket"));
        let small = local.small().await;
        assert_bounded(&arena, idle, more, &format!("and {small} small ones"));
        let held = local.waiting().await;
        assert_bounded(&arena, idle, more, &format!("and {} that wait", held.len()));
        assert!(large > 0 && small > 0 && !waiting.is_empty() && !held.is_empty(), "nothing was tried");
        assert!(over.len() > WAITING / 2, "{} were begun", over.len());
        party.abort();
    });
    arena.goes_on();
}
