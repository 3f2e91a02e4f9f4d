//! The record against a small API server: who is first, what a restart finds, what outlives its pod; and against the record in memory.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::Empty;
use serde_json::{Value, json};

use super::*;
use crate::limits::{RECORD_NAME_BYTES, RECORD_UNSEEN_HOLDER};
use nodesift_negotiation::limits::{CALLS_OF_POD, CLAIMS};
use nodesift_parties::record::DecidedParty;
use nodesift_source::kube::Verb;

/// The part of an API server that the record sees: objects with versions, preconditions and finalizers.
#[derive(Debug, Default)]
struct Cluster(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    /// By namespace and name.
    objects: BTreeMap<String, Value>,
    versions: u64,
    /// Requests that are carried out, and whose answer is lost.
    unheard: usize,
}

fn failure(status: u16) -> Failure {
    let message = status.to_string();
    match status {
        404 => Failure::NotServed { message },
        _ => Failure::Refused { status, message, retry_after: None },
    }
}

impl Held {
    fn store(&mut self, key: &str, mut object: Value) -> Value {
        self.versions += 1;
        object["metadata"]["resourceVersion"] = json!(self.versions.to_string());
        let metadata = &object["metadata"];
        let waits = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        if metadata["deletionTimestamp"].is_null() || waits {
            self.objects.insert(key.to_owned(), object.clone());
        } else {
            self.objects.remove(key);
        }
        object
    }

    /// Marks an object as deleted, as garbage collection does with the objects of a pod that is gone.
    fn mark(&mut self, key: &str) -> Value {
        let mut object = self.objects[key].clone();
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        self.store(key, object)
    }

    fn request(&mut self, verb: Verb, uri: &str, body: &str) -> Result<Value, Failure> {
        let path = uri.strip_prefix("/apis/nodesift.dev/v1alpha1/namespaces/").unwrap();
        let (namespace, rest) = path.split_once('/').unwrap();
        let named = rest.strip_prefix("podnegotiations").unwrap().trim_start_matches('/');
        let body: Value = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() };
        let name = body["metadata"]["name"].as_str().filter(|_| named.is_empty()).unwrap_or(named);
        let key = format!("{namespace}/{name}");
        let known = self.objects.get(&key).cloned();
        let differs = |wanted: &Value, field: &str| {
            let wanted = &wanted[field];
            !wanted.is_null() && known.as_ref().is_some_and(|known| known["metadata"][field] != *wanted)
        };
        let is_stale = |wanted: &Value| differs(wanted, "uid") || differs(wanted, "resourceVersion");
        match (verb, &known) {
            (Verb::Create, Some(_)) => Err(failure(409)),
            (Verb::Create, None) => {
                let mut object = body;
                object["metadata"]["uid"] = json!(format!("object-{}", self.versions));
                Ok(self.store(&key, object))
            }
            (_, None) => Err(failure(404)),
            (Verb::Get, Some(known)) => Ok(known.clone()),
            (Verb::Update, Some(_)) if is_stale(&body["metadata"]) => Err(failure(409)),
            (Verb::Update, Some(known)) => {
                let mut object = body;
                object["metadata"]["deletionTimestamp"] = known["metadata"]["deletionTimestamp"].clone();
                Ok(self.store(&key, object))
            }
            (Verb::Delete, Some(_)) if is_stale(&body["preconditions"]) => Err(failure(409)),
            (Verb::Delete, Some(_)) => Ok(self.mark(&key)),
        }
    }
}

impl Server for Cluster {
    type Chunks = Empty<Result<Bytes, Failure>>;

    async fn list_page(&self, uri: &str) -> Result<Bytes, Failure> {
        assert!(uri.starts_with("/apis/nodesift.dev/v1alpha1/podnegotiations?"), "{uri}");
        let items: Vec<Value> = self.0.lock().objects.values().cloned().collect();
        Ok(json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string().into())
    }

    async fn watch(&self, _uri: &str) -> Result<Self::Chunks, Failure> {
        Err(failure(404))
    }
}

impl Objects for Cluster {
    async fn request(&self, verb: Verb, uri: &str, body: &str) -> Result<Bytes, Failure> {
        let mut objects = self.0.lock();
        let answer = objects.request(verb, uri, body)?.to_string().into();
        if verb != Verb::Get && objects.unheard > 0 {
            objects.unheard -= 1;
            return Err(Failure::Transport("connection reset".to_owned()));
        }
        Ok(answer)
    }
}

fn pod(uid: &str) -> DecidedPod {
    DecidedPod { namespace: "ns".into(), name: "simulation-0".into(), uid: uid.into() }
}

fn decision(uid: &str, state: DecisionState, call: u64) -> Decision {
    let parties = vec![DecidedParty {
        party: "licences".into(),
        call,
        claims: vec!["claim".into()],
        gives_back: call.is_multiple_of(2),
    }];
    Decision { pod: pod(uid), state, node: "node-a".into(), parties }
}

fn yes(written: Written) -> Revision {
    match written {
        Written::Yes(revision) => revision,
        Written::Lost(stands) => panic!("lost to {stands:?}"),
    }
}

fn lost(written: Written) -> Option<Decision> {
    match written {
        Written::Yes(revision) => panic!("written as {revision:?}"),
        Written::Lost(stands) => stands.map(|stands| stands.decision),
    }
}

/// A sidecar of a name, which takes all others but one for gone.
fn sidecar(cluster: &Arc<Cluster>, holder: &str, there: &'static str) -> ObjectRecord<Cluster> {
    looking(cluster, holder, there, Box::new(|_: &DecidedPod| Found::Nowhere))
}

/// A sidecar that finds pods in a cache.
fn looking(cluster: &Arc<Cluster>, holder: &str, there: &'static str, find: Find) -> ObjectRecord<Cluster> {
    ObjectRecord::new(Arc::clone(cluster), holder.to_owned(), Box::new(move |name: &str| name == there), find)
}

/// Two sidecars beside one cluster; each takes the other for gone.
fn two() -> (Arc<Cluster>, ObjectRecord<Cluster>, ObjectRecord<Cluster>) {
    let cluster = Arc::new(Cluster::default());
    let (one, other) = (sidecar(&cluster, "one", ""), sidecar(&cluster, "other", ""));
    (cluster, one, other)
}

const KEY: &str = "ns/simulation-0-u";

#[tokio::test]
async fn the_first_of_two_sidecars_wins_and_a_restart_finds_what_stands() {
    let (_, one, other) = two();
    let first = decision("u", DecisionState::Allocating, 1);
    let seen = yes(one.decide(&first, None).await.unwrap());
    assert_eq!(
        lost(other.decide(&decision("u", DecisionState::Allocating, 2), None).await.unwrap()),
        Some(first.clone())
    );
    let loaded = other.load().await.unwrap();
    let [found] = &loaded[..] else { panic!("one decision") };
    assert_eq!((&found.decision, &found.revision), (&first, &seen));

    let bound = decision("u", DecisionState::Bound, 1);
    let newer = yes(other.decide(&bound, Some(&found.revision)).await.unwrap());
    assert_eq!(
        lost(one.decide(&decision("u", DecisionState::Allocated, 1), Some(&seen)).await.unwrap()),
        Some(bound.clone())
    );
    assert_eq!(lost(one.remove(&pod("u"), Some(&seen)).await.unwrap()), Some(bound));
    yes(other.remove(&pod("u"), Some(&newer)).await.unwrap());
    assert!(one.load().await.unwrap().is_empty());
    yes(one.remove(&pod("u"), Some(&newer)).await.unwrap());
    assert_eq!(lost(one.decide(&first, Some(&newer)).await.unwrap()), None, "it is gone");
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_lost_is_found_by_the_next_try() {
    let (cluster, record, _) = two();
    let first = decision("u", DecisionState::Allocating, 1);
    cluster.0.lock().unheard = 1;
    assert!(matches!(record.decide(&first, None).await, Err(RecordError::Unavailable(_))));
    assert_eq!(record.trouble().as_deref(), Some("the record of decisions does not answer: connection reset"));
    let seen = yes(record.decide(&first, None).await.unwrap());
    assert_eq!(record.trouble(), None);
    cluster.0.lock().unheard = 1;
    let bound = decision("u", DecisionState::Bound, 1);
    assert!(record.decide(&bound, Some(&seen)).await.is_err());
    let newer = yes(record.decide(&bound, Some(&seen)).await.unwrap());
    assert_eq!(record.load().await.unwrap()[0].decision, bound);
    cluster.0.lock().unheard = 1;
    assert!(record.remove(&pod("u"), Some(&newer)).await.is_err());
    yes(record.remove(&pod("u"), Some(&newer)).await.unwrap());
    assert!(cluster.0.lock().objects.is_empty());
    // Nobody waits for that one any more: the next decision takes its place.
    cluster.0.lock().unheard = 1;
    assert!(record.decide(&first, None).await.is_err());
    let second = decision("u", DecisionState::Allocating, 2);
    yes(record.decide(&second, None).await.unwrap());
    assert_eq!(record.load().await.unwrap()[0].decision, second);
}

#[tokio::test(start_paused = true)]
async fn what_was_written_without_being_heard_of_is_removed_by_its_writer_alone() {
    let (cluster, one, other) = two();
    cluster.0.lock().unheard = 1;
    assert!(one.decide(&decision("u", DecisionState::Allocating, 1), None).await.is_err());
    assert!(lost(other.remove(&pod("u"), None).await.unwrap()).is_some());
    yes(one.remove(&pod("u"), None).await.unwrap());
    assert!(cluster.0.lock().objects.is_empty());
    assert_eq!(lost(one.remove(&pod("u"), None).await.unwrap()), None);
}

#[tokio::test]
async fn an_object_outlives_its_pod_until_it_is_removed() {
    let (cluster, record, _) = two();
    let seen = yes(record.decide(&decision("u", DecisionState::Bound, 1), None).await.unwrap());
    // The pod is gone, and garbage collection comes: a change of the object that is none of the decision.
    cluster.0.lock().mark(KEY);
    let loaded = record.load().await.unwrap();
    let [found] = &loaded[..] else { panic!("the finalizer keeps it") };
    assert_eq!(found.decision.state, DecisionState::Bound);
    let seen = yes(record.decide(&decision("u", DecisionState::Deallocating, 1), Some(&seen)).await.unwrap());
    cluster.0.lock().mark(KEY);
    yes(record.remove(&pod("u"), Some(&seen)).await.unwrap());
    assert!(cluster.0.lock().objects.is_empty());
}

#[tokio::test]
async fn a_version_of_an_object_before_is_none_of_the_one_that_has_taken_its_place() {
    let (_, one, other) = two();
    let stale = yes(one.decide(&decision("u", DecisionState::Allocating, 1), None).await.unwrap());
    yes(other.remove(&pod("u"), Some(&stale)).await.unwrap());
    let second = decision("u", DecisionState::Allocating, 2);
    yes(other.decide(&second, None).await.unwrap());
    assert_eq!(
        lost(one.decide(&decision("u", DecisionState::Allocated, 1), Some(&stale)).await.unwrap()),
        Some(second.clone())
    );
    assert_eq!(lost(one.remove(&pod("u"), Some(&stale)).await.unwrap()), Some(second));
}

#[tokio::test]
async fn a_pod_that_is_made_anew_has_an_object_of_its_own() {
    let (cluster, record, _) = two();
    yes(record.decide(&decision("u", DecisionState::Deallocating, 1), None).await.unwrap());
    yes(record.decide(&decision("v", DecisionState::Allocating, 2), None).await.unwrap());
    assert_eq!(cluster.0.lock().objects.keys().collect::<Vec<_>>(), ["ns/simulation-0-u", "ns/simulation-0-v"]);
    let long = DecidedPod { name: "a-".repeat(126).into(), ..pod("11111111-1111-1111-1111-111111111111") };
    let name = document::name(&long);
    assert!(name.len() <= RECORD_NAME_BYTES && name.ends_with("-a-11111111-1111-1111-1111-111111111111"), "{name}");
}

#[tokio::test]
async fn an_object_that_cannot_be_read_hides_no_other() {
    let (cluster, record, _) = two();
    yes(record.decide(&decision("u", DecisionState::Bound, 1), None).await.unwrap());
    yes(record.decide(&decision("v", DecisionState::Bound, 2), None).await.unwrap());
    cluster.0.lock().objects.get_mut(KEY).unwrap()["status"]["parties"][0]["call"] = json!("twelve");
    let loaded = record.load().await.unwrap();
    assert_eq!(loaded.iter().map(|found| &*found.decision.pod.uid).collect::<Vec<_>>(), ["v"]);
    let revision = Revision("of another record".into());
    assert!(matches!(record.remove(&pod("v"), Some(&revision)).await, Err(RecordError::Refused(_))));
}

#[tokio::test]
async fn objects_that_are_no_work_of_a_sidecar_are_passed_over_and_pods_that_are_there_come_first() {
    let (cluster, one, _) = two();
    for uid in ["ended", "named", "owned", "elsewhere", "orphan", "there"] {
        yes(one.decide(&decision(uid, DecisionState::Deallocating, 1), None).await.unwrap());
    }
    {
        let mut objects = cluster.0.lock();
        let mut metadata = |uid: &str, field: &str, value: Value| {
            objects.objects.get_mut(&format!("ns/simulation-0-{uid}")).unwrap()["metadata"][field] = value;
        };
        metadata("named", "name", json!("any"));
        metadata("orphan", "ownerReferences", json!([]));
        let other = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "simulation-0", "uid": "owned"}]);
        metadata("owned", "ownerReferences", other);
    }
    let find = |pod: &DecidedPod| match &*pod.uid {
        "there" => Found::Here,
        "elsewhere" => Found::Elsewhere,
        _ => Found::Nowhere,
    };
    let record = looking(&cluster, "one", "", Box::new(find));
    let loaded = record.load().await.unwrap();
    let uids: Vec<&str> = loaded.iter().map(|found| &*found.decision.pod.uid).collect();
    assert_eq!(uids, ["there", "ended", "orphan"]);
    assert_eq!(record.foreign.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn what_another_sidecar_works_on_is_left_to_it_while_it_is_there() {
    let (cluster, one, _) = two();
    for (uid, state) in [
        ("allocating", DecisionState::Allocating),
        ("allocated", DecisionState::Allocated),
        ("bound", DecisionState::Bound),
        ("deallocating", DecisionState::Deallocating),
    ] {
        yes(one.decide(&decision(uid, state, 1), None).await.unwrap());
    }
    for (holder, there, expected) in [
        ("other", "one", &["bound"][..]),
        ("other", "third", &["allocated", "allocating", "bound", "deallocating"][..]),
        ("one", "one", &["allocated", "allocating", "bound", "deallocating"][..]),
    ] {
        let loaded = sidecar(&cluster, holder, there).load().await.unwrap();
        let uids: BTreeSet<&str> = loaded.iter().map(|found| &*found.decision.pod.uid).collect();
        assert_eq!(uids, expected.iter().copied().collect(), "{holder} while {there} is there");
        let left = sidecar(&cluster, holder, there).load_left().await.unwrap();
        assert_eq!(left.len(), if there == "third" { 4 } else { 0 }, "left to {holder} while {there} is there");
    }
}

/// Revisions of a pod that one sidecar has seen last: in the objects, and in memory.
type Seen = (Option<Revision>, Option<Revision>);

/// The record in memory says what should come of each write.
#[tokio::test]
async fn objects_behave_as_the_record_in_memory() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..50 {
        let (cluster, one, other) = two();
        let slow = NoRecord::default();
        // What each of the two has seen last of each pod: in the objects, and in memory.
        let mut seen = BTreeMap::<(bool, &str), Seen>::new();
        for call in 0..40 {
            let (is_one, uid) = (random.bool(), if random.bool() { "u" } else { "v" });
            let record = if is_one { &one } else { &other };
            let known = seen.entry((is_one, uid)).or_default();
            if random.u8(..4) == 0 && cluster.0.lock().objects.contains_key(&format!("ns/simulation-0-{uid}")) {
                // Metadata changes, and nothing else.
                let mut objects = cluster.0.lock();
                let key = format!("ns/simulation-0-{uid}");
                let object = objects.objects[&key].clone();
                objects.store(&key, object);
            }
            let (fast, twin) = match (&*known, random.u8(..4)) {
                ((Some(fast), Some(twin)), 0) => (
                    record.remove(&pod(uid), Some(fast)).await.unwrap(),
                    slow.remove(&pod(uid), Some(twin)).await.unwrap(),
                ),
                ((fast, twin), _) => {
                    let wanted = decision(uid, DecisionState::Allocating, call);
                    let fast = record.decide(&wanted, fast.as_ref()).await.unwrap();
                    (fast, slow.decide(&wanted, twin.as_ref()).await.unwrap())
                }
            };
            *known = match (fast, twin) {
                (Written::Yes(fast), Written::Yes(twin)) => (Some(fast), Some(twin)),
                (Written::Lost(Some(fast)), Written::Lost(Some(twin))) => {
                    assert_eq!(fast.decision, twin.decision, "seed {seed}");
                    (Some(fast.revision), Some(twin.revision))
                }
                (Written::Lost(None), Written::Lost(None)) => (None, None),
                (fast, twin) => panic!("seed {seed}: {fast:?}, in memory {twin:?}"),
            };
        }
        let stand = |all: Vec<Recorded>| all.into_iter().map(|it| it.decision.parties[0].call).collect::<BTreeSet<_>>();
        assert_eq!(stand(one.load().await.unwrap()), stand(slow.load().await.unwrap()), "seed {seed}");
    }
}

/// The type of each field, below a path of the schema.
fn check(value: &Value, schema: &Value, path: &str) {
    let kind = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let schema = &schema["properties"][name];
                assert!(!schema.is_null(), "the definition has no {path}.{name}");
                check(value, schema, &format!("{path}.{name}"));
            }
            for required in schema["required"].as_array().into_iter().flatten() {
                assert!(fields.contains_key(required.as_str().unwrap()), "{path} lacks {required}");
            }
            "object"
        }
        Value::Array(items) => {
            items.iter().for_each(|item| check(item, &schema["items"], &format!("{path}[]")));
            "array"
        }
        Value::String(text) => {
            let one_of = schema["enum"].as_array();
            assert!(one_of.is_none_or(|names| names.contains(&json!(text))), "{path}: {text}");
            "string"
        }
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        other => panic!("{path}: {other}"),
    };
    assert_eq!(schema["type"], kind, "{path}");
}

#[test]
fn every_object_has_the_fields_of_the_definition_and_reads_as_it_was_written() {
    let definition: Value = serde_saphyr::from_str(include_str!("../../../../../deploy/podnegotiations.yaml")).unwrap();
    let spec = &definition["spec"];
    let names = (&spec["names"]["kind"], &spec["names"]["plural"], &spec["group"], &spec["versions"][0]["name"]);
    assert_eq!(names, (&json!(document::KIND), &json!(NEGOTIATIONS.plural), &json!(GROUP), &json!(VERSION)));
    assert_eq!(spec["versions"][0]["subresources"], Value::Null, "a decision is written by one request");
    let schema = &spec["versions"][0]["schema"]["openAPIV3Schema"];
    let parties = &schema["properties"]["status"]["properties"]["parties"];
    assert_eq!(parties["maxItems"], json!(CALLS_OF_POD));
    assert_eq!(parties["items"]["properties"]["claims"]["maxItems"], json!(CLAIMS));
    let states =
        [DecisionState::Allocating, DecisionState::Allocated, DecisionState::Bound, DecisionState::Deallocating];
    for state in states {
        let decision = decision("u", state, u64::MAX);
        let mut object: Value = serde_json::from_str(&document::write(&decision, "ns/sidecar", None)).unwrap();
        let mut shown = object.clone();
        // API servers know these.
        shown.as_object_mut().unwrap().remove("metadata");
        check(&shown, schema, "");
        object["metadata"]["uid"] = json!("o");
        object["metadata"]["resourceVersion"] = json!("1");
        assert_eq!(Stored::read(object.to_string().as_bytes()).unwrap().decision, decision);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_sidecar_outside_of_the_cluster_gives_back_is_taken_once_it_has_not_been_written_for_long() {
    let (cluster, one, _) = two();
    let given_back = decision("u", DecisionState::Deallocating, 1);
    let seen = yes(one.decide(&given_back, None).await.unwrap());
    yes(one.decide(&decision("v", DecisionState::Allocated, 3), None).await.unwrap());
    let (other, inside) = (sidecar(&cluster, "other", "one"), sidecar(&cluster, "ns/inside", "one"));
    assert!(other.load_left().await.unwrap().is_empty());
    tokio::time::advance(RECORD_UNSEEN_HOLDER - Duration::from_secs(1)).await;
    assert!(other.load_left().await.unwrap().is_empty());
    // It is there, and writes.
    yes(one.decide(&given_back, Some(&seen)).await.unwrap());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(other.load_left().await.unwrap().is_empty() && inside.load_left().await.unwrap().is_empty());
    tokio::time::advance(RECORD_UNSEEN_HOLDER).await;
    for record in [&other, &inside] {
        let left = record.load_left().await.unwrap();
        assert_eq!(left.iter().map(|found| &*found.decision.pod.uid).collect::<Vec<_>>(), ["u"]);
    }
}
