//! Shared by the attacks: one runtime, a small cluster, and the healthy predicate, which must be correct after each attack.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use nodesift_cache as cache;
use nodesift_cache::metadata;
use nodesift_engine::{Batch, Context};
use nodesift_object::{Node, Pod};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::limits::{FILTER_TIME_MIN, STARVED_FACTOR};
use nodesift_sandbox::{
    Code, Codes, Facts, Failure, Grants, Lifetime, LoadError, Module, RowVerdict, Runtime, Verdict,
};
use nodesift_tests::guest::{Guest, ODD_ROW};
use nodesift_tests::{timeout, timing};
use serde_json::json;

/// How far a call may exceed its budget of processor time, in the median of some runs: two ticks of the epoch clock, and
/// the time until the clock's thread is scheduled.
pub(crate) const OVERRUN: Duration = Duration::from_millis(25);

/// How far any single call may exceed its budget. On a busy machine a thread may not run for long; this limit only has to
/// detect calls that never end.
pub(crate) const OVERRUN_MAX: Duration = Duration::from_secs(2);

/// Rows of the usual batch.
pub(crate) const ROWS: u32 = 100;

/// One runtime for all attacks, as in the sidecar, so that effects of one guest on the next are detected.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::start(None).expect("the runtime starts"));

static HEALTHY: LazyLock<[Module; 2]> = LazyLock::new(|| {
    let component = Guest::healthy().component();
    [Lifetime::PerCall, Lifetime::Reused]
        .map(|lifetime| RUNTIME.load(&component, Grants { lifetime, ..grants() }).expect("the healthy guest loads"))
});

static FACTS: LazyLock<Arc<dyn Facts>> = LazyLock::new(|| facts(ROWS));

/// The grants of a policy without settings.
pub(crate) fn default_grants() -> Grants {
    Grants::default()
}

/// Grants with a large time budget: where the attack is not about time, a machine that is busy for 10 ms must not change the result.
pub(crate) fn grants() -> Grants {
    Grants { time_per_call: Some(Duration::from_secs(30)), ..default_grants() }
}

/// Label keys of a large cluster: more than the host caches columns for.
pub(crate) const LABEL_KEYS: u32 = 300;

/// A label key of four letters.
pub(crate) fn label_key(number: u32) -> String {
    format!("k{number:03}")
}

/// The facts of a pod in the namespace `default` and a cluster of `rows` nodes with one label each.
pub(crate) fn facts(rows: u32) -> Arc<dyn Facts> {
    let (mut writer, reader) = cache::new();
    for row in 0..rows {
        let node = json!({"metadata": {"name": format!("n{row}"), "labels": {label_key(row % LABEL_KEYS): "x"}}, "status": {"allocatable": {"cpu": "4"}}});
        let node: Node = serde_json::from_value(node).expect("a node");
        writer.apply(metadata::node(&node));
    }
    writer.publish();
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "default"}})).expect("a pod");
    Arc::new(Context::new(reader.snapshot(), Arc::new(metadata::pod(&pod)), None, Batch::All))
}

/// Loads a component that must load.
pub(crate) fn load(component: &[u8], grants: Grants) -> Module {
    RUNTIME.load(component, grants).unwrap_or_else(|error| panic!("the guest does not load: {error}"))
}

/// Loads a component that must be refused, and checks that others still answer.
pub(crate) fn refused(component: &[u8], grants: Grants) -> LoadError {
    let error = RUNTIME.load(component, grants).expect_err("the guest is refused");
    assert!(!error.to_string().contains('\n'), "one line: {error}");
    healthy_answers_are_right();
    error
}

/// Loads a guest that must fail in one step of loading with this fault.
pub(crate) fn refused_in(step: &str, kind: FaultKind, guest: &Guest) -> Fault {
    match refused(&guest.component(), grants()) {
        LoadError::Step { step: found, fault } => {
            assert_eq!((found, fault.kind), (step, kind), "{fault}");
            fault
        }
        other => panic!("not refused in {step}: {other}"),
    }
}

/// Calls a module with the usual batch.
pub(crate) fn call(module: &Module) -> Result<Verdict, Fault> {
    module.filter(Arc::clone(&FACTS), ROWS, None)
}

/// Loads a guest whose calls must end with this fault, in time, twice. After each call others must still answer.
pub(crate) fn faults_with(kind: FaultKind, guest: &Guest) -> Fault {
    let grants = if kind == FaultKind::Deadline { default_grants() } else { grants() };
    let module = load(&guest.component(), grants);
    let mut last = None;
    for _ in 0..2 {
        let (outcome, time) = timed(|| call(&module));
        let fault = outcome.expect_err("a fault");
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(!fault.detail.is_empty() && !fault.detail.contains('\n'), "one line: {:?}", fault.detail);
        timing::at_most("a call that faults", time, FILTER_TIME_MIN * STARVED_FACTOR + OVERRUN_MAX);
        healthy_answers_are_right();
        last = Some(fault);
    }
    last.expect("called twice")
}

/// The healthy guest's verdict on a batch.
pub(crate) fn odd_rows_rejected(rows: u32) -> Verdict {
    let codes: Vec<u16> = (0..rows).map(|row| u16::from(row % 2 == 1)).collect();
    let failure = Failure { code: Code::Unschedulable, reasons: [ODD_ROW.to_owned()].into() };
    Verdict::ByRow(RowVerdict::new(Codes::from(codes), [failure].into(), None))
}

/// Checks the verdicts of the healthy guest, with new and reused instances.
pub(crate) fn healthy_answers_are_right() {
    for module in &*HEALTHY {
        assert_eq!(call(module), Ok(odd_rows_rejected(ROWS)));
    }
}

/// How long [`with_steady_speed`] may try.
const STEADY: Duration = Duration::from_secs(10);

/// How long [`load_slow`] may try.
const SLOW_LOADS: Duration = Duration::from_secs(20);

/// A function that takes time, for [`Guest::definitions`](nodesift_tests::guest::Guest::definitions): `$work` with a number of
/// rounds, see [`rounds`].
pub(crate) const WORK: &str = "(func $work (param $rounds i64)
  (loop $round
    (local.set $rounds (i64.sub (local.get $rounds) (i64.const 1)))
    (br_if $round (i64.ne (local.get $rounds) (i64.const 0)))))";

/// How many rounds of [`WORK`] take so much processor time on this machine, as it is now: measured each time, since a core whose sibling
/// is busy has half the speed, and seconds later may have it all.
pub(crate) fn rounds(time: Duration) -> u64 {
    const SAMPLE: u64 = 5_000_000;
    const RUNS: usize = 9;
    static SAMPLE_MODULE: LazyLock<Module> = LazyLock::new(|| {
        let filter = format!("(call $work (i64.const {SAMPLE})) (call $fits_all)");
        load(&Guest::healthy().definitions(WORK).filter(filter).component(), grants())
    });
    let times = (0..RUNS).map(|_| {
        let start = ThreadTime::now();
        assert!(call(&SAMPLE_MODULE).is_ok());
        start.elapsed()
    });
    let rounds = u128::from(SAMPLE) * time.as_nanos() / median(times.collect()).as_nanos().max(1);
    u64::try_from(rounds).expect("a short time")
}

/// Tries again, for a while, what depends on the speed of the machine staying as [`rounds`] has measured it.
pub(crate) fn with_steady_speed(what: &str, mut attempt: impl FnMut() -> bool) {
    let until = Instant::now() + timeout::scaled(STEADY);
    while !attempt() {
        assert!(Instant::now() < until, "{what}: in no attempt");
    }
}

/// Loads a component whose start takes most of the time that it may: on a machine that became slower than it was when [`rounds`]
/// measured it, single attempts take too long.
pub(crate) fn load_slow(runtime: &Runtime, component: &[u8], grants: &Grants) -> Module {
    let until = Instant::now() + timeout::scaled(SLOW_LOADS);
    loop {
        match runtime.load(component, grants.clone()) {
            Err(LoadError::SlowStart { .. }) if Instant::now() < until => {}
            loaded => return loaded.unwrap(),
        }
    }
}

/// Runs a function and measures its time.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed())
}

/// Returns the median of the times.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The sections at the top of a component: the id of each, 0 for a custom one, and the byte after its end.
pub(crate) fn sections(component: &[u8]) -> Vec<(u8, usize)> {
    let (mut at, mut sections) = (8, Vec::new());
    while at < component.len() {
        let id = component[at];
        at += 1;
        let (mut length, mut shift) = (0, 0);
        loop {
            let byte = usize::from(component[at]);
            at += 1;
            length |= (byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        at += length;
        sections.push((id, at));
    }
    sections
}
