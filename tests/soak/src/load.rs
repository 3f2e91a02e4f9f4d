//! The clients: one thread each, with a connection of its own, at a modest pace. Start at [`Clients`].
//!
//! Some of their answers become samples for the [judge](crate::judge). The cluster of a sample is that of the API server, so
//! no pod may be assumed while it is taken: both happen under one lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::bail;
use nodesift_fixtures::json::{list, name, namespace, text, texts};
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{self, pod};
use nodesift_tests::http::{self, Client, Endpoint};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::wire::Wire;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tonic::transport::Channel;

use crate::cluster::{Living, Versions};
use crate::judge::{AskedPod, First, Sample, Samples};
use crate::wait;

/// Time between two requests of one client.
const PAUSE: Duration = Duration::from_millis(12);

/// Time between two requests of the client whose latency is measured.
const MEASURED_PAUSE: Duration = Duration::from_millis(4);

/// Time between two dumps of the state.
const DUMP_PAUSE: Duration = Duration::from_secs(1);

/// One request in this many becomes a sample, where there is room: more than 1 %.
const SAMPLED_PART: u32 = 25;

/// Unexpected answers that are kept.
const KEPT: usize = 10;

/// State that all clients share.
pub(crate) struct Shared {
    pub(crate) seed: u64,
    pub(crate) unix: Endpoint,
    pub(crate) tcp: Endpoint,
    pub(crate) living: Arc<Living>,
    pub(crate) stop: Arc<AtomicBool>,
    samples: Samples,
    /// Held while pods are assumed, and while a sample is taken.
    assuming: Mutex<()>,
    answered: Mutex<Answered>,
    started: Instant,
}

/// Answers that clients have received.
#[derive(Debug, Default, Clone)]
pub(crate) struct Answered {
    /// Answers by way and status.
    pub(crate) counts: BTreeMap<(&'static str, u16), usize>,
    /// Time since the start, and latency, of requests by UID over the Unix socket.
    pub(crate) latencies: Vec<(Duration, Duration)>,
    /// Samples that were taken.
    pub(crate) samples: usize,
    /// Answers that no client expects.
    pub(crate) unexpected: Vec<String>,
}

impl Shared {
    /// Clients of a sidecar.
    pub(crate) fn new(seed: u64, sidecar: &Sidecar, living: Arc<Living>, samples: Samples) -> Arc<Self> {
        Arc::new(Self {
            seed,
            unix: sidecar.unix(),
            tcp: sidecar.tcp(),
            living,
            stop: Arc::default(),
            samples,
            assuming: Mutex::new(()),
            answered: Mutex::default(),
            started: Instant::now(),
        })
    }

    /// Returns the answers received so far.
    pub(crate) fn answered(&self) -> Answered {
        self.answered.lock().clone()
    }

    /// Counts an answer. A refusal under load or during a fault is none that is wrong, an internal error is.
    fn count(&self, way: &'static str, status: u16, body: &str) {
        let mut answered = self.answered.lock();
        *answered.counts.entry((way, status)).or_default() += 1;
        if !matches!(status, 200 | 404 | 408 | 409 | 429 | 503 | 504) && answered.unexpected.len() < KEPT {
            answered.unexpected.push(format!("{way}: {status} {}", body.chars().take(300).collect::<String>()));
        }
    }

    /// Counts the answer to a request that is part of a fault.
    pub(crate) fn fault_answer(&self, way: &'static str, status: u16, body: &str) {
        // Refusals are what such requests are answered with.
        let status = if matches!(status, 400..500) { 429 } else { status };
        self.count(way, status, body);
    }

    fn sample(&self, sample: Sample) {
        self.answered.lock().samples += 1;
        self.samples.add(sample);
    }
}

/// Running clients, a thread each.
pub(crate) struct Clients {
    shared: Arc<Shared>,
    threads: Vec<(&'static str, JoinHandle<anyhow::Result<()>>)>,
}

type Run = fn(&Shared, &mut fastrand::Rng) -> anyhow::Result<()>;

/// The clients by name.
const CLIENTS: [(&str, Run); 7] = [
    ("by UID", by_uid),
    ("whole pods", whole_pods),
    ("gRPC", over_grpc),
    ("extender", extender),
    ("assume", assume),
    ("state", state),
    ("leaving", leaving),
];

impl Clients {
    /// Starts all of them.
    pub(crate) fn start(shared: &Arc<Shared>) -> anyhow::Result<Self> {
        let mut threads = Vec::new();
        for (number, (name, run)) in CLIENTS.into_iter().enumerate() {
            let shared = Arc::clone(shared);
            let work = move || {
                let mut random = fastrand::Rng::with_seed(shared.seed ^ (number as u64 + 10));
                run(&shared, &mut random)
            };
            threads.push((name, std::thread::Builder::new().name(name.to_owned()).spawn(work)?));
        }
        Ok(Self { shared: Arc::clone(shared), threads })
    }

    /// Stops them; an error where one has failed.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        self.shared.stop.store(true, Ordering::Relaxed);
        for (name, thread) in self.threads {
            match thread.join() {
                Ok(outcome) => outcome.map_err(|error| error.context(format!("the client {name}")))?,
                Err(_) => bail!("the client {name} has panicked"),
            }
        }
        Ok(())
    }
}

/// A connection that is opened again where it breaks.
struct Lasting<'a> {
    shared: &'a Shared,
    endpoint: &'a Endpoint,
    client: Option<Client>,
}

impl<'a> Lasting<'a> {
    fn new(shared: &'a Shared, endpoint: &'a Endpoint) -> Self {
        Self { shared, endpoint, client: None }
    }

    /// The answer, if there is one: connections are cut by faults.
    fn post(&mut self, way: &'static str, path: &str, request: &Value) -> Option<(u16, Value)> {
        if self.client.is_none() {
            self.client = Client::connect(self.endpoint).ok();
        }
        let answer = self.client.as_mut()?.post(path, request.to_string().as_bytes());
        let Ok(answer) = answer else {
            self.client = None;
            return None;
        };
        self.shared.count(way, answer.status, &answer.body);
        Some((answer.status, answer.json()))
    }
}

fn is_sampled(shared: &Shared, random: &mut fastrand::Rng) -> bool {
    random.u32(..SAMPLED_PART) == 0 && shared.samples.has_room()
}

/// Pending pods by UID over the Unix socket, as a core that schedules. Its latencies are measured.
fn by_uid(shared: &Shared, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    const WAY: &str = "filter by UID";
    let mut connection = Lasting::new(shared, &shared.unix);
    while !shared.stop.load(Ordering::Relaxed) {
        let Some((uid, _)) = shared.living.some_pending(random) else {
            wait(PAUSE, &shared.stop);
            continue;
        };
        let sampled = is_sampled(shared, random);
        let _none_assumed = sampled.then(|| shared.assuming.lock());
        let request =
            json!({"pods": [{"uid": uid}], "detail": if sampled { "DETAIL_NODES" } else { "DETAIL_FEASIBLE" }});
        let (started, asked) = (Instant::now(), shared.started.elapsed());
        let Some((200, answer)) = connection.post(WAY, "/v1/filter", &request) else {
            wait(PAUSE, &shared.stop);
            continue;
        };
        if !sampled {
            shared.answered.lock().latencies.push((asked, started.elapsed()));
        } else if let Some(sample) = sample_of(WAY, &answer, AskedPod::Uid(uid)) {
            shared.sample(sample);
        }
        wait(MEASURED_PAUSE, &shared.stop);
    }
    Ok(())
}

/// Whole pods over TCP, filtered and explained; pods by name.
fn whole_pods(shared: &Shared, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    let mut connection = Lasting::new(shared, &shared.tcp);
    while !shared.stop.load(Ordering::Relaxed) {
        let Some(pod) = random.choice(&shared.living.whole).cloned() else { bail!("there are no whole pods") };
        let sampled = is_sampled(shared, random);
        let _none_assumed = sampled.then(|| shared.assuming.lock());
        match random.u8(..4) {
            0 => {
                let request = json!({"pods": [{"object": pod}], "nodes": {"names": shared.living.node_names().into_iter().take(8).collect::<Vec<_>>()}});
                connection.post("explain", "/v1/explain", &request);
            }
            1 => {
                if let Some((_, pod)) = shared.living.some_pending(random) {
                    let reference = json!({"name": {"namespace": namespace(&pod), "name": name(&pod)}});
                    connection.post("filter by name", "/v1/filter", &json!({"pods": [reference], "limit": 5}));
                }
            }
            _ => {
                let request = json!({"pods": [{"object": pod}], "detail": "DETAIL_NODES"});
                let answer = connection.post("filter a whole pod", "/v1/filter", &request);
                if let Some((200, answer)) = answer.filter(|_| sampled)
                    && let Some(sample) = sample_of("filter a whole pod", &answer, AskedPod::Whole(pod))
                {
                    shared.sample(sample);
                }
            }
        }
        wait(PAUSE, &shared.stop);
    }
    Ok(())
}

/// A sample of an answer in JSON; none where a predicate had a fault: on a busy machine it may exceed its deadline.
fn sample_of(way: &'static str, answer: &Value, pod: AskedPod) -> Option<Sample> {
    let about = list(answer, "pods").first()?;
    if !list(about, "faults").is_empty() {
        return None;
    }
    let mut first = First::new();
    for failure in list(about, "failures") {
        let what = (text(failure, "predicate").to_owned(), text(failure, "code").to_owned(), texts(failure, "reasons"));
        first.extend(texts(failure, "nodes").into_iter().map(|node| (node, what.clone())));
    }
    let versions = versions_of(answer)?;
    let message = about["message"].as_str().map(str::to_owned);
    Some(Sample { way, versions, pod, feasible: texts(about, "feasible"), first: Some(first), message })
}

fn versions_of(answer: &Value) -> Option<Versions> {
    let number = |field: &str| text(answer, &format!("version.{field}")).parse().ok();
    Some(Versions { nodes: number("nodesResourceVersion")?, pods: number("podsResourceVersion")? })
}

/// Whole pods and UIDs over gRPC.
fn over_grpc(shared: &Shared, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    const WAY: &str = "gRPC filter";
    let Endpoint::Tcp(address) = shared.tcp else { bail!("not a TCP endpoint") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut client: Option<NodesiftClient<Channel>> = None;
    while !shared.stop.load(Ordering::Relaxed) {
        let Some(pod) = random.choice(&shared.living.whole).cloned() else { bail!("there are no whole pods") };
        let sampled = is_sampled(shared, random);
        let _none_assumed = sampled.then(|| shared.assuming.lock());
        let pods = vec![v1::Pod::from(pod::Pod::Json(pod.to_string()))];
        let request = v1::FilterRequest { pods, detail: v1::Detail::Feasible.into(), ..Default::default() };
        let answer = runtime.block_on(async {
            if client.is_none() {
                client = NodesiftClient::connect(format!("http://{address}")).await.ok();
            }
            match &mut client {
                Some(client) => Some(client.filter(request).await),
                None => None,
            }
        });
        match answer {
            Some(Ok(answer)) => {
                shared.count(WAY, 200, "");
                let answer = answer.into_inner();
                if let Some(sample) = sampled.then(|| grpc_sample(WAY, answer, pod)).flatten() {
                    shared.sample(sample);
                }
            }
            Some(Err(status)) => {
                let code = match status.code() {
                    // The connection has broken, not the call.
                    _ if std::error::Error::source(&status).is_some() => 503,
                    tonic::Code::ResourceExhausted => 429,
                    tonic::Code::Unavailable | tonic::Code::Cancelled => 503,
                    tonic::Code::DeadlineExceeded => 504,
                    _ => 500,
                };
                shared.count(WAY, code, &status.to_string());
                client = None;
            }
            None => {}
        }
        wait(PAUSE, &shared.stop);
    }
    Ok(())
}

fn grpc_sample(way: &'static str, answer: v1::FilterResponse, pod: Value) -> Option<Sample> {
    let version = answer.version?;
    let versions = Versions {
        nodes: version.nodes_resource_version.parse().ok()?,
        pods: version.pods_resource_version.parse().ok()?,
    };
    let about = answer.pods.into_iter().next().filter(|about| about.faults.is_empty())?;
    Some(Sample { way, versions, pod: AskedPod::Whole(pod), feasible: about.feasible, first: None, message: None })
}

/// kube-scheduler's extender protocol, about all nodes by name.
fn extender(shared: &Shared, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    const WAY: &str = "extender";
    let mut connection = Lasting::new(shared, &shared.tcp);
    while !shared.stop.load(Ordering::Relaxed) {
        let Some(pod) = random.choice(&shared.living.whole).cloned() else { bail!("there are no whole pods") };
        let sampled = is_sampled(shared, random);
        let _none_assumed = sampled.then(|| shared.assuming.lock());
        let probe = json!({"pods": [{"object": pod}], "nodes": {"names": []}});
        let before = if sampled { connection.post("version", "/v1/filter", &probe) } else { None };
        let nodes = shared.living.node_names();
        let request = json!({"Pod": pod, "NodeNames": nodes});
        let answer = connection.post(WAY, "/extender/filter", &request);
        let after = if sampled { connection.post("version", "/v1/filter", &probe) } else { None };
        // The answer names no version: it is judged where the cache has not changed meanwhile.
        if let (Some((200, before)), Some((200, answer)), Some((200, after))) = (before, answer, after)
            && text(&answer, "Error").is_empty()
            && text(&before, "version.generation") == text(&after, "version.generation")
            && let Some(versions) = versions_of(&after)
            && !answer["FailedNodes"].to_string().contains("not found in cache")
        {
            let known: Vec<String> =
                shared.living.cluster_at(versions).nodes().map(|node| name(node).to_owned()).collect();
            if known.len() == nodes.len() && nodes.iter().all(|node| known.contains(node)) {
                let mut feasible = texts(&answer, "NodeNames");
                feasible.sort_unstable();
                let sample =
                    Sample { way: WAY, versions, pod: AskedPod::Whole(pod), feasible, first: None, message: None };
                shared.sample(sample);
            }
        }
        wait(PAUSE, &shared.stop);
    }
    Ok(())
}

/// Assumes pending pods and takes it back, as a core that binds.
fn assume(shared: &Shared, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    let mut connection = Lasting::new(shared, &shared.unix);
    while !shared.stop.load(Ordering::Relaxed) {
        let nodes = shared.living.node_names();
        if let (Some((uid, _)), Some(node)) = (shared.living.some_pending(random), random.choice(&nodes)) {
            let _assumed = shared.assuming.lock();
            let pod = json!({"uid": uid});
            let assumed = connection.post("assume", "/v1/assume", &json!({"pod": pod, "node": node}));
            // Without an answer it may be assumed all the same.
            if assumed.is_none_or(|(status, _)| status == 200) {
                let forgotten = || {
                    connection
                        .post("forget", "/v1/forget", &json!({"pod": pod}))
                        .filter(|(status, _)| matches!(status, 200 | 404 | 409))
                };
                let told = std::iter::repeat_with(forgotten).take(100).any(|answer| {
                    answer.is_some() || {
                        wait(PAUSE, &shared.stop);
                        false
                    }
                });
                if !told {
                    bail!("an assumed pod cannot be forgotten");
                }
            }
        }
        wait(4 * PAUSE, &shared.stop);
    }
    Ok(())
}

/// Dumps of the state, metrics, and event streams that are left.
fn state(shared: &Shared, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    while !shared.stop.load(Ordering::Relaxed) {
        for path in ["/v1/state", "/metrics", "/readyz"] {
            if let Ok(answer) = http::get(&shared.unix, path) {
                shared.count(path, answer.status, &answer.body);
            }
        }
        if random.u8(..4) == 0
            && let Ok(_left_open) = http::follow(&shared.unix, "/v1/events")
        {
            wait(DUMP_PAUSE, &shared.stop);
        }
        wait(DUMP_PAUSE, &shared.stop);
    }
    Ok(())
}

/// Clients that leave in the middle of a request or of its answer, or read a piece at a time.
fn leaving(shared: &Shared, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    let whole: Vec<Value> = shared.living.whole.iter().map(|pod| json!({"object": pod})).collect();
    let body = json!({"pods": whole}).to_string();
    let request = format!(
        "POST /v1/explain HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    while !shared.stop.load(Ordering::Relaxed) {
        let endpoint = if random.bool() { &shared.unix } else { &shared.tcp };
        if let Ok(mut wire) = Wire::open(endpoint) {
            let whole = random.bool();
            let sent = if whole { request.len() } else { random.usize(..request.len()) };
            // The sidecar may have closed already.
            let _sent = wire.send(&request.as_bytes()[..sent]);
            for _ in 0..if whole { random.usize(..6) } else { 0 } {
                let _read = wire.receive_some(1 << 10);
                wait(8 * PAUSE, &shared.stop);
            }
        }
        wait(16 * PAUSE, &shared.stop);
    }
    Ok(())
}
