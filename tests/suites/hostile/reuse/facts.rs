//! Facts that 0.2 has added about the pod, its namespace, time and ConfigMaps, in random histories: answers with cached verdicts equal
//! fresh ones, and those of a plain implementation over the objects. What a guest reads next depends on what it has read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nodesift_cache::{Identity, ObjectRecord, Record, metadata};
use nodesift_engine::{Clock, Nodes, Options, PodAnswer, PodRef, Query, Reuse, RowsByName};
use nodesift_object::Kind;
use nodesift_tests::guest::{Guest, SCRATCH};
use nodesift_tests::machine::beside_others;
use serde_json::{Value, json};

use super::world::{CONFIG_MAP, NODES, World, object};

/// The moments that guests ask about.
const MOMENTS: [i64; 3] = [100, 110, 120];

/// A question of a guest. Each folds its answer into a hash.
#[derive(Debug, Clone, Copy)]
enum Question {
    NamespaceLabel,
    Priority,
    PriorityClass,
    ServiceAccount,
    RuntimeClass,
    HostNetwork,
    Images,
    SchedulerName,
    Controller,
    ControllerUid,
    Passed(i64),
    ConfigEntry,
    UnlistedConfigEntry,
}

impl Question {
    const ALL: [Self; 15] = [
        Self::NamespaceLabel,
        Self::Priority,
        Self::PriorityClass,
        Self::ServiceAccount,
        Self::RuntimeClass,
        Self::HostNetwork,
        Self::Images,
        Self::SchedulerName,
        Self::Controller,
        Self::ControllerUid,
        Self::Passed(MOMENTS[0]),
        Self::Passed(MOMENTS[1]),
        Self::Passed(MOMENTS[2]),
        Self::ConfigEntry,
        Self::UnlistedConfigEntry,
    ];

    /// The import, under a name of its own, and the instructions that ask and fold.
    fn code(self) -> (String, String) {
        let import = |interface: &str, function: &str, signature: &str| {
            format!(r#"(import "nodesift:predicate/{interface}@0.2.0" "{function}" (func ${function} {signature}))"#)
        };
        let option = |interface: &str, function: &str| {
            (
                import(interface, function, "(param i32)"),
                format!("(call ${function} (i32.const 2304)) (call $fold_option (i32.const 2304))"),
            )
        };
        let number =
            |function: &str| (import("pod-spec", function, "(result i32)"), format!("(call $fold (call ${function}))"));
        match self {
            Self::NamespaceLabel => (
                import("namespace-labels", "label", "(param i32 i32 i32)"),
                "(call $label (i32.const 2048) (i32.const 4) (i32.const 2304)) (call $fold_option (i32.const 2304))".to_owned(),
            ),
            Self::Priority => number("priority"),
            Self::HostNetwork => number("host-network"),
            Self::PriorityClass => option("pod-spec", "priority-class"),
            Self::ServiceAccount => option("pod-spec", "service-account"),
            Self::RuntimeClass => option("pod-spec", "runtime-class"),
            Self::ControllerUid => option("pod-owner", "controller-uid"),
            Self::Images => (
                import("pod-spec", "images", "(param i32)"),
                "(call $images (i32.const 2304)) (call $fold_texts (i32.load (i32.const 2304)) (i32.load (i32.const 2308)))".to_owned(),
            ),
            Self::SchedulerName => (
                import("pod-spec", "scheduler-name", "(param i32)"),
                "(call $scheduler-name (i32.const 2304)) (call $fold_texts (i32.const 2304) (i32.const 1))".to_owned(),
            ),
            Self::Controller => (
                import("pod-owner", "controller", "(param i32)"),
                "(call $controller (i32.const 2304))
                 (call $fold (i32.load8_u (i32.const 2304)))
                 (if (i32.load8_u (i32.const 2304)) (then (call $fold_texts (i32.const 2308) (i32.const 3))))"
                    .to_owned(),
            ),
            Self::Passed(at) => (
                import("time", "passed", "(param i64) (result i32)"),
                format!("(call $fold (call $passed (i64.const {at})))"),
            ),
            Self::ConfigEntry | Self::UnlistedConfigEntry => {
                let at = if matches!(self, Self::ConfigEntry) { 2056 } else { 2080 };
                (
                    import("config-maps", "entry", "(param i32 i32 i32 i32 i32)"),
                    format!(
                        "(call $entry (i32.const {at}) (i32.const {}) (i32.const 2048) (i32.const 4) (i32.const 2304))
                         (call $fold_option (i32.const 2304))",
                        CONFIG_MAP.len()
                    ),
                )
            }
        }
    }

    /// Folds the answer to the question into a hash, computed from the objects.
    fn fold(self, state: &State, pod: &Value, hash: &mut Hash) {
        fn text(value: &Value) -> Option<&str> {
            value.as_str().filter(|text| !text.is_empty())
        }
        let (metadata, spec) = (&pod["metadata"], &pod["spec"]);
        let owners = metadata["ownerReferences"].as_array();
        let controller = owners.and_then(|owners| owners.iter().find(|owner| owner["controller"] == true));
        match self {
            Self::NamespaceLabel => {
                let labels = metadata["namespace"].as_str().and_then(|name| state.namespaces.get(name));
                hash.option(labels.and_then(|labels| text(&labels["team"])));
            }
            Self::Priority => hash.number(u32::try_from(spec["priority"].as_i64().unwrap_or(0)).unwrap()),
            Self::HostNetwork => hash.number(u32::from(spec["hostNetwork"] == true)),
            Self::PriorityClass => hash.option(text(&spec["priorityClassName"])),
            Self::ServiceAccount => hash.option(text(&spec["serviceAccountName"])),
            Self::RuntimeClass => hash.option(text(&spec["runtimeClassName"])),
            Self::ControllerUid => hash.option(controller.and_then(|owner| text(&owner["uid"]))),
            Self::Images => {
                let containers = spec["containers"].as_array().into_iter().flatten();
                let mut images: Vec<&str> = containers.filter_map(|container| text(&container["image"])).collect();
                images.sort();
                images.dedup();
                images.iter().for_each(|image| hash.text(image));
            }
            Self::SchedulerName => hash.text(spec["schedulerName"].as_str().unwrap_or("default-scheduler")),
            Self::Controller => {
                hash.number(u32::from(controller.is_some()));
                if let Some(owner) = controller {
                    ["apiVersion", "kind", "name"].iter().for_each(|field| hash.text(owner[field].as_str().unwrap()));
                }
            }
            Self::Passed(at) => hash.number(u32::from(state.now >= at)),
            Self::ConfigEntry => hash.option(state.config_maps.get(CONFIG_MAP).and_then(|data| text(&data["team"]))),
            Self::UnlistedConfigEntry => hash.option(None),
        }
    }
}

/// FNV-1a over answers, as the guest computes it.
struct Hash(u32);

impl Hash {
    fn number(&mut self, number: u32) {
        self.0 = (self.0 ^ number).wrapping_mul(16_777_619);
    }

    fn text(&mut self, text: &str) {
        self.number(u32::try_from(text.len()).unwrap());
        text.bytes().for_each(|byte| self.number(u32::from(byte)));
    }

    fn option(&mut self, text: Option<&str>) {
        self.number(u32::from(text.is_some()));
        text.into_iter().for_each(|text| self.text(text));
    }
}

const FOLD: &str = r#"
    (data (i32.const 2048) "team")
    (data (i32.const 2056) "ops/tiers")
    (data (i32.const 2080) "ops/other")
    (global $hash (mut i32) (i32.const 0))
    (func $fold (param $number i32)
      (global.set $hash (i32.mul (i32.xor (global.get $hash) (local.get $number)) (i32.const 16777619))))
    (func $fold_text (param $at i32) (param $bytes i32)
      (call $fold (local.get $bytes))
      (block $end (loop $next
        (br_if $end (i32.eqz (local.get $bytes)))
        (call $fold (i32.load8_u (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $bytes (i32.sub (local.get $bytes) (i32.const 1)))
        (br $next))))
    (func $fold_texts (param $at i32) (param $count i32)
      (block $end (loop $next
        (br_if $end (i32.eqz (local.get $count)))
        (call $fold_text (i32.load (local.get $at)) (i32.load offset=4 (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next))))
    (func $fold_option (param $at i32)
      (call $fold (i32.load8_u (local.get $at)))
      (if (i32.load8_u (local.get $at)) (then
        (call $fold_text (i32.load offset=4 (local.get $at)) (i32.load offset=8 (local.get $at))))))"#;

/// A guest that asks these questions, each but the first only where the hash so far has a bit. By the hash of all answers it rejects
/// every node, or those that are cordoned, or none.
fn guest(questions: &[Question]) -> Guest {
    let mut imports: Vec<String> = questions.iter().map(|question| question.code().0).collect();
    imports.sort();
    imports.dedup();
    let asks: String = questions
        .iter()
        .enumerate()
        .map(|(at, question)| {
            let ask = question.code().1;
            if at == 0 { ask } else { format!("(if (i32.and (global.get $hash) (i32.const 4)) (then {ask}))\n") }
        })
        .collect();
    Guest::healthy()
        .imports(imports.join("\n") + r#"(import "nodesift:predicate/node-taints@0.2.0" "unschedulable" (func $unschedulable (param i32)))"#)
        .definitions(FOLD)
        .filter(format!(
            "(global.set $hash (i32.const {FIRST}))
             {asks}
             (if (i32.and (global.get $hash) (i32.const 16)) (then
               (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
             (call $unschedulable (i32.const 2304))
             (call $failure (i32.const 96) (i32.const 0) (i32.const 112) (i32.const 1))
             (block $done (loop $row
               (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
               (i32.store16
                 (i32.add (i32.const {SCRATCH}) (i32.shl (local.get $i) (i32.const 1)))
                 (i32.and
                   (i32.load8_u (i32.add (i32.load (i32.const 2304)) (local.get $i)))
                   (i32.and (i32.shr_u (global.get $hash) (i32.const 5)) (i32.const 1))))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br $row)))
             (call $by_row (i32.const {SCRATCH}) (local.get $rows) (i32.const 96) (i32.const 1))"
        ))
}

/// Initial value of the hash. It has the bit that a guest tests before it asks another question.
const FIRST: u32 = 2_166_136_261;

/// The objects and the time.
#[derive(Default)]
struct State {
    now: i64,
    namespaces: BTreeMap<&'static str, Value>,
    config_maps: BTreeMap<&'static str, Value>,
    cordoned: [bool; NODES],
}

impl State {
    /// The nodes that fit, by name.
    fn fits(&self, questions: &[Question], pod: &Value) -> Vec<String> {
        let mut hash = Hash(FIRST);
        for (at, question) in questions.iter().enumerate() {
            if at == 0 || hash.0 & 4 != 0 {
                question.fold(self, pod, &mut hash);
            }
        }
        let fits = |number: &usize| hash.0 & 16 == 0 && !(hash.0 & 32 != 0 && self.cordoned[*number]);
        (0..NODES).filter(fits).map(|number| format!("n{number}")).collect()
    }

    /// Changes something, here and in the cache.
    fn step(&mut self, random: &mut fastrand::Rng, world: &mut World) {
        let team = |random: &mut fastrand::Rng| [json!("a"), json!("b"), Value::Null][random.usize(..3)].clone();
        match random.u8(..10) {
            0..=2 => {
                let name = ["default", "other"][random.usize(..2)];
                if random.u8(..4) == 0 {
                    self.namespaces.remove(name);
                    world.writer.remove(&Identity::new(Kind::Namespace, name));
                } else {
                    let labels = json!({"team": team(random), "noise": random.u8(..3).to_string()});
                    world.writer.apply(Record::Namespace(name.into(), labels_of(&labels)));
                    self.namespaces.insert(name, labels);
                }
            }
            3..=5 => {
                let name = [CONFIG_MAP, "ops/other"][random.usize(..2)];
                if random.u8(..4) == 0 {
                    self.config_maps.remove(name);
                    world.writer.remove(&Identity::new(Kind::ConfigMap, name));
                } else {
                    let data = json!({"team": team(random), "noise": random.u8(..3).to_string()});
                    world.writer.apply(ObjectRecord::ConfigMap(name.into(), labels_of(&data)));
                    self.config_maps.insert(name, data);
                }
            }
            6..=7 => {
                let number = random.usize(..NODES);
                self.cordoned[number] = !self.cordoned[number];
                if self.cordoned[number] {
                    world.cordoned_node(number, &json!({}));
                } else {
                    world.node(number, "");
                }
            }
            // A clock can be set back.
            8 => self.now = MOMENTS[0] + random.i64(-5..30),
            _ => self.now += random.i64(1..10),
        }
    }
}

fn labels_of(labels: &Value) -> metadata::Labels {
    let labels = labels.as_object().unwrap().iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    labels.map(|(key, value)| (Arc::from(key.as_str()), Arc::from(value))).collect()
}

/// A pod of few templates, whose parts vary one by one.
fn pod(random: &mut fastrand::Rng) -> Value {
    let any = |random: &mut fastrand::Rng, values: &[&str]| values[random.usize(..values.len())].to_owned();
    let owner = json!({"apiVersion": "apps/v1", "kind": any(random, &["ReplicaSet", "Job"]), "name": any(random, &["r", "s"]),
        "uid": any(random, &["1", "2", "3"]), "controller": random.u8(..4) != 0});
    let owners = if random.bool() { json!([owner]) } else { Value::Null };
    let images: Vec<Value> = (0..random.usize(..3)).map(|_| json!({"image": any(random, &["x", "y"])})).collect();
    json!({
        "metadata": {"name": "p", "uid": "p", "namespace": any(random, &["default", "other"]), "ownerReferences": owners},
        "spec": {"priority": random.i32(0..3), "priorityClassName": any(random, &["", "high"]),
            "serviceAccountName": any(random, &["", "default"]), "runtimeClassName": any(random, &["", "kata"]),
            "hostNetwork": random.u8(..4) == 0, "schedulerName": any(random, &["default-scheduler", "mine"]), "containers": images},
    })
}

/// Questions in a random order, so that what is read depends on other answers.
fn questions(random: &mut fastrand::Rng) -> Vec<Question> {
    let mut questions = Question::ALL.to_vec();
    random.shuffle(&mut questions);
    questions.truncate(random.usize(2..=Question::ALL.len()));
    questions
}

fn names(world: &World, answer: &PodAnswer) -> Vec<String> {
    let snapshot = world.engine.snapshot();
    let rows = RowsByName::new(&answer.feasible, &snapshot.node_names());
    let mut names: Vec<String> = rows.map(|row| snapshot.node_name(row).to_owned()).collect();
    names.sort();
    names
}

#[test]
fn verdicts_that_have_read_time_config_maps_and_the_pod_are_kept_exactly_as_long_as_they_are_right() {
    let _beside = beside_others();
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut asked, mut kept, mut patched, mut evaluated) = (0, 0, 0, 0);
    for round in 0..24 {
        let questions = questions(&mut random);
        let time = Arc::new(AtomicI64::new(0));
        let clock = Arc::clone(&time);
        // With `Verified` every answer is evaluated twice; without it, cached answers are given as the sidecar gives them.
        let reuse = if round % 2 == 0 { Reuse::Verified } else { Reuse::On };
        let mut world = World::new(&guest(&questions));
        world.engine = world.engine.with_clock(Clock::new(move || clock.load(Ordering::Relaxed))).with_reuse(reuse);
        let mut state = State { now: MOMENTS[0] - 10, ..State::default() };
        (0..NODES).for_each(|number| world.node(number, ""));
        let pods: Vec<Value> = (0..6).map(|_| pod(&mut random)).collect();
        for _ in 0..60 {
            if random.bool() {
                state.step(&mut random, &mut world);
            }
            world.writer.publish();
            time.store(state.now, Ordering::Relaxed);
            let pod = &pods[random.usize(..pods.len())];
            let expected = state.fits(&questions, pod);
            let query = Query::new([PodRef::Whole(Box::new(object(pod.clone())))]);
            let snapshot = world.engine.snapshot();
            if let Some(cached) = world.engine.answer_cached(&query, &snapshot) {
                assert_eq!(names(&world, &cached.pods[0]), expected, "cached, {questions:?}, {pod}, at {}", state.now);
            }
            let nodes = if random.u8(..4) == 0 { vec!["n1".to_owned(), "n4".to_owned()] } else { Vec::new() };
            let query = if nodes.is_empty() { query } else { query.with_nodes(Nodes::Named(nodes.clone())) };
            let answer = world
                .engine
                .answer(&query, Options::default())
                .unwrap_or_else(|error| panic!("{error}: {questions:?}"));
            let expected: Vec<String> =
                expected.into_iter().filter(|name| nodes.is_empty() || nodes.contains(name)).collect();
            assert_eq!(names(&world, &answer.pods[0]), expected, "{questions:?}, {pod}, at {}", state.now);
            asked += 1;
        }
        kept += world.counted(r#"nodesift_verdicts_total{from="kept"}"#);
        patched += world.patched();
        evaluated += world.evaluated();
    }
    println!("{asked} answers, 0 differences: {kept} verdicts kept, {patched} patched, {evaluated} evaluated");
    assert!(kept > 50 && patched > 5 && evaluated > 50, "a source of verdicts does not occur");
}

/// A verdict that was told that a moment has not passed is asked for again once it has, and not before.
#[test]
fn a_cached_verdict_expires_at_the_first_moment_that_it_was_told_has_not_passed() {
    let _beside = beside_others();
    let questions = MOMENTS.map(Question::Passed);
    let time = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&time);
    // Every moment is asked about, whatever the answers are.
    let asks: String = questions.iter().map(|question| question.code().1).collect();
    let guest =
        Guest::healthy().imports(questions[0].code().0).definitions(FOLD).filter(format!("{asks} (call $fits_all)"));
    let mut world = World::with_silver_nodes(&guest);
    world.engine = world.engine.with_clock(Clock::new(move || clock.load(Ordering::Relaxed))).with_reuse(Reuse::On);
    let query = Query::new([super::world::pending()]);
    let evaluated_at = |now: i64| {
        time.store(now, Ordering::Relaxed);
        let before = world.evaluated();
        let cached = world.engine.answer_cached(&query, &world.engine.snapshot()).is_some();
        world.engine.answer(&query, Options::default()).unwrap();
        let evaluated = world.evaluated() > before;
        assert_ne!(cached, evaluated, "at {now}");
        evaluated
    };
    let steps =
        [(0, true), (99, false), (100, true), (109, false), (110, true), (500, true), (1_000, false), (119, true)];
    for (now, is_evaluated) in steps {
        assert_eq!(evaluated_at(now), is_evaluated, "at {now}");
    }
}
