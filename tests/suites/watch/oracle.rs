//! The expected verdicts, from the reference implementation over the server's own objects, compared with the sidecar's.
//!
//! The verdicts of a few probe pods show the sidecar's state: free resources, labels, taints, and the pods per node.
//! [`converges`] waits until the verdicts are right after a fault. [`AnswerPoller`] sends requests all the time, and checks
//! each answer against the server's state at the versions that the answer names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nodesift_fixtures::{Cluster, json as read};
use nodesift_reference::explain_newest;
use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::apiserver::store::Version;
use nodesift_tests::http::{self, Endpoint};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::state::{self, State};
use crate::world;

/// By pod and predicate: the rejected nodes, each with code and reasons; under `*` the feasible nodes.
pub(crate) type Verdicts = BTreeMap<(String, String), BTreeMap<String, String>>;

/// Time between two requests of a poller, short enough to see states that last milliseconds.
const ASKED_EVERY: Duration = Duration::from_millis(3);

/// Maximum number of differences in a failure message.
const SHOWN: usize = 12;

/// Probe pods. Together they depend on free resources, labels, taints, host ports and the pods of the application `app`.
pub(crate) fn probes() -> Vec<Value> {
    let mut probes: Vec<Value> = [100, 8_000, 15_000, 15_500, 15_900, 16_000]
        .iter()
        .map(|millicores| probe(&format!("room-{millicores}"), *millicores))
        .collect();
    let term = json!([{"labelSelector": {"matchLabels": {"app": "app"}}, "topologyKey": "kubernetes.io/hostname"}]);
    let mut apart = probe("apart", 100);
    apart["spec"]["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}});
    let mut spread = probe("spread", 100);
    spread["metadata"]["labels"] = json!({"app": "app"});
    spread["spec"]["topologySpreadConstraints"] = json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "app"}},
    }]);
    let mut labelled = probe("labelled", 100);
    labelled["spec"]["nodeSelector"] = json!({"generation": "1"});
    let mut port = probe("port", 100);
    port["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 8080}]);
    probes.extend([apart, spread, labelled, port]);
    probes
}

/// A pod that exists only in requests.
pub(crate) fn probe(name: &str, millicores: i64) -> Value {
    let mut pod = world::pod(name, "", millicores);
    pod["metadata"]["uid"] = json!(format!("probe-{name}"));
    pod["metadata"]["labels"] = json!({});
    pod
}

/// Two pods per node: one requests exactly the free processor time of the node, the other a millicore more.
pub(crate) fn exact_probes(server: &ApiServer) -> Vec<Value> {
    let cluster = current_cluster(server);
    let free = |node: &Value| {
        let used: i64 = cluster.pods_on(node).map(|pod| millicores(&nodesift_reference::requests::taken_by(pod))).sum();
        millicores(&nodesift_reference::requests::given_by(node)) - used
    };
    let pair = |node: &Value| {
        let (name, free) = (read::name(node), free(node).max(0));
        [probe(&format!("fits-{name}"), free), probe(&format!("exceeds-{name}"), free + 1)]
    };
    cluster.nodes().flat_map(pair).collect()
}

fn millicores(amounts: &nodesift_reference::requests::Rounded) -> i64 {
    amounts.get("cpu").copied().unwrap_or_default()
}

/// The objects that the server has now.
pub(crate) fn current_cluster(server: &ApiServer) -> Cluster {
    cluster_of(server.look(|store| store.objects()))
}

fn cluster_of(objects: Vec<Value>) -> Cluster {
    let mut cluster = Cluster::default();
    objects.into_iter().for_each(|object| cluster.apply(object));
    cluster
}

/// The reference's verdicts on pods.
pub(crate) fn expected(cluster: &Cluster, probes: &[Value]) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for pod in probes {
        let explanation = explain_newest(cluster, pod);
        for (predicate, outcome) in &explanation.alone {
            let rejected = outcome
                .failures
                .iter()
                .map(|(node, failure)| (node.clone(), said(failure.code.name(), &json!(failure.reasons))));
            verdicts.insert((explanation.pod.clone(), (*predicate).to_owned()), rejected.collect());
        }
        let feasible = explanation.together.feasible.iter().map(|node| (node.clone(), String::new()));
        verdicts.insert((explanation.pod.clone(), "*".to_owned()), feasible.collect());
    }
    verdicts
}

/// The sidecar's verdicts on pods.
pub(crate) fn asked(sidecar: &Sidecar, probes: &[Value]) -> Result<Verdicts, String> {
    let answer = ask(&sidecar.unix(), &question(probes))?;
    Ok(verdicts_of(&answer))
}

/// An `explain` request with whole pods.
pub(crate) fn question(probes: &[Value]) -> String {
    let pods: Vec<Value> = probes.iter().map(|pod| json!({"json": pod.to_string()})).collect();
    json!({"pods": pods}).to_string()
}

/// Repeats a request until the answer has no fault: on a busy machine a predicate may exceed its deadline.
fn ask(endpoint: &Endpoint, question: &str) -> Result<Value, String> {
    let answer = timeout::until(|| {
        let response = match http::post(endpoint, "/v1/explain", question) {
            Ok(response) => response,
            Err(error) => return Some(Err(error)),
        };
        if response.status != 200 {
            return Some(Err(format!("{}: {}", response.status, response.body)));
        }
        let answer = response.json();
        (!has_fault(&answer)).then_some(Ok(answer))
    });
    answer.unwrap_or_else(|| Err("no answer without a fault".to_owned()))
}

fn has_fault(answer: &Value) -> bool {
    let pods = read::list(answer, "pods");
    pods.iter().any(|pod| !read::list(pod, "conjunction.faults").is_empty())
}

fn verdicts_of(answer: &Value) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for pod in read::list(answer, "pods") {
        let name = read::text(pod, "pod").to_owned();
        for predicate in read::list(pod, "predicates") {
            let rejected = read::list(predicate, "failures").iter().flat_map(|failure| {
                let what = said(read::text(failure, "code"), &failure["reasons"]);
                read::texts(failure, "nodes").into_iter().map(move |node| (node, what.clone()))
            });
            verdicts.insert((name.clone(), read::text(predicate, "predicate").to_owned()), rejected.collect());
        }
        let feasible = read::texts(pod, "conjunction.feasible").into_iter().map(|node| (node, String::new()));
        verdicts.insert((name, "*".to_owned()), feasible.collect());
    }
    verdicts
}

fn said(code: &str, reasons: &Value) -> String {
    format!("{code} {reasons}")
}

/// Waits until the sidecar's verdicts on the usual probes are as expected. Returns the time that this took.
pub(crate) fn converges(server: &ApiServer, sidecar: &Sidecar) -> Duration {
    converges_on(server, sidecar, &probes())
}

/// Waits like [`converges`] for the verdicts on these pods. The server's objects must not change meanwhile.
pub(crate) fn converges_on(server: &ApiServer, sidecar: &Sidecar, probes: &[Value]) -> Duration {
    let began = Instant::now();
    let expected = expected(&current_cluster(server), probes);
    let question = question(probes);
    let mut last = String::new();
    let agrees = timeout::until(|| match ask(&sidecar.unix(), &question) {
        Ok(answer) => {
            let difference = difference(&verdicts_of(&answer), &expected);
            last = difference.clone().unwrap_or_default();
            difference.is_none().then_some(())
        }
        Err(error) => {
            last = error;
            None
        }
    });
    assert!(agrees.is_some(), "the sidecar's verdicts do not become as expected:{last}\n{}", sidecar.output());
    began.elapsed()
}

/// The differences between two sets of verdicts; `None` where they are equal.
pub(crate) fn difference(found: &Verdicts, expected: &Verdicts) -> Option<String> {
    let mut differences = Vec::new();
    let mut keys: Vec<_> = found.keys().chain(expected.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let (found, expected) = (found.get(key), expected.get(key));
        if found == expected {
            continue;
        }
        let (Some(found), Some(expected)) = (found, expected) else {
            differences.push(format!("\n  {key:?}: sidecar {found:?}, expected {expected:?}"));
            continue;
        };
        let nodes: std::collections::BTreeSet<_> = found.keys().chain(expected.keys()).collect();
        for node in nodes.into_iter().filter(|node| found.get(*node) != expected.get(*node)) {
            let (found, expected) = (found.get(node), expected.get(node));
            differences.push(format!("\n  {key:?} {node}: sidecar {found:?}, expected {expected:?}"));
        }
    }
    let count = differences.len();
    differences.truncate(SHOWN);
    (count > 0).then(|| format!("\n  {count} differences{}", differences.concat()))
}

/// One recorded answer with its times.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// When the request was sent, since the poller started.
    pub(crate) asked: Duration,
    /// The time from request to answer.
    pub(crate) took: Duration,
    /// The answer to `explain`, or the error. Equal answers in a row are one value.
    pub(crate) answer: Result<Arc<Value>, String>,
}

/// Sends requests in a loop and records the answers.
pub(crate) struct AnswerPoller {
    over: Arc<AtomicBool>,
    answered: Arc<AtomicBool>,
    asking: JoinHandle<Vec<Record>>,
}

impl AnswerPoller {
    /// Starts to send requests about the usual probes.
    pub(crate) fn start(sidecar: &Sidecar) -> Self {
        Self::pausing(sidecar, ASKED_EVERY)
    }

    /// Starts to send requests with this pause after each, where nothing is expected to change for long.
    pub(crate) fn pausing(sidecar: &Sidecar, pause: Duration) -> Self {
        let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (endpoint, ended, any) = (sidecar.unix(), Arc::clone(&over), Arc::clone(&answered));
        let asking = std::thread::spawn(move || {
            let question = question(&probes());
            let began = Instant::now();
            let mut records = Vec::new();
            // Most answers are those of before, byte by byte, and to parse one takes longer than to get it.
            let mut last: Option<(String, Arc<Value>)> = None;
            while !ended.load(Ordering::Relaxed) {
                let asked = began.elapsed();
                let response = http::post(&endpoint, "/v1/explain", &question);
                let took = began.elapsed() - asked;
                let answer = match response {
                    Ok(response) if response.status != 200 => Err(response.status.to_string()),
                    Ok(response) => match &last {
                        Some((body, answer)) if *body == response.body => Ok(Arc::clone(answer)),
                        _ => {
                            let answer = Arc::new(response.json());
                            last = Some((response.body, Arc::clone(&answer)));
                            Ok(answer)
                        }
                    },
                    Err(error) => Err(error),
                };
                any.fetch_or(answer.is_ok(), Ordering::Relaxed);
                records.push(Record { asked, took, answer });
                std::thread::park_timeout(pause);
            }
            records
        });
        Self { over, answered, asking }
    }

    /// Stops, and checks that every request was answered, that versions never decreased, and that every answer is right at the
    /// versions that it names. Returns the records.
    pub(crate) fn check(self, server: &ApiServer) -> Vec<Record> {
        let records = self.end();
        let refused: Vec<&Record> = records.iter().filter(|record| record.answer.is_err()).collect();
        assert!(
            refused.is_empty(),
            "{} of {} requests unanswered: {:?}",
            refused.len(),
            records.len(),
            refused.first()
        );
        check_history(server, &records);
        records
    }

    /// Whether any request was answered.
    pub(crate) fn has_answer(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Whether the poller's thread has ended by itself.
    pub(crate) fn is_over(&self) -> bool {
        self.asking.is_finished()
    }

    /// Stops, and returns the records unchecked.
    pub(crate) fn end(self) -> Vec<Record> {
        self.over.store(true, Ordering::Relaxed);
        self.asking.join().expect("a poller")
    }
}

/// Waits until the dump of the sidecar's state is as expected. The server's objects must not change meanwhile.
pub(crate) fn state_converges(server: &ApiServer, sidecar: &Sidecar) -> Duration {
    let began = Instant::now();
    let expected = State::from_cluster(&current_cluster(server));
    let mut last = String::new();
    let agrees = timeout::until(|| {
        last = match state::dumped(&sidecar.unix()) {
            Ok(dump) => State::from_dump(&dump).difference(&expected).unwrap_or_default(),
            Err(error) => error,
        };
        last.is_empty().then_some(())
    });
    assert!(agrees.is_some(), "the state does not become as expected:{last}\n{}", sidecar.output());
    began.elapsed()
}

/// Requests dumps of the state in a loop and records them.
pub(crate) struct StatePoller {
    over: Arc<AtomicBool>,
    asking: JoinHandle<Vec<Value>>,
}

impl StatePoller {
    /// Starts to send requests to a sidecar that is ready.
    pub(crate) fn start(sidecar: &Sidecar) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (endpoint, ended) = (sidecar.unix(), Arc::clone(&over));
        let asking = std::thread::spawn(move || {
            let mut dumps: Vec<Value> = Vec::new();
            let mut last = String::new();
            while !ended.load(Ordering::Relaxed) {
                let text = state::text(&endpoint).expect("a sidecar that was ready answers");
                // Equal successive dumps are recorded once.
                if text != last {
                    dumps.push(serde_json::from_str(&text).expect("a dump is JSON"));
                    last = text;
                }
                std::thread::park_timeout(ASKED_EVERY);
            }
            dumps
        });
        Self { over, asking }
    }

    /// Stops, and checks that versions never decreased and that every dump is right at its versions. Returns the number of dumps.
    pub(crate) fn check(self, server: &ApiServer) -> usize {
        self.over.store(true, Ordering::Relaxed);
        let dumps = self.asking.join().expect("a poller");
        let mut before = Past::default();
        for (place, dump) in dumps.iter().enumerate() {
            let now = before.followed_by(dump, place);
            let expected = State::from_cluster(&cluster_at(server, now));
            if let Some(difference) = State::from_dump(dump).difference(&expected) {
                panic!("dump {place} of {}, at {now:?}, is wrong for its versions:{difference}", dumps.len());
            }
        }
        assert!(!dumps.is_empty(), "no answer was recorded");
        dumps.len()
    }
}

/// The versions of the last answer in a sequence.
#[derive(Debug, Default)]
struct Past {
    generation: u64,
    versions: Versions,
}

impl Past {
    /// The versions of the next answer, which must not be lower.
    fn followed_by(&mut self, answer: &Value, place: usize) -> Versions {
        let number = |field: &str| -> u64 {
            let text = read::text(answer, &format!("version.{field}"));
            text.parse().unwrap_or_else(|error| panic!("answer {place}: version.{field} {text:?}: {error}"))
        };
        let now = Versions { nodes: number("nodesResourceVersion"), pods: number("podsResourceVersion") };
        let generation = number("generation");
        assert!(
            generation >= self.generation,
            "answer {place}: generation {} decreases to {generation}",
            self.generation
        );
        let fell = now.nodes < self.versions.nodes || now.pods < self.versions.pods;
        assert!(!fell, "answer {place}: {:?} decrease to {now:?}", self.versions);
        *self = Self { generation, versions: now };
        now
    }
}

/// The versions from which an answer was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Versions {
    nodes: Version,
    pods: Version,
}

/// Checks a sequence of answers. Kinds other than nodes and pods must not have changed while it was recorded.
pub(crate) fn check_history(server: &ApiServer, records: &[Record]) {
    let answers: Vec<&Arc<Value>> = records.iter().filter_map(|record| record.answer.as_ref().ok()).collect();
    let mut past = Past::default();
    let mut known: BTreeMap<Versions, Verdicts> = BTreeMap::new();
    for (place, answer) in answers.iter().enumerate() {
        // It has been found right.
        if place > 0 && Arc::ptr_eq(answer, answers[place - 1]) {
            continue;
        }
        let now = past.followed_by(answer, place);
        if has_fault(answer) {
            continue;
        }
        let expected = known.entry(now).or_insert_with(|| expected(&cluster_at(server, now), &probes()));
        if let Some(difference) = difference(&verdicts_of(answer), expected) {
            panic!("answer {place} of {}, at {now:?}, is wrong for its versions:{difference}", answers.len());
        }
    }
    assert!(!answers.is_empty(), "no answer was recorded");
}

fn cluster_at(server: &ApiServer, versions: Versions) -> Cluster {
    let objects = server.look(|store| {
        let mut objects = store.objects();
        objects.retain(|object| !matches!(read::text(object, "kind"), "Node" | "Pod"));
        objects.extend(store.objects_at("Node", versions.nodes));
        objects.extend(store.objects_at("Pod", versions.pods));
        objects
    });
    cluster_of(objects)
}
