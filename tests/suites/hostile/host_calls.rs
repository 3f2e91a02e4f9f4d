//! Host functions called with everything that a guest can pass: an error or a value, never a panic, and in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use nodesift_cache::metadata::{self, Selection};
use nodesift_cache::{self as cache, Snapshot};
use nodesift_engine::{
    ActivePolicy, ActivePredicate, Batch, Breaker, Context, Depth, Engine, OnError, Options, Phases, PodRef,
    PolicySettings, Query, Reuse,
};
use nodesift_object::{Node, Pod};
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{FILTER_TIME_MIN, HOST_TIME_FACTOR};
use nodesift_sandbox::{Facts, Grants, Interface, Lifetime, Module, Runtime};
use nodesift_tests::guest::{Guest, HostFunction, host_functions};
use nodesift_tests::machine::beside_others;
use nodesift_tests::{timeout, timing};
use serde_json::json;

use crate::arena::{OVERRUN, default_grants, healthy_answers_are_right, load, timed};

/// Sets of random arguments.
const SETS: u32 = 60_000;

/// Modules, each with other texts and records to point at.
const IMAGES: u32 = 20;

/// Where the texts and records of an image begin, and their bytes.
const IMAGE: u32 = 131_072;
const IMAGE_BYTES: u32 = 65_536;

/// A cluster of so many nodes with pods, no two of one class.
fn cluster(nodes: u32, pods: u32) -> (cache::Writer, cache::Reader) {
    let (mut writer, reader) = cache::new();
    for number in 0..nodes {
        let node: Node = serde_json::from_value(json!({
            "metadata": {
                "name": format!("n{number}"),
                "labels": {"zone": format!("z{}", number % 3), "kubernetes.io/hostname": format!("n{number}")},
            },
            "spec": {"taints": [{"key": format!("t{}", number % 7), "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "1000"}},
        }))
        .unwrap();
        writer.apply(metadata::node(&node));
    }
    for number in 0..pods {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "name": format!("p{number}"),
                "namespace": format!("ns{}", number % 5),
                "labels": {"app": format!("a{number}"), "tier": "x"},
            },
            "spec": {
                "nodeName": format!("n{}", number % nodes),
                "containers": [{"resources": {"requests": {"cpu": "10m", "odd.example/gpu": "1"}}}],
            },
        }))
        .unwrap();
        writer.apply(metadata::pod_record(&pod, &[]));
    }
    writer.publish();
    (writer, reader)
}

fn pod() -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "ns1", "labels": {"app": "a1", "tier": "x"}},
        "spec": {
            "containers": [{"ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "1", "odd.example/gpu": "2"}}}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        },
    }))
    .unwrap()
}

fn facts_of(snapshot: &Arc<Snapshot>) -> Arc<dyn Facts> {
    Arc::new(Context::new(Arc::clone(snapshot), Arc::new(metadata::pod(&pod())), None, Batch::All))
}

/// Texts that mean something in the cluster, are odd, or are not even UTF-8.
const TEXTS: [&[u8]; 20] = [
    b"app",
    b"tier",
    b"x",
    b"a1",
    b"ns1",
    b"zone",
    b"z1",
    b"kubernetes.io/hostname",
    b"n1",
    b"cpu",
    b"odd.example/gpu",
    b"memory",
    b"",
    b"c",
    b"kubernetes.io/aws-ebs",
    b"t1",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    "é\u{202e}\0".as_bytes(),
    b"p",
];

/// Bytes to point at: texts, then records of selectors whose lists and texts lie in the image too, mostly.
fn image(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut texts: Vec<(u32, u32)> = Vec::new();
    for text in TEXTS {
        texts.push((IMAGE + u32::try_from(bytes.len()).unwrap(), u32::try_from(text.len()).unwrap()));
        bytes.extend_from_slice(text);
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    while bytes.len() < IMAGE_BYTES as usize {
        let word = match random.u8(0..20) {
            // A list or a text: address and length.
            0..12 => {
                let (at, length) = texts[random.usize(..texts.len())];
                bytes.extend_from_slice(&at.to_le_bytes());
                length
            }
            // A list of records of the image.
            12..16 => {
                bytes.extend_from_slice(&(IMAGE + 4 * random.u32(64..IMAGE_BYTES / 4)).to_le_bytes());
                random.u32(0..4)
            }
            // An operator, an option, a flag.
            16..19 => random.u32(0..6),
            _ => random.u32(..),
        };
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.truncate(IMAGE_BYTES as usize);
    bytes
}

/// The functions that the host serves.
fn served_functions() -> Vec<HostFunction> {
    let is_served = |function: &HostFunction| {
        let interface = function.interface.split(['/', '@']).nth(1).and_then(Interface::from_name);
        interface.is_some_and(|interface| interface.functions().contains(&&*function.name))
    };
    host_functions().into_iter().filter(is_served).collect()
}

/// A guest that calls one host function with arguments that follow from the number of rows, and returns `fits-all`.
fn caller(functions: &[HostFunction], image: &[u8], salt: u32) -> Guest {
    let imports: String = functions
        .iter()
        .enumerate()
        .map(|(at, function)| {
            let HostFunction { interface, name, .. } = function;
            format!("(import {interface:?} {name:?} (func $f{at} {}))\n", function.signature())
        })
        .collect();
    let call = |(at, function): (usize, &HostFunction)| {
        let argument = |kind: &&str| match *kind {
            "i64" => "(i64.extend_i32_s (call $argument)) ",
            _ => "(call $argument) ",
        };
        let arguments: String = function.params.iter().map(argument).collect();
        let call = format!("(call $f{at} {arguments})");
        let call = if function.returns.is_some() { format!("(drop {call})") } else { call };
        format!("(if (i32.eq (local.get $i) (i32.const {at})) (then {call} (return (call $fits_all))))\n")
    };
    let calls: String = functions.iter().enumerate().map(call).collect();
    let data: String = image.iter().map(|byte| format!("\\{byte:02x}")).collect();
    Guest::healthy()
        .memory(r#"(memory (export "memory") 4)"#)
        .imports(imports)
        .definitions(format!(
            r#"(data (i32.const {IMAGE}) "{data}")
               (global $state (mut i32) (i32.const 0))
               (func $random (result i32)
                 (global.set $state (i32.xor (global.get $state) (i32.shl (global.get $state) (i32.const 13))))
                 (global.set $state (i32.xor (global.get $state) (i32.shr_u (global.get $state) (i32.const 17))))
                 (global.set $state (i32.xor (global.get $state) (i32.shl (global.get $state) (i32.const 5))))
                 (global.get $state))
               (func $argument (result i32) (local $kind i32) (local $value i32)
                 (local.set $kind (i32.rem_u (call $random) (i32.const 32)))
                 (local.set $value (call $random))
                 ;; A number such as a length, a flag or a place in an enumeration.
                 (if (i32.lt_u (local.get $kind) (i32.const 20))
                   (then (return (i32.rem_u (local.get $value) (i32.const 5)))))
                 ;; An aligned address in the image.
                 (if (i32.lt_u (local.get $kind) (i32.const 30)) (then (return (i32.add (i32.const {IMAGE})
                   (i32.and (i32.rem_u (local.get $value) (i32.const {IMAGE_BYTES})) (i32.const -4))))))
                 ;; A long length, or anything.
                 (if (i32.lt_u (local.get $kind) (i32.const 31))
                   (then (return (i32.rem_u (local.get $value) (i32.const 300000)))))
                 (local.get $value))"#
        ))
        .filter(format!(
            "(global.set $heap (i32.const {}))
             (global.set $state (i32.xor (i32.mul (local.get $rows) (i32.const 0x9e3779b1)) (i32.const {salt})))
             (if (i32.eqz (global.get $state)) (then (global.set $state (i32.const 1))))
             (local.set $i (i32.rem_u (call $random) (i32.const {})))
             {calls}
             (unreachable)",
            IMAGE + IMAGE_BYTES,
            functions.len()
        ))
}

/// Outcomes of the calls of one thread.
#[derive(Debug, Default)]
struct Tally {
    values: u32,
    faults: u32,
    late: u32,
    worst: Duration,
}

#[test]
fn h27_every_host_function_with_random_arguments_gives_a_value_or_an_error_in_time() {
    let _beside = beside_others();
    let seed = nodesift_seed::seed();
    let functions = served_functions();
    println!("{} host functions", functions.len());
    let (_writer, reader) = cluster(300, 1_500);
    let facts = facts_of(&reader.snapshot());
    let next = AtomicU64::new(0);
    let grants = || Grants { lifetime: Lifetime::Reused, time_per_call: Some(FILTER_TIME_MIN), ..default_grants() };
    let work = || {
        let mut tally = Tally::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= u64::from(IMAGES) {
                return tally;
            }
            let mut random = fastrand::Rng::with_seed(seed ^ number);
            let module = load(&caller(&functions, &image(&mut random), random.u32(..)).component(), grants());
            for rows in 0..SETS / IMAGES {
                let started = ThreadTime::now();
                let outcome = module.filter(Arc::clone(&facts), rows, None);
                tally.worst = tally.worst.max(started.elapsed());
                match outcome {
                    Ok(_) => tally.values += 1,
                    Err(fault) => {
                        assert_ne!(fault.kind, FaultKind::Overloaded, "{fault}");
                        tally.late += u32::from(fault.kind == FaultKind::Deadline);
                        tally.faults += 1;
                    }
                }
            }
        }
    };
    let (tallies, time) = timed(|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<Tally>>()
        })
    });
    let sum = |count: fn(&Tally) -> u32| tallies.iter().map(count).sum::<u32>();
    let worst = tallies.iter().map(|tally| tally.worst).max().unwrap();
    let (values, faults) = (sum(|tally| tally.values), sum(|tally| tally.faults));
    let over = worst.saturating_sub(FILTER_TIME_MIN);
    println!(
        "{SETS} sets of arguments in {time:?}: {values} values, {faults} faults, {} of them deadlines; \
         the worst call took {worst:?}, {over:?} over its budget of {FILTER_TIME_MIN:?}",
        sum(|tally| tally.late)
    );
    assert_eq!(values + faults, SETS);
    // Both must occur, or the arguments are not what they should be.
    assert!(values > SETS / 10 && faults > SETS / 100, "{values} values, {faults} faults");
    timing::at_most("the worst call over its budget", over, OVERRUN);
    healthy_answers_are_right();
}

#[test]
fn h27_random_arguments_are_no_panic_where_reads_are_recorded() {
    let _beside = beside_others();
    const ROUNDS: u32 = 100;
    let seed = nodesift_seed::seed();
    let functions = served_functions();
    let (mut writer, reader) = cluster(50, 100);
    let mut random = fastrand::Rng::with_seed(seed);
    let runtime = Runtime::start(None).unwrap();
    let predicate = |number: u32, random: &mut fastrand::Rng| ActivePredicate {
        name: Arc::from(format!("Caller{number}")),
        phases: Phases::ALL,
        on_error: OnError::Ignore,
        mode: nodesift_engine::Mode::Enforce,
        digest: [0; 32],
        counts: Arc::default(),
        breaker: Arc::new(Breaker::that_never_opens()),
        is_beside: false,
        module: Arc::new(
            runtime.load(&caller(&functions, &image(random), random.u32(..)).component(), default_grants()).unwrap(),
        ),
    };
    let policy = ActivePolicy::new(Vec::new(), (0..30).map(|number| predicate(number, &mut random)).collect());
    let engine = Engine::new(reader, policy, runtime).with_reuse(Reuse::Verified);
    for round in 0..ROUNDS {
        // The arguments follow from the number of rows: one more node makes others of them.
        let node = json!({"metadata": {"name": format!("more-{round}"), "labels": {"zone": "z1"}}});
        writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
        writer.publish();
        let query = Query::new([PodRef::Whole(Box::new(pod()))]).with_depth(Depth::Each);
        engine.answer(&query, Options::default()).unwrap();
    }
}

/// A guest that makes a list of so many selectors and requirements, with keys and values of their own, and counts by it.
fn counter(selectors: u32, requirements: u32, values: u32, operator: u32) -> Module {
    // 28 bytes a selector and a requirement, 8 a value, 8 for the text of a key or a value.
    let import =
        r#"(import "nodesift:predicate/cluster-pods@0.2.0" "matching" (func $matching (param i32 i32 i32 i32)))"#;
    let (texts, records, lists) = (0x10_0000, 0x40_0000, 0x80_0000);
    let (selector_list, namespaces) = (0x90_0000, 0xa0_0000);
    let guest = Guest::healthy()
        .memory(r#"(memory (export "memory") 200)"#)
        .imports(import)
        .definitions(format!(
            r#"(data (i32.const 2048) "ns1")
               ;; The text of a number: eight letters, the last ones first. Returns its address.
               (func $number (param $i i32) (result i32) (local $at i32) (local $end i32) (local $first i32)
                 (local.set $first (i32.add (i32.const {texts}) (i32.shl (local.get $i) (i32.const 3))))
                 (local.set $at (local.get $first))
                 (local.set $end (i32.add (local.get $at) (i32.const 8)))
                 (loop $letter
                   (i32.store8 (local.get $at) (i32.add (i32.const 97) (i32.and (local.get $i) (i32.const 15))))
                   (local.set $i (i32.shr_u (local.get $i) (i32.const 4)))
                   (local.set $at (i32.add (local.get $at) (i32.const 1)))
                   (br_if $letter (i32.lt_u (local.get $at) (local.get $end))))
                 (local.get $first))
               (func $make (local $i i32) (local $at i32) (local $namespace i32)
                 ;; Values: all requirements share them.
                 (block $done (loop $value
                   (br_if $done (i32.ge_u (local.get $i) (i32.const {values})))
                   (local.set $at (i32.add (i32.const {lists}) (i32.shl (local.get $i) (i32.const 3))))
                   (call $text (local.get $at) (call $number (local.get $i)) (i32.const 8))
                   (local.set $i (i32.add (local.get $i) (i32.const 1)))
                   (br $value)))
                 (local.set $i (i32.const 0))
                 (block $done (loop $requirement
                   (br_if $done (i32.ge_u (local.get $i) (i32.const {requirements})))
                   (local.set $at (i32.add (i32.const {records}) (i32.mul (local.get $i) (i32.const 28))))
                   (call $text (local.get $at) (call $number (local.get $i)) (i32.const 8))
                   (i32.store8 offset=8 (local.get $at) (i32.const {operator}))
                   (call $text (i32.add (local.get $at) (i32.const 12)) (i32.const {lists}) (i32.const {values}))
                   (call $text (i32.add (local.get $at) (i32.const 20)) (i32.const 2048) (i32.const 2))
                   (local.set $i (i32.add (local.get $i) (i32.const 1)))
                   (br $requirement)))
                 ;; Selectors: of namespaces that differ, so that they are not one, and of every namespace.
                 (local.set $i (i32.const 0))
                 (block $done (loop $selector
                   (br_if $done (i32.ge_u (local.get $i) (i32.const {selectors})))
                   (local.set $namespace (i32.add (i32.const {namespaces}) (i32.shl (local.get $i) (i32.const 3))))
                   (call $text (local.get $namespace) (call $number (local.get $i)) (i32.const 8))
                   (local.set $at (i32.add (i32.const {selector_list}) (i32.mul (local.get $i) (i32.const 28))))
                   (call $text (local.get $at) (local.get $namespace) (i32.const 1))
                   (i32.store8 offset=8 (local.get $at) (i32.const 1))
                   (call $text (i32.add (local.get $at) (i32.const 12)) (i32.const {records}) (i32.const 0))
                   (call $text (i32.add (local.get $at) (i32.const 20)) (i32.const {records}) (i32.const {requirements}))
                   (local.set $i (i32.add (local.get $i) (i32.const 1)))
                   (br $selector))))"#
        ))
        .filter(format!(
            "(call $make)
             (call $matching (i32.const {selector_list}) (i32.const {selectors}) (i32.const 1) (i32.const 2072))
             (call $fits_all)"
        ));
    load(&guest.component(), default_grants())
}

#[test]
fn counting_pods_by_huge_selectors_ends_by_the_deadline() {
    let _beside = beside_others();
    const CLASSES: u32 = 20_000;
    /// Places in the contract's enumeration of operators.
    const NOT_IN: u32 = 1;
    const DOES_NOT_EXIST: u32 = 3;
    let (_writer, reader) = cluster(100, CLASSES);
    let facts = facts_of(&reader.snapshot());
    let most = FILTER_TIME_MIN * (1 + HOST_TIME_FACTOR) + timeout::scaled(OVERRUN);
    for (what, selectors, requirements, values, operator) in [
        ("one requirement", 1, 1, 1, NOT_IN),
        ("10,000 requirements", 1, 10_000, 0, DOES_NOT_EXIST),
        ("20,000 values", 1, 1, 20_000, NOT_IN),
        ("100 requirements of 200 values", 1, 100, 200, NOT_IN),
        ("8,000 selectors", 8_000, 0, 0, NOT_IN),
        ("50 selectors of 100 requirements", 50, 100, 0, DOES_NOT_EXIST),
    ] {
        let module = counter(selectors, requirements, values, operator);
        let mut worst = Duration::ZERO;
        let mut kinds = Vec::new();
        for _ in 0..5 {
            let started = ThreadTime::now();
            let outcome = module.filter(Arc::clone(&facts), 100, None);
            worst = worst.max(started.elapsed());
            kinds.push(outcome.err().map(|fault| fault.kind));
        }
        println!("{what}: at most {worst:?}, {kinds:?}");
        assert!(kinds.iter().all(|kind| matches!(kind, None | Some(FaultKind::Deadline))), "{what}: {kinds:?}");
        assert!(worst <= most, "{what}: {worst:?}, at most {most:?}");
    }
    healthy_answers_are_right();
}

#[test]
fn a_host_function_stops_at_the_deadline_of_the_request() {
    let _beside = beside_others();
    let (_writer, reader) = cluster(100, 20_000);
    let facts = facts_of(&reader.snapshot());
    let module = counter(50, 100, 0, 3);
    let (outcome, time) = timed(|| module.filter(facts, 100, Some(Instant::now() + Duration::from_millis(4))));
    println!("{:?} after {time:?}", outcome.as_ref().map_err(|fault| fault.kind));
    if let Err(fault) = outcome {
        assert_eq!(fault.kind, FaultKind::RequestDeadline, "{fault}");
    }
    timing::at_most("a host function under a deadline", time, Duration::from_millis(4) + OVERRUN);
}

#[test]
fn h20_handles_that_are_random_stale_or_foreign_give_nothing() {
    let _beside = beside_others();
    const HANDLES: u32 = 10_000;
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    // Two live handles, 1 and 2, of which the second is dropped again; then the representation of a handle by number.
    let filter = "(drop (call $new (i32.const 0x5ec4e7)))
         (call $drop (call $new (i32.const 0x5ec4e7)))
         (if (call $rep (local.get $rows)) (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
         (call $fits_all)";
    let module = load(&Guest::healthy().resource("").filter(filter).component(), default_grants());
    let facts = crate::arena::facts(1);
    // The one live handle gives its value, which shows that the calls below could.
    assert!(matches!(module.filter(Arc::clone(&facts), 1, None), Ok(nodesift_sandbox::Verdict::FitsNone(_))));
    for number in 0..HANDLES {
        let handle = match number {
            0 => 0,
            1 => 2,
            _ => random.u32(2..),
        };
        // The number of rows also bounds what the guest may return, and nothing else here.
        let outcome = module.filter(Arc::clone(&facts), handle, None);
        assert!(outcome.is_err(), "handle {handle} gives a value");
    }
    healthy_answers_are_right();
}

#[test]
fn h20_what_the_policy_does_not_list_gives_nothing() {
    let _beside = beside_others();
    let listed = || vec!["listed".to_owned()];
    nothing_but_what_is_listed_has_a_value(&listed(), None);
    // The cache may still hold what a policy before has listed.
    nothing_but_what_is_listed_has_a_value(&["listed".to_owned(), "secret".to_owned()], Some(listed().into()));
}

/// The cache holds annotations with the keys of `held`, and the policy lists those of `shown`, or all.
fn nothing_but_what_is_listed_has_a_value(held: &[String], shown: Option<Arc<[String]>>) {
    const KEYS: u32 = 10_000;
    let (mut writer, reader) = cache::new();
    let annotations = json!({"listed": "a", "secret": "b"});
    let node = json!({"metadata": {"name": "n", "annotations": annotations}});
    let held = Selection::annotations(held);
    writer.apply(metadata::node_selecting(&serde_json::from_value(node).unwrap(), &held));
    writer.publish();
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "annotations": annotations}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let facts = Arc::new(metadata::pod_selecting(&pod, &held));
    let context = Context::new(reader.snapshot(), facts, None, Batch::All);
    let facts: Arc<dyn Facts> = Arc::new(match shown {
        Some(annotation_keys) => {
            context.with_settings(Arc::new(PolicySettings { annotation_keys, ..PolicySettings::default() }))
        }
        None => context,
    });
    let imports = r#"
        (import "nodesift:predicate/pod-annotations@0.2.0" "annotation" (func $of_pod (param i32 i32 i32)))
        (import "nodesift:predicate/node-annotations@0.2.0" "code" (func $of_node (param i32 i32 i32 i32 i32)))
        (import "nodesift:predicate/node-annotations@0.2.0" "column" (func $column (param i32 i32 i32)))"#;
    // Asks by the key at 2048, of so many bytes, for values that exist; traps where there is one.
    let ask = |length: &str| {
        format!(
            "(call $of_pod (i32.const 2048) {length} (i32.const 2304))
             (if (i32.load8_u (i32.const 2304)) (then (unreachable)))
             (call $of_node (i32.const 2048) {length} (i32.const 2400) (i32.const 1) (i32.const 2304))
             (if (i32.load8_u (i32.const 2304)) (then (unreachable)))
             (call $of_node (i32.const 2048) {length} (i32.const 2401) (i32.const 1) (i32.const 2304))
             (if (i32.load8_u (i32.const 2304)) (then (unreachable)))
             (call $column (i32.const 2048) {length} (i32.const 2304))
             (if (i32.load (i32.load (i32.const 2304))) (then (unreachable)))
             (global.set $heap (i32.const 65536))"
        )
    };
    let guest = |key: &str, filter: String| {
        let definitions = format!(r#"(data (i32.const 2048) {key:?}) (data (i32.const 2400) "ab")"#);
        let guest = Guest::healthy().imports(imports).definitions(definitions).filter(filter);
        load(&guest.component(), Grants { time_per_call: Some(timeout::limit()), ..default_grants() })
    };
    let once = |key: &str| guest(key, format!("{} (call $fits_all)", ask(&format!("(i32.const {})", key.len()))));
    assert!(once("listed").filter(Arc::clone(&facts), 1, None).is_err(), "what is listed has a value");
    assert!(once("secret").filter(Arc::clone(&facts), 1, None).is_ok(), "what is not listed has one");
    // Random keys of up to eleven bytes, of which some begin as the secret one.
    let many = format!(
        "(local.set $j (i32.const 1))
         (loop $next
           (local.set $j (i32.mul (local.get $j) (i32.const 0x9e3779b1)))
           (i32.store8 (i32.add (i32.const 2048) (i32.rem_u (local.get $j) (i32.const 11)))
             (i32.add (i32.const 97) (i32.rem_u (i32.shr_u (local.get $j) (i32.const 8)) (i32.const 26))))
           {}
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br_if $next (i32.lt_u (local.get $i) (i32.const {KEYS}))))
         (call $fits_all)",
        ask("(i32.rem_u (local.get $i) (i32.const 12))")
    );
    assert!(guest("secretsecret", many).filter(facts, 1, None).is_ok(), "some key has a value");
}

#[test]
fn h30_resources_that_are_leaked_are_bounded() {
    let _beside = beside_others();
    let leak = |handles: u32| {
        let filter = format!(
            "(loop $leak
               (drop (call $new (local.get $i)))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br_if $leak (i32.lt_u (local.get $i) (i32.const {handles}))))
             (call $fits_all)"
        );
        load(&Guest::healthy().resource("").filter(filter).component(), default_grants())
    };
    let facts = crate::arena::facts(1);
    let limit = u32::try_from(nodesift_sandbox::limits::GUEST_HANDLES).unwrap();
    assert_eq!(leak(limit).filter(Arc::clone(&facts), 1, None), Ok(nodesift_sandbox::Verdict::FitsAll));
    for handles in [limit + 1, u32::MAX] {
        let module = leak(handles);
        for _ in 0..100 {
            let fault = module.filter(Arc::clone(&facts), 1, None).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Memory, "{fault}");
            assert!(fault.detail.contains("handle"), "{fault}");
        }
    }
    // Those that are dropped do not count.
    let filter = format!(
        "(loop $churn
           (call $drop (call $new (local.get $i)))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br_if $churn (i32.lt_u (local.get $i) (i32.const {}))))
         (call $fits_all)",
        3 * limit
    );
    let churn = load(&Guest::healthy().resource("").filter(filter).component(), crate::arena::grants());
    assert_eq!(churn.filter(facts, 1, None), Ok(nodesift_sandbox::Verdict::FitsAll));
    healthy_answers_are_right();
}

#[test]
fn h30_destructors_that_trap_or_loop_are_faults() {
    let _beside = beside_others();
    let filter = "(call $drop (call $new (i32.const 1))) (call $fits_all)";
    for (destructor, kind) in [
        ("(unreachable)", FaultKind::Trap),
        ("(loop $forever (br $forever))", FaultKind::Deadline),
        (
            "(drop (call $new (local.get $value))) (loop $more (drop (call $new (local.get $value))) (br $more))",
            FaultKind::Memory,
        ),
    ] {
        crate::arena::faults_with(kind, &Guest::healthy().resource(destructor).filter(filter));
        // What is leaked is not destroyed at the end of the call: no code of the guest runs then.
        let leaking = Guest::healthy().resource(destructor).filter("(drop (call $new (i32.const 1))) (call $fits_all)");
        let module = load(&leaking.component(), default_grants());
        for _ in 0..100 {
            assert!(module.filter(crate::arena::facts(1), 1, None).is_ok());
        }
    }
    healthy_answers_are_right();
}
