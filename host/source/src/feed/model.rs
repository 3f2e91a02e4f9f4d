//! The slow, obvious model of the feed: a map of the newest versions. Random histories of a server, with everything that can
//! happen to a stream of events, must end in the same objects in both.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Metrics;
use super::applier::Applier;
use super::queue::Queue;
use super::target::{ApplyError, Target};
use crate::change::{Change, Compiled, Identity, ObjectChange, Record};
use crate::limits::FEED_RETRY_MOST;
use nodesift_cache::metadata::{AntiAffinityTerm, HostPort, NodeFacts, Ownership, PodFacts, PodRecord};
use nodesift_cache::{self as cache, Reader, Row, Writer};
use nodesift_object::Kind;

/// The cache's writer with random faults.
struct Flaky {
    writer: Writer,
    random: fastrand::Rng,
    /// Number of attempts that fail, of 100.
    failures: u8,
    when: When,
}

/// Point of an attempt at which it fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before it has done anything.
    Before,
    /// After some of it is done.
    Halfway,
}

impl Flaky {
    fn trip(&mut self) -> Result<(), ApplyError> {
        // A panic that was due in the attempt before, and was not reached.
        cache::panic_after(None);
        match self.random.u8(0..100) < self.failures {
            false => Ok(()),
            true if self.when == When::Halfway => {
                cache::panic_after(Some(self.random.u32(0..8)));
                Ok(())
            }
            true if self.random.bool() => Err(ApplyError::NoNamespace { key: "on purpose".to_owned() }),
            true => panic!("on purpose"),
        }
    }
}

impl Target for Flaky {
    fn apply(&mut self, object: &Compiled) -> Result<(), ApplyError> {
        self.trip()?;
        Target::apply(&mut self.writer, object)
    }

    fn remove(&mut self, deleted: &Identity) -> Result<(), ApplyError> {
        self.trip()?;
        Target::remove(&mut self.writer, deleted)
    }

    fn note_ended(&mut self, uid: &str) {
        self.writer.note_ended(uid);
    }

    fn recount(&mut self, kind: Kind, uid: &str) -> Result<(), ApplyError> {
        self.trip()?;
        Target::recount(&mut self.writer, kind, uid)
    }

    fn pod(&self, uid: &str, key: &str) -> Option<Arc<PodRecord>> {
        Target::pod(&self.writer, uid, key)
    }

    fn pods(&self) -> Vec<Arc<PodRecord>> {
        Target::pods(&self.writer)
    }

    fn pod_count(&self) -> usize {
        self.writer.pods().len()
    }

    fn observe(&mut self, kind: Kind, version: &Arc<str>) {
        self.writer.observe_version(kind, version);
    }

    fn forget_version(&mut self, kind: Kind) {
        self.writer.forget_version(kind);
    }

    fn publish(&mut self) {
        cache::panic_after(None);
        self.writer.publish();
    }
}

/// An object as the server has it, or had it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    uid: String,
    version: u64,
    /// Value that differs between versions: a node's pod limit, a pod's node.
    value: u8,
    ended: bool,
}

type Key = (Kind, String);

fn identity(key: &Key, uid: &str, version: u64) -> Identity {
    let version = if version == 0 { String::new() } else { version.to_string() };
    Identity { kind: key.0, key: Arc::from(key.1.as_str()), uid: Arc::from(uid), version: Arc::from(version) }
}

/// Facts of every sort that the cache counts.
fn facts() -> PodFacts {
    let port = HostPort { ip: Arc::from(HostPort::ANY_IP), protocol: Arc::from("TCP"), port: 80 };
    PodFacts {
        usage: vec![(Arc::from("cpu"), 3), (Arc::from("unlisted"), 2)],
        host_ports: vec![port],
        anti_affinity_terms: vec![AntiAffinityTerm::default()],
        ..PodFacts::default()
    }
}

fn compiled(key: &Key, state: &State) -> Compiled {
    let identity = identity(key, &state.uid, state.version);
    let record = match key.0 {
        Kind::Node => Record::Node(Arc::new(NodeFacts {
            name: Arc::clone(&identity.key),
            resource_version: Arc::clone(&identity.version),
            pod_limit: i64::from(state.value),
            allocatable: vec![(Arc::from("cpu"), 100)],
            ..NodeFacts::default()
        })),
        _ if state.ended => Record::EndedPod(Arc::clone(&identity.uid)),
        _ => Record::Pod(Arc::new(PodRecord {
            uid: Arc::clone(&identity.uid),
            namespace: Arc::from("ns"),
            name: Arc::from(key.1.strip_prefix("ns/").unwrap()),
            resource_version: Arc::clone(&identity.version),
            node_name: Some(Arc::from(format!("n{}", state.value % 6))),
            terminating: false,
            ownership: Ownership::Own,
            priority: 0,
            nominated_node: None,
            facts: Arc::new(facts()),
            account: None,
            pending: None,
        })),
    };
    Compiled { identity, record }
}

/// Objects that the feed must hold, computed one event at a time.
#[derive(Default)]
struct Model {
    held: BTreeMap<Key, State>,
    /// By kind and UID, the version at which it ended.
    dead: BTreeMap<(Kind, String), u64>,
    listed: BTreeMap<Kind, u64>,
    /// Not followed at present.
    dropped: BTreeSet<Kind>,
}

impl Model {
    fn apply(&mut self, key: &Key, state: &State, is_listed: bool) {
        if self.dropped.contains(&key.0) {
            return;
        }
        let known = self.held.get(key).cloned();
        let is_dead = self.dead.get(&(key.0, state.uid.clone())).is_some_and(|dead| *dead >= state.version);
        let is_past =
            known.is_none() && !is_listed && self.listed.get(&key.0).is_some_and(|listed| *listed >= state.version);
        if is_dead || is_past || known.as_ref().is_some_and(|known| known.version >= state.version) {
            return;
        }
        if state.ended {
            self.dead.insert((key.0, state.uid.clone()), state.version);
            if known.is_some_and(|known| known.uid == state.uid) {
                self.held.remove(key);
            }
            return;
        }
        if let Some(known) = known.filter(|known| known.uid != state.uid) {
            self.dead.insert((key.0, known.uid), state.version);
        }
        self.held.insert(key.clone(), state.clone());
    }

    fn drop_kind(&mut self, kind: Kind) {
        self.held.retain(|key, _| key.0 != kind);
        self.dead.retain(|(of, _), _| *of != kind);
        self.listed.remove(&kind);
        self.dropped.insert(kind);
    }

    fn remove(&mut self, key: &Key, uid: &str, version: u64) {
        if self.dropped.contains(&key.0) {
            return;
        }
        if self.held.get(key).is_some_and(|known| known.uid == uid && known.version <= version) {
            self.held.remove(key);
        }
        let dead = self.dead.entry((key.0, uid.to_owned())).or_default();
        *dead = version.max(*dead);
    }

    fn replace(&mut self, kind: Kind, list: &BTreeMap<Key, State>, version: u64) {
        self.dropped.remove(&kind);
        let is_newest = self.listed.get(&kind).is_none_or(|listed| *listed <= version);
        for (key, state) in list.iter().filter(|_| is_newest) {
            // In one history no list shows an object as it was before a version that is not newer than the list.
            let is_void = |known: &u64| *known > state.version && *known <= version;
            let id = (kind, state.uid.clone());
            if self.dead.get(&id).is_some_and(is_void) {
                self.dead.remove(&id);
            }
            if self.held.get(key).is_some_and(|known| is_void(&known.version)) {
                self.held.remove(key);
            }
        }
        list.iter().for_each(|(key, state)| self.apply(key, state, is_newest));
        let uids: BTreeSet<&str> = list.values().map(|state| state.uid.as_str()).collect();
        self.held.retain(|key, state| key.0 != kind || state.version > version || uids.contains(state.uid.as_str()));
        let listed = self.listed.entry(kind).or_default();
        *listed = version.max(*listed);
    }

    fn view(&self) -> BTreeMap<Key, (String, u8)> {
        let shown = |state: &State, kind| match kind {
            Kind::Node => (String::new(), state.value),
            _ => (state.uid.clone(), state.value % 6),
        };
        self.held.iter().map(|(key, state)| (key.clone(), shown(state, key.0))).collect()
    }
}

/// Returns the objects that the cache shows, by kind and key, each with its UID and value.
fn view_of(reader: &Reader) -> BTreeMap<Key, (String, u8)> {
    let snapshot = reader.snapshot();
    let nodes = (0..snapshot.node_count()).map(|row| {
        let row = Row(u32::try_from(row).unwrap());
        let limit = u8::try_from(*snapshot.pod_limit().get(row).unwrap()).unwrap();
        ((Kind::Node, snapshot.node_name(row).to_owned()), (String::new(), limit))
    });
    let pods = reader.pods().all();
    let pods = pods.iter().map(|pod| {
        let node: u8 = pod.node_name.as_deref().unwrap().strip_prefix('n').unwrap().parse().unwrap();
        ((Kind::Pod, format!("ns/{}", pod.name)), (pod.uid.to_string(), node))
    });
    nodes.chain(pods).collect()
}

/// A server with a few objects, and all the events it ever sent.
struct Server {
    random: fastrand::Rng,
    version: u64,
    now: BTreeMap<Key, State>,
    sent: Vec<(Key, State, bool)>,
    /// How often it was restored: what it names later has other UIDs.
    restored: u32,
    backup: (u64, BTreeMap<Key, State>),
}

impl Server {
    /// Something happens to an object; the last part says whether it was deleted.
    fn event(&mut self) -> (Key, State, bool) {
        self.version += self.random.u64(1..4);
        let name = self.random.u8(0..6);
        let key =
            if self.random.bool() { (Kind::Node, format!("n{name}")) } else { (Kind::Pod, format!("ns/p{name}")) };
        let event = match self.now.get(&key).cloned() {
            Some(known) if self.random.u8(0..4) == 0 => {
                self.now.remove(&key);
                (key, State { version: self.version, ..known }, true)
            }
            known => {
                let uid = known
                    .as_ref()
                    .map_or_else(|| format!("uid-{}-{}", self.restored, self.version), |known| known.uid.clone());
                let ended =
                    known.as_ref().is_some_and(|known| known.ended) || key.0 == Kind::Pod && self.random.u8(0..8) == 0;
                let state = State { uid, version: self.version, value: self.random.u8(..), ended };
                self.now.insert(key.clone(), state.clone());
                (key, state, false)
            }
        };
        self.sent.push(event.clone());
        event
    }

    /// Its etcd is restored from the last backup: its versions begin anew from there, and it sends nothing of what came after.
    fn restore(&mut self) {
        (self.version, self.now) = self.backup.clone();
        self.restored += 1;
        self.sent.clear();
    }

    fn list(&self, kind: Kind) -> BTreeMap<Key, State> {
        self.now.iter().filter(|(key, _)| key.0 == kind).map(|(key, state)| (key.clone(), state.clone())).collect()
    }
}

fn change((key, state, deleted): &(Key, State, bool)) -> Change {
    match deleted {
        true => Change::Object(ObjectChange::Deleted(identity(key, &state.uid, state.version))),
        false => Change::Object(ObjectChange::Applied(compiled(key, state))),
    }
}

fn replaced(kind: Kind, list: &BTreeMap<Key, State>, version: u64) -> Change {
    let objects = list.iter().map(|(key, state)| compiled(key, state)).collect();
    Change::Replaced { kind, objects, version: Arc::from(version.to_string()) }
}

fn live(server: &Server) -> BTreeMap<Key, State> {
    server.now.iter().filter(|(_, state)| !state.ended).map(|(key, state)| (key.clone(), state.clone())).collect()
}

/// Everything that is held is counted, and nothing else is.
fn check_counted(target: &mut Flaky, seed: u64) {
    let pods = target.writer.pods().all();
    assert_eq!(target.writer.audit_pods(&pods), [], "seed {seed}");
    assert_eq!(target.writer.audit(0..u32::MAX), [], "seed {seed}");
}

/// One history. Events are lost only before a list, as with a watch that broke.
fn history(seed: u64, failures: u8, when: When) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (writer, reader) = cache::new();
    let target = Arc::new(Mutex::new(Flaky { writer, random: random.fork(), failures, when }));
    let mut applier = Applier::new(Arc::clone(&target), Arc::default(), Metrics::default());
    let mut queue = Queue::default();
    let (sent, restored, backup) = (Vec::new(), 0, (0, BTreeMap::new()));
    let mut server = Server { random: random.fork(), version: 0, now: BTreeMap::new(), sent, restored, backup };
    let mut model = Model::default();
    let mut now = Instant::now();
    for _ in 0..250 {
        match random.u8(0..20) {
            0..13 => {
                let event = server.event();
                queue.push(change(&event), now);
                deliver(&mut model, &event);
            }
            // Duplicates and events that are out of date.
            13..17 if !server.sent.is_empty() => {
                let event = server.sent[random.usize(0..server.sent.len())].clone();
                queue.push(change(&event), now);
                deliver(&mut model, &event);
            }
            17..19 => {
                let kind = if random.bool() { Kind::Node } else { Kind::Pod };
                for _ in 0..random.u8(0..6) {
                    // Events of this kind are lost: only the list shows them.
                    let event = server.event();
                    if event.0.0 != kind {
                        queue.push(change(&event), now);
                        deliver(&mut model, &event);
                    }
                }
                let list = server.list(kind);
                let list_change = match replaced(kind, &list, server.version) {
                    Change::Replaced { kind, objects, version } if random.u8(0..4) == 0 => {
                        Change::Recompiled { kind, objects, version }
                    }
                    list_change => list_change,
                };
                queue.push(list_change, now);
                model.replace(kind, &list, server.version);
            }
            19 if random.u8(0..4) == 0 => server.backup = (server.version, server.now.clone()),
            19 if server.backup.0 > 0 && random.u8(0..4) == 0 => {
                let before = server.version;
                server.restore();
                // Nobody has looked until it has gone on beyond what had been seen.
                if random.bool() {
                    server.version = before;
                    for kind in [Kind::Node, Kind::Pod] {
                        server.version += 1;
                        let list = server.list(kind);
                        queue.push(replaced(kind, &list, server.version), now);
                        model.replace(kind, &list, server.version);
                    }
                    continue;
                }
                for kind in [Kind::Node, Kind::Pod] {
                    let list = server.list(kind);
                    let Change::Replaced { objects, version, .. } = replaced(kind, &list, server.version) else {
                        continue;
                    };
                    queue.push(Change::Restored { kind, objects, version }, now);
                    model.drop_kind(kind);
                    model.replace(kind, &list, server.version);
                }
            }
            // Not followed any more, until the next list.
            19 if random.u8(0..3) == 0 => {
                let kind = if random.bool() { Kind::Node } else { Kind::Pod };
                queue.push(Change::Dropped { kind }, now);
                model.drop_kind(kind);
            }
            _ => {}
        }
        if random.u8(0..4) == 0 {
            now += Duration::from_millis(random.u64(0..5_000));
            applier.turn(queue.drain(), now);
            check_counted(&mut target.lock(), seed);
            if failures == 0 {
                assert_eq!(view_of(&reader), model.view(), "seed {seed}");
            }
        }
    }
    target.lock().failures = 0;
    now += Duration::from_secs(60);
    applier.turn(queue.drain(), now);
    assert_eq!((applier.next_due(), applier.remark()), (None, None), "seed {seed}");
    assert_eq!(view_of(&reader), model.view(), "seed {seed}");
    check_counted(&mut target.lock(), seed);
    for kind in [Kind::Node, Kind::Pod] {
        queue.push(replaced(kind, &server.list(kind), server.version), now);
        model.replace(kind, &server.list(kind), server.version);
    }
    applier.turn(queue.drain(), now);
    assert_eq!(model.held, live(&server), "the model itself ends in the server's state, seed {seed}");
    assert_eq!(view_of(&reader), model.view(), "seed {seed}");
}

fn deliver(model: &mut Model, (key, state, deleted): &(Key, State, bool)) {
    match deleted {
        true => model.remove(key, &state.uid, state.version),
        false => model.apply(key, state, false),
    }
}

/// How many histories each test runs.
fn rounds() -> u64 {
    std::env::var("NODESIFT_FEED_HISTORIES").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(200)
}

#[test]
fn random_histories_with_duplicates_old_events_and_lists_end_in_the_newest_versions() {
    let seed = nodesift_seed::seed();
    println!("seed {seed}");
    (0..rounds()).for_each(|round| history(seed.wrapping_add(round), 0, When::Before));
}

#[test]
fn random_histories_with_errors_and_panics_end_in_the_newest_versions() {
    let seed = nodesift_seed::seed();
    println!("seed {seed}");
    (0..rounds()).for_each(|round| history(seed.wrapping_add(round), 20, When::Before));
}

#[test]
fn random_histories_with_panics_halfway_end_in_the_newest_versions() {
    let seed = nodesift_seed::seed();
    println!("seed {seed}");
    (0..rounds()).for_each(|round| history(seed.wrapping_add(round), 40, When::Halfway));
}

/// An applier over a cache, and a clock of its own.
struct Bench {
    applier: Applier<Flaky>,
    target: Arc<Mutex<Flaky>>,
    reader: Reader,
    now: Instant,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let (writer, reader) = cache::new();
        let random = fastrand::Rng::with_seed(seed);
        let target = Arc::new(Mutex::new(Flaky { writer, random, failures: 0, when: When::Before }));
        let applier = Applier::new(Arc::clone(&target), Arc::default(), Metrics::default());
        Self { applier, target, reader, now: Instant::now() }
    }

    /// One turn for one change; of 100 attempts, `failures` fail.
    fn take(&mut self, change: Change, failures: u8) {
        self.target.lock().failures = failures;
        let mut queue = Queue::default();
        queue.push(change, self.now);
        self.applier.turn(queue.drain(), self.now);
    }

    /// Returns the objects that the cache shows once no retry waits.
    fn settled(&mut self) -> BTreeMap<Key, (String, u8)> {
        self.target.lock().failures = 0;
        self.now += FEED_RETRY_MOST;
        self.applier.turn(Queue::default().drain(), self.now);
        assert_eq!(self.applier.next_due(), None);
        view_of(&self.reader)
    }
}

/// Two nodes of one name; the second replaces the first.
fn two_nodes() -> (Key, [State; 2]) {
    let state = |uid: &str, version| State { uid: uid.to_owned(), version, value: 7, ended: false };
    ((Kind::Node, "n0".to_owned()), [state("first", 1), state("second", 5)])
}

#[test]
fn what_a_list_lacks_is_not_replaced_by_old_events_while_its_removal_fails() {
    let (key, [first, second]) = two_nodes();
    for seed in 0..20 {
        let mut bench = Bench::new(seed);
        bench.take(change(&(key.clone(), first.clone(), false)), 0);
        bench.take(replaced(Kind::Node, &BTreeMap::new(), 9), 100);
        assert_eq!(view_of(&bench.reader).len(), 1, "it could not be removed");
        bench.take(change(&(key.clone(), second.clone(), false)), 0);
        assert_eq!(bench.settled(), BTreeMap::new(), "seed {seed}");
    }
}

#[test]
fn what_a_list_lacks_is_removed_although_its_replacement_has_failed() {
    let (key, [first, second]) = two_nodes();
    for seed in 0..20 {
        let mut bench = Bench::new(seed);
        bench.take(change(&(key.clone(), first.clone(), false)), 0);
        bench.take(change(&(key.clone(), second.clone(), false)), 100);
        bench.take(replaced(Kind::Node, &BTreeMap::new(), 9), 100);
        assert_eq!(bench.settled(), BTreeMap::new(), "seed {seed}");
    }
}

#[test]
fn what_has_failed_is_retried_while_lists_show_it_as_unreadable() {
    let (key, [first, second]) = two_nodes();
    for uid in ["second", "n0"] {
        let mut bench = Bench::new(1);
        bench.take(change(&(key.clone(), first.clone(), false)), 0);
        bench.take(change(&(key.clone(), second.clone(), false)), 100);
        let unreadable = Compiled { identity: identity(&key, uid, 7), record: Record::Unreadable };
        bench.take(Change::Replaced { kind: Kind::Node, objects: vec![unreadable], version: Arc::from("9") }, 100);
        assert_eq!(bench.settled().len(), 1, "{uid}");
        bench.take(replaced(Kind::Node, &BTreeMap::new(), 20), 0);
        assert_eq!(bench.settled(), BTreeMap::new(), "{uid}");
    }
}
