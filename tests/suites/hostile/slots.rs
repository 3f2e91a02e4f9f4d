//! Work of a module before `filter`, and the instances that it has at once: it can neither take more time than a call has, nor the
//! instances of others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::limits::{
    FILTER_TIME_MIN, GUEST_INSTANCES, GUEST_SLOTS, INSTANTIATE_TIME, MODULE_SLOTS, SLOT_WAIT,
};
use nodesift_sandbox::{Grants, Lifetime, LoadError, Module, Runtime, Verdict};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::{alone, beside_others};
use nodesift_tests::timing;

use crate::arena::{
    OVERRUN, ROWS, RUNTIME, WORK, call, default_grants, facts, grants, healthy_answers_are_right, load, load_slow,
    median, odd_rows_rejected, rounds, sections, timed, with_steady_speed,
};
use crate::compile::{leb, section};

/// A guest that takes so much time in `configure`, and so much in `filter`.
fn slow(configure: Duration, filter: Duration) -> Guest {
    Guest::healthy()
        .definitions(WORK)
        .configure(format!("(call $work (i64.const {})) (i32.const 48)", rounds(configure).max(1)))
        .filter(format!("(call $work (i64.const {})) (call $fits_all)", rounds(filter).max(1)))
}

#[test]
fn a_module_whose_configure_takes_longer_than_a_call_is_refused_with_advice() {
    let _beside = beside_others();
    // From less than a call has on, twice as much each time: what is refused first has far less than loading allows, at any speed.
    let refused_from = |step: &str, guest: &dyn Fn(u64) -> Guest| {
        let mut work = rounds(FILTER_TIME_MIN / 4).max(1);
        loop {
            let guest = guest(work).component();
            work *= 2;
            let error = match RUNTIME.load(&guest, default_grants()) {
                Ok(_) => continue,
                Err(error) => error,
            };
            match &error {
                LoadError::SlowStart { step: found, budget } => {
                    assert_eq!(*budget, FILTER_TIME_MIN);
                    // One step may use almost all of the budget, and the next what is left: twice as much ends in the step itself.
                    if *found != step {
                        continue;
                    }
                }
                other => panic!("{step}: {other}"),
            }
            let error = error.to_string();
            assert!(error.contains("timePerCall") && error.contains("10ms") && !error.contains('\n'), "{error}");
            healthy_answers_are_right();
            break guest;
        }
    };
    let in_configure = refused_from("configure", &|work| {
        Guest::healthy().definitions(WORK).configure(format!("(call $work (i64.const {work})) (i32.const 48)"))
    });
    // So is one that does the same before `configure`.
    refused_from("instantiate", &|work| {
        let start = format!("{WORK} (func $start (call $work (i64.const {work}))) (start $start)");
        Guest::healthy().definitions(start)
    });
    // A policy can grant the time, and a module whose instances are reused takes it once.
    let granting = Grants { time_per_call: Some(INSTANTIATE_TIME * 3), ..default_grants() };
    assert_eq!(call(&load(&in_configure, granting)), Ok(odd_rows_rejected(ROWS)));
    load(&in_configure, Grants { lifetime: Lifetime::Reused, ..default_grants() });
}

#[test]
fn without_a_spare_the_budget_of_a_call_covers_configure_and_filter_together() {
    let _alone = alone();
    const RUNS: usize = 15;
    let runtime = Runtime::start(None).unwrap().without_spares();
    let load = |component: &[u8], grants| load_slow(&runtime, component, &grants);
    // Each within the budget, both together not. The second part alone would be interrupted hardly ever.
    let part = FILTER_TIME_MIN * 6 / 10;
    with_steady_speed("a fifth of the calls is interrupted", || {
        let module = load(&slow(part, FILTER_TIME_MIN * 9 / 10).component(), default_grants());
        (0..RUNS).filter(|_| call(&module).map_err(|fault| fault.kind) == Err(FaultKind::Deadline)).count() * 5 >= RUNS
    });
    let endless = Guest::healthy()
        .definitions(WORK)
        .configure(format!("(call $work (i64.const {})) (i32.const 48)", rounds(part)))
        .filter("(loop $forever (br $forever)) (unreachable)");
    let module = load(&endless.component(), default_grants());
    let times = (0..RUNS).map(|_| {
        let start = ThreadTime::now();
        let outcome = call(&module);
        let time = start.elapsed();
        assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::Deadline));
        time
    });
    let median = median(times.collect());
    println!("median {median:?} of a budget of {FILTER_TIME_MIN:?}");
    timing::at_most("configure and filter together", median, FILTER_TIME_MIN + OVERRUN);
    // A quarter as much fits.
    with_steady_speed("a fifth of the calls is answered", || {
        let module = load(&slow(part / 4, part / 4).component(), default_grants());
        (0..RUNS).filter(|_| call(&module) == Ok(Verdict::FitsAll)).count() * 5 >= RUNS
    });
}

/// A guest with almost as many core instances as one may have, half of them with a table, that takes so much time.
fn with_many_instances(time: Duration) -> Module {
    let filter = format!("(call $work (i64.const {})) (call $fits_all)", rounds(time));
    let component = Guest::healthy().definitions(WORK).filter(filter).component();
    // Two more core modules follow those of the component, and many instances of them.
    let known = core_modules(&component);
    let empty = wat::parse_str("(module)").unwrap();
    let table = wat::parse_str("(module (table 1 funcref))").unwrap();
    let instance = |module: usize| [vec![0], leb(module), leb(0)].concat();
    let instances: Vec<u8> =
        (0..GUEST_INSTANCES - 8).flat_map(|number| instance(known + usize::from(number % 2 == 0))).collect();
    let instances = [leb(GUEST_INSTANCES - 8), instances].concat();
    let more = [section(1, &empty), section(1, &table), section(2, &instances)].concat();
    load(&[component, more].concat(), grants())
}

/// How many core modules a component has at its top.
fn core_modules(component: &[u8]) -> usize {
    sections(component).iter().filter(|(id, _)| *id == 1).count()
}

#[test]
fn a_module_of_many_instances_and_tables_cannot_take_those_of_others() {
    let _beside = beside_others();
    const HOGS: u32 = MODULE_SLOTS + 8;
    let hog = with_many_instances(Duration::from_millis(2));
    let other = load(&Guest::healthy().component(), grants());
    let reused = load(&Guest::healthy().component(), Grants { lifetime: Lifetime::Reused, ..grants() });
    let (over, together) = (AtomicBool::new(false), Barrier::new(HOGS as usize + 1));
    thread::scope(|scope| {
        for _ in 0..HOGS {
            scope.spawn(|| {
                together.wait();
                while !over.load(Ordering::Relaxed) {
                    match call(&hog) {
                        Ok(verdict) => assert_eq!(verdict, Verdict::FitsAll),
                        // Its own share may be too small for it on a machine that is busy.
                        Err(fault) => assert_eq!(fault.kind, FaultKind::Overloaded, "{fault}"),
                    }
                }
            });
        }
        together.wait();
        let outcomes: Vec<Result<Verdict, Fault>> =
            (0..20).flat_map(|_| [call(&other), call(&reused), call(&hog).and(call(&other))]).collect();
        over.store(true, Ordering::Relaxed);
        let wrong: Vec<_> = outcomes.iter().filter(|outcome| **outcome != Ok(odd_rows_rejected(ROWS))).collect();
        // Only the third of each round waits for an instance of the hog.
        let overloaded = |outcome: &&&Result<Verdict, Fault>| {
            outcome.as_ref().is_err_and(|fault| fault.kind == FaultKind::Overloaded)
        };
        assert_eq!(wrong.iter().filter(|outcome| !overloaded(outcome)).count(), 0, "{wrong:?}");
        for outcome in outcomes.chunks(3).flat_map(|round| &round[..2]) {
            assert_eq!(*outcome, Ok(odd_rows_rejected(ROWS)));
        }
    });
    healthy_answers_are_right();
}

#[test]
fn h24_more_calls_than_slots_wait_and_are_answered_or_overloaded() {
    let _beside = beside_others();
    const CALLS: u32 = 10 * GUEST_SLOTS;
    let filter = format!(
        "(call $work (i64.const {})) (call $reject_odd (local.get $rows) (i32.const 4096))",
        rounds(Duration::from_micros(500))
    );
    let component = Guest::healthy().definitions(WORK).filter(filter).component();
    let modules: Vec<Module> = (0..4).map(|_| load(&component, grants())).collect();
    let facts = facts(ROWS);
    let together = Barrier::new(CALLS as usize);
    let outcomes: Vec<(Result<Verdict, Fault>, Duration)> = thread::scope(|scope| {
        let calls: Vec<_> = (0..CALLS as usize)
            .map(|number| {
                let (module, facts, together) = (&modules[number % modules.len()], Arc::clone(&facts), &together);
                scope.spawn(move || {
                    together.wait();
                    timed(|| module.filter(facts, ROWS, None))
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().expect("no panic")).collect()
    });
    let overloaded = outcomes.iter().filter(|(outcome, _)| outcome.is_err()).count();
    let longest = outcomes.iter().map(|(_, time)| *time).max().unwrap();
    println!("{CALLS} calls at once on {GUEST_SLOTS} slots: {overloaded} overloaded, the longest took {longest:?}");
    for (outcome, time) in &outcomes {
        match outcome {
            Ok(verdict) => assert_eq!(*verdict, odd_rows_rejected(ROWS)),
            Err(fault) => {
                assert_eq!(fault.kind, FaultKind::Overloaded, "{fault}");
                // It has waited.
                assert!(*time >= SLOT_WAIT, "{time:?}: {fault}");
            }
        }
    }
    assert!(overloaded < CALLS as usize / 2, "{overloaded} of {CALLS}");
    healthy_answers_are_right();
}

#[test]
fn h24_a_call_waits_no_longer_for_an_instance_than_its_request_lasts() {
    let _beside = beside_others();
    const DEADLINE: Duration = Duration::from_millis(50);
    let filter = "(loop $forever (br $forever)) (unreachable)";
    let hog = load(
        &Guest::healthy().filter(filter).component(),
        Grants { time_per_call: Some(SLOT_WAIT), ..default_grants() },
    );
    let (facts, together) = (facts(1), Barrier::new(MODULE_SLOTS as usize + 1));
    thread::scope(|scope| {
        for _ in 0..MODULE_SLOTS {
            scope.spawn(|| {
                together.wait();
                // Interrupted by its budget or by its request, whichever is first.
                let until = Instant::now() + SLOT_WAIT;
                assert!(hog.filter(Arc::clone(&facts), 1, Some(until)).is_err());
            });
        }
        together.wait();
        // All instances of the module are in use soon; those who wait give up in time, and so do those who got one.
        for _ in 0..5 {
            let (outcome, time) = timed(|| hog.filter(Arc::clone(&facts), 1, Some(Instant::now() + DEADLINE)));
            assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::RequestDeadline));
            timing::at_most("a wait for an instance", time, DEADLINE + Duration::from_millis(200));
        }
    });
    healthy_answers_are_right();
}

/// The 99th percentile of the times of healthy calls from eight threads.
fn healthy_p99() -> Duration {
    const CLIENTS: usize = 8;
    const CALLS: usize = 300;
    let module = load(&Guest::healthy().component(), grants());
    let client = || -> Vec<Duration> {
        (0..CALLS)
            .map(|_| {
                let (outcome, time) = timed(|| call(&module));
                assert_eq!(outcome, Ok(odd_rows_rejected(ROWS)));
                time
            })
            .collect()
    };
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no panic")).collect()
    });
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

#[test]
fn h02_beside_an_endless_loop_healthy_answers_are_right_and_none_is_refused() {
    let _beside = beside_others();
    const ROUNDS: usize = 5;
    let spinning = load(&Guest::healthy().filter("(loop $f (br $f)) (unreachable)").component(), default_grants());
    let over = AtomicBool::new(false);
    // Rounds with and without take turns, so that other work of the machine is in both; the best of each counts.
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        least[0] = least[0].min(healthy_p99());
        over.store(false, Ordering::Relaxed);
        let (began, begins) = mpsc::channel();
        let beside = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = began.send(());
                    assert_eq!(call(&spinning).map_err(|fault| fault.kind), Err(FaultKind::Deadline));
                }
            });
            // A call that never ends by itself is under way from the first healthy one on.
            begins.recv().unwrap();
            let beside = healthy_p99();
            over.store(true, Ordering::Relaxed);
            beside
        });
        least[1] = least[1].min(beside);
    }
    let [alone, beside] = least;
    println!(
        "p99 of 8 clients: {alone:?} alone, {beside:?} beside an endless loop: {:.2} times",
        beside.as_secs_f64() / alone.as_secs_f64()
    );
    timing::figure("p99 of healthy calls beside an endless loop", beside, 3 * alone + Duration::from_millis(1));
    healthy_answers_are_right();
}
