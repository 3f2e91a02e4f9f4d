//! Answers of parties about nodes, compared with a plain record of them: clusters with claims change, parties say and take back what they
//! like about pods, templates and claims, and verdicts and reasons of Parties are those of the record. The engine compares every cached
//! verdict with a fresh one.
//!
//! A run has `NODESIFT_PARTIES_HISTORIES` (48) histories. A difference names its seed: with it as `NODESIFT_SEED` and one history, a run
//! reproduces it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use nodesift_engine::{Code, Engine, Metrics, Nodes, Options, PodAnswer, PodRef, Query, Reuse, RowsByName};
use nodesift_fixtures::json::{is_set, key, label, list, name, text};
use nodesift_fixtures::random::device_history::{Change, DeviceHistory};
use nodesift_negotiation::{Subject, Suitability};
use nodesift_policy::Policy;
use nodesift_sandbox::fault::FaultKind;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use crate::cases::{self, Tally};
use crate::mirror::{self, Mirror};
use crate::reuse::Counted;
use crate::{CALL_TIME, cases_from_environment, runtime};

/// Default number of histories: some seconds of two cores.
const HISTORIES: u64 = 48;

/// Rounds of changes in a history, and pods and answers of parties in each.
const ROUNDS: usize = 16;
const ASKED: usize = 4;
const SAID: usize = 3;

const POLICY: &str = "
apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
spec:
  schedulerNames: [default-scheduler]
  onUnsupported: Ignore
  predicates: [{name: Parties}]
  parties:
  - {name: team, for: {podSelector: {matchLabels: {team: a}}}, nodeSelector: {zone: z0}, scope: template}
  - {name: gpu, for: {driver: gpu.example.com}, scope: claims, onSilence: Reject}
  - {name: nic, for: {deviceClass: nic}, scope: pod, onSilence: Ignore}
  - {name: spare, for: {podSelector: {matchLabels: {team: c}}}, onUnknown: Fit}
";

#[test]
fn what_parties_say_counts_for_their_subjects_and_for_as_long_as_it_stands() {
    let wanted = cases_from_environment("NODESIFT_PARTIES_HISTORIES", HISTORIES);
    let done = cases::compare(wanted, follow);
    assert!(wanted < HISTORIES || done.has_every_kind(), "a case does not occur: {done:?}");
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Done {
    histories: u64,
    said: u64,
    taken_back: u64,
    /// Pods about which no party decides.
    alone: u64,
    /// Nodes by what becomes of them.
    fits: u64,
    unsuitable: u64,
    silent: u64,
    out_of_reach: u64,
    counted: Counted,
    differences: Vec<String>,
}

impl Tally for Done {
    fn cases(&self) -> u64 {
        self.histories
    }

    fn has_every_kind(&self) -> bool {
        let ways = [self.counted.kept, self.counted.patched, self.counted.evaluated];
        let met = [self.unsuitable, self.silent, self.out_of_reach, self.fits, self.alone, self.taken_back];
        ways.iter().chain(&met).all(|count| *count > 0)
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }

    fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.said += other.said;
        self.taken_back += other.taken_back;
        self.alone += other.alone;
        self.fits += other.fits;
        self.unsuitable += other.unsuitable;
        self.silent += other.silent;
        self.out_of_reach += other.out_of_reach;
        self.counted.add(other.counted);
        self.differences.extend(other.differences);
    }
}

/// Answers that parties have given and not taken back, by party and subject, then by node.
type Record = BTreeMap<(String, Subject), BTreeMap<String, Suitability>>;

fn follow(seed: u64) -> Done {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = DeviceHistory::new(seed);
    let mut mirror = Mirror::new(vec!["default-scheduler".to_owned()]);
    mirror.load(history.cluster.objects());
    let (engine, registry) = engine(&mirror);
    let mut record = Record::new();
    let mut done = Done { histories: 1, ..Done::default() };
    for round in 0..ROUNDS {
        apply(&mut mirror, &history.advance());
        for _ in 0..SAID {
            say(&mut random, &engine, &history, &mut mirror, &mut record, &mut done);
        }
        for _ in 0..ASKED {
            let Some(pod) = some_pod(&mut random, &history) else { continue };
            if let Some(difference) = ask(&mut random, &engine, &history, &record, &pod, &mut done) {
                done.differences.push(format!("seed {seed}, round {round}, {}: {difference}\n  pod {pod}", key(&pod)));
                return done;
            }
        }
    }
    Done { counted: Counted::read(&registry), ..done }
}

fn apply(mirror: &mut Mirror, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Object(event) => mirror.change(event),
            Change::Hold(claim) => mirror.hold(claim),
            Change::Release(uid) => mirror.writer().release_in_flight(uid),
        }
    }
    mirror.follow(&[]);
}

fn engine(mirror: &Mirror) -> (Engine, Registry) {
    let mut registry = Registry::default();
    let runtime = runtime();
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let mut policy = Policy::read(POLICY, "parties", Path::new(""), &builtins).expect("a policy");
    policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(CALL_TIME));
    let active = nodesift_policy::activate(&policy, 1, &runtime).expect("the policy can be loaded");
    let engine = Engine::new(mirror.reader(), active, runtime).with_reuse(Reuse::Verified);
    (engine.with_metrics(Metrics::register(&mut registry)), registry)
}

/// A pod of the cluster, in one team or another.
fn some_pod(random: &mut fastrand::Rng, history: &DeviceHistory) -> Option<Value> {
    let mut pod = random.choice(history.cluster.all("Pod").collect::<Vec<_>>())?.clone();
    pod["metadata"]["labels"]["team"] = json!(["a", "b", "c"][random.usize(0..3)]);
    Some(pod)
}

fn whole(pod: &Value) -> PodRef {
    PodRef::Whole(Box::new(mirror::pod(pod)))
}

/// A party says something of some nodes about a pod, or takes back all that it has said about some subject.
fn say(
    random: &mut fastrand::Rng,
    engine: &Engine,
    history: &DeviceHistory,
    mirror: &mut Mirror,
    record: &mut Record,
    done: &mut Done,
) {
    if random.u8(0..6) == 0 {
        let Some(((party, subject), said)) = random.choice(record.iter().collect::<Vec<_>>()) else { return };
        let unknown: Vec<(Arc<str>, Suitability)> =
            said.keys().map(|node| (Arc::from(node.as_str()), Suitability::Unknown)).collect();
        assert!(mirror.writer().set_party_answers(&Arc::from(party.as_str()), subject, &unknown));
        let key = (party.clone(), subject.clone());
        record.remove(&key);
        done.taken_back += 1;
    } else {
        let Some(pod) = some_pod(random, history) else { return };
        let (negotiated, selected_by) =
            engine.context(&engine.snapshot(), &whole(&pod)).expect("a whole pod").negotiated_pod();
        let policy = engine.policy();
        let party = &policy.settings.parties[random.usize(0..policy.settings.parties.len())].party;
        let Some((subject, _)) = party.seat(&negotiated, &selected_by) else { return };
        let of_subject = record.entry((party.name.to_string(), subject.clone())).or_default();
        let mut answers = Vec::new();
        for node in history.cluster.nodes().map(name).chain(["a-node-to-come"]) {
            let said = match random.u8(0..10) {
                0 => Suitability::Unknown,
                1..3 => Suitability::Suitable,
                3..6 => continue,
                _ => Suitability::Unsuitable(["full", "broken", ""][random.usize(0..3)].into()),
            };
            let _before = match said {
                Suitability::Unknown => of_subject.remove(node),
                _ => of_subject.insert(node.to_owned(), said.clone()),
            };
            answers.push((Arc::from(node), said));
        }
        assert!(mirror.writer().set_party_answers(&party.name, &subject, &answers));
        done.said += 1;
    }
    mirror.follow(&[]);
}

/// Asks about a pod, over all nodes or some, and as candidates or not. The difference, if there is one.
fn ask(
    random: &mut fastrand::Rng,
    engine: &Engine,
    history: &DeviceHistory,
    record: &Record,
    pod: &Value,
    done: &mut Done,
) -> Option<String> {
    let snapshot = engine.snapshot();
    let mut asked: Vec<&Value> = history.cluster.nodes().collect();
    let nodes = if random.u8(0..4) == 0 {
        asked.retain(|_| random.bool());
        Nodes::Named(asked.iter().map(|node| name(node).to_owned()).collect())
    } else {
        Nodes::All
    };
    let is_negotiated = random.u8(0..4) == 0;
    let query = Query::new([whole(pod)]).with_nodes(nodes).with_negotiated(is_negotiated);
    let answer = match engine.answer(&query, Options::on(&snapshot)) {
        Ok(answer) => answer,
        Err(error) => return Some(error.to_string()),
    };
    let [of_pod] = &answer.pods[..] else { return Some("no answer".to_owned()) };
    // What asks for devices is a fault of this policy, which it ignores.
    if let Some(fault) = of_pod.faults.iter().find(|fault| fault.fault.kind != FaultKind::Unsupported) {
        return Some(format!("{fault:?}"));
    }
    let (negotiated, _) = engine.context(&snapshot, &whole(pod)).expect("a whole pod").negotiated_pod();
    let seats = seats(history, pod, &negotiated.template);
    done.alone += u64::from(seats.is_empty());
    let expected: BTreeMap<String, BTreeSet<String>> =
        asked.iter().map(|node| (name(node).to_owned(), reasons(record, &seats, node, is_negotiated, done))).collect();
    let found = found(of_pod, |row| answer.snapshot.node_name(row).to_owned(), &answer.snapshot.node_names());
    match found {
        Ok(found) if found == expected => None,
        found => Some(format!("negotiated {is_negotiated}, found {found:?}, expected {expected:?}")),
    }
}

/// Why each node is rejected; nothing where it fits.
fn found(
    answer: &PodAnswer,
    row_name: impl Fn(nodesift_cache::Row) -> String,
    names: &nodesift_cache::NodeNames,
) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let feasible = RowsByName::new(&answer.feasible, names);
    let mut found: BTreeMap<String, BTreeSet<String>> =
        feasible.into_iter().map(|row| (row_name(row), BTreeSet::new())).collect();
    for failure in answer.failures.iter() {
        if failure.code != Code::UnschedulableAndUnresolvable {
            return Err(format!("{:?}", failure.code));
        }
        let reasons: BTreeSet<String> = failure.reasons.iter().map(|reason| reason.to_string()).collect();
        found.extend(failure.rows.iter().map(|row| (row_name(row), reasons.clone())));
    }
    Ok(found)
}

/// The parties that decide about a pod, by the objects alone, with what their answers are about.
fn seats(history: &DeviceHistory, pod: &Value, template: &Arc<str>) -> Vec<(&'static str, Subject)> {
    let mut seats = Vec::new();
    if label(pod, "team") == Some("a") {
        seats.push(("team", Subject::Template(template.clone())));
    }
    let requests = |claim: &Value| -> Vec<Value> {
        let asked = list(claim, "spec.devices.requests")
            .iter()
            .flat_map(|request| std::iter::once(&request["exactly"]).chain(list(request, "firstAvailable")));
        asked.filter(|asked| !asked.is_null()).cloned().collect()
    };
    // The selectors of the fixture name one driver, or begin as no name of `gpu` does, or say nothing of it.
    let may_be_gpu = |selector: &Value| match text(selector, "cel.expression").strip_prefix("device.driver == '") {
        Some(driver) => driver == "gpu.example.com'",
        None => text(selector, "cel.expression") != "device.driver.startsWith('net')",
    };
    let asks_gpu = |asked: &Value| {
        let class = history.cluster.get("DeviceClass", text(asked, "deviceClassName"));
        let of_class = class.into_iter().flat_map(|class| list(class, "spec.selectors"));
        of_class.chain(list(asked, "selectors")).all(may_be_gpu)
    };
    let claims: Vec<&Value> = claims(history, pod).collect();
    let mut of_gpu: Vec<Arc<str>> = claims
        .iter()
        .filter(|claim| requests(claim).iter().any(asks_gpu))
        .map(|claim| text(claim, "metadata.uid").into())
        .collect();
    of_gpu.sort_unstable();
    of_gpu.dedup();
    if !of_gpu.is_empty() {
        seats.push(("gpu", Subject::Claims(of_gpu.into())));
    }
    if claims.iter().any(|claim| requests(claim).iter().any(|asked| text(asked, "deviceClassName") == "nic")) {
        seats.push(("nic", Subject::Pod(text(pod, "metadata.uid").into())));
    }
    if label(pod, "team") == Some("c") {
        seats.push(("spare", Subject::Pod(text(pod, "metadata.uid").into())));
    }
    seats
}

/// The claims of a pod that are to be allocated.
fn claims<'a>(history: &'a DeviceHistory, pod: &'a Value) -> impl Iterator<Item = &'a Value> {
    let statuses = list(pod, "status.resourceClaimStatuses");
    let name_of = move |entry: &'a Value| {
        if is_set(entry, "resourceClaimName") {
            return Some(text(entry, "resourceClaimName"));
        }
        let status = statuses.iter().find(|status| text(status, "name") == text(entry, "name"))?;
        is_set(status, "resourceClaimName").then(|| text(status, "resourceClaimName"))
    };
    let is_open = move |claim: &&Value| {
        let uid = text(claim, "metadata.uid");
        !is_set(claim, "status.allocation") && history.in_flight.iter().all(|held| text(held, "metadata.uid") != uid)
    };
    let entries = list(pod, "spec.resourceClaims").iter().filter_map(name_of);
    entries.filter_map(move |name| history.cluster.get("ResourceClaim", &format!("default/{name}"))).filter(is_open)
}

/// Why a node is rejected.
fn reasons(
    record: &Record,
    seats: &[(&str, Subject)],
    node: &Value,
    is_negotiated: bool,
    done: &mut Done,
) -> BTreeSet<String> {
    let mut reasons = BTreeSet::new();
    for (party, subject) in seats {
        let said = record.get(&((*party).to_owned(), subject.clone())).and_then(|said| said.get(name(node)));
        let (count, reason) = match said {
            _ if *party == "team" && label(node, "zone") != Some("z0") => {
                (&mut done.out_of_reach, Some(": outside its nodeSelector".to_owned()))
            }
            Some(Suitability::Unsuitable(reason)) if reason.is_empty() => (&mut done.unsuitable, Some(String::new())),
            Some(Suitability::Unsuitable(reason)) => (&mut done.unsuitable, Some(format!(": {reason}"))),
            // The policy ignores the silence of `nic`, and has nodes fit of which `spare` says nothing.
            None if matches!(*party, "gpu" | "team") && !is_negotiated => (&mut done.silent, None),
            _ => continue,
        };
        *count += 1;
        reasons.insert(match reason {
            Some(reason) => format!("node(s) didn't suit party {party}{reason}"),
            None => format!("waiting for party {party}"),
        });
    }
    done.fits += u64::from(reasons.is_empty());
    reasons
}
