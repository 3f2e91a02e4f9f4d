//! Instances that wait for a call: spares, which no call has used, and those that a policy has reused.

use std::time::{Duration, Instant};

use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{MODULE_SPARES, REUSED_CALLS, REUSED_GROWTH_BYTES, SPARE_SLOTS};
use nodesift_sandbox::{Grants, Lifetime, Module, Runtime, Verdict};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::{alone, beside_others};
use nodesift_tests::timeout;

use crate::arena::{
    ROWS, call, default_grants, facts, grants, healthy_answers_are_right, load_slow, odd_rows_rejected,
};

/// How long spares may take to be made on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the next spare may take before it counts as not made.
const SPARE_PATIENCE: Duration = Duration::from_millis(500);

/// A guest that counts its calls, and fits every node in the first `good` of an instance.
fn counting(good: u32) -> Guest {
    Guest::healthy().definitions("(global $calls (mut i32) (i32.const 0))").filter(format!(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.gt_u (global.get $calls) (i32.const {good}))
           (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
         (call $fits_all)"
    ))
}

fn recycled() -> Grants {
    Grants { lifetime: Lifetime::Recycled, ..grants() }
}

/// Waits until so many instances of a module wait for a call.
fn wait_for(module: &Module, waiting: usize) {
    let until = Instant::now() + timeout::scaled(PATIENCE);
    while module.waiting() != waiting {
        assert!(Instant::now() < until, "{} instances wait, not {waiting}", module.waiting());
        std::thread::yield_now();
    }
}

#[test]
fn spares_are_made_beside_the_calls_and_none_is_called_twice() {
    let _beside = beside_others();
    let runtime = Runtime::start(None).unwrap();
    let module = runtime.load(&counting(1).component(), grants()).unwrap();
    assert_eq!(module.waiting(), 1, "the one that loading has made");
    for _ in 0..5 {
        assert_eq!(call(&module), Ok(Verdict::FitsAll));
        wait_for(&module, MODULE_SPARES);
        // Faster than they are made.
        for _ in 0..50 {
            assert_eq!(call(&module), Ok(Verdict::FitsAll));
        }
    }
    healthy_answers_are_right();
}

#[test]
fn a_call_with_a_spare_has_its_whole_budget_for_filter() {
    let _alone = alone();
    // Its `configure` alone takes half the budget of a call, and so does `filter`.
    let half = crate::arena::rounds(nodesift_sandbox::limits::FILTER_TIME_MIN * 6 / 10);
    let work = crate::arena::WORK;
    let guest = Guest::healthy()
        .definitions(work)
        .configure(format!("(call $work (i64.const {half})) (i32.const 48)"))
        .filter(format!("(call $work (i64.const {half})) (call $fits_all)"));
    let runtime = Runtime::start(None).unwrap();
    let module = load_slow(&runtime, &guest.component(), &default_grants());
    // A call that had to make its instance would not have the time. On a machine that became slower, one that does not may not have
    // it either: then five more are tried.
    let until = Instant::now() + timeout::scaled(PATIENCE);
    loop {
        let mut right = 0;
        for _ in 0..5 {
            fill(&module, until);
            right += usize::from(call(&module) == Ok(Verdict::FitsAll));
        }
        if right >= 3 {
            break;
        }
        assert!(Instant::now() < until, "{right} of 5");
    }
}

/// Waits until a module has all of its spares. One that is not ready in time is made again only when a call asks, so this calls.
fn fill(module: &Module, until: Instant) {
    let mut last = (module.waiting(), Instant::now());
    while module.waiting() != MODULE_SPARES {
        assert!(Instant::now() < until, "{} instances wait, not {MODULE_SPARES}", module.waiting());
        if module.waiting() != last.0 {
            last = (module.waiting(), Instant::now());
        } else if last.1.elapsed() > SPARE_PATIENCE {
            let _ = call(module);
            last = (module.waiting(), Instant::now());
        }
        std::thread::yield_now();
    }
}

#[test]
fn modules_share_room_for_spares_and_give_it_back() {
    let _beside = beside_others();
    let runtime = Runtime::start(None).unwrap();
    let component = Guest::healthy().component();
    let modules: Vec<Module> = (0..SPARE_SLOTS + 4).map(|_| runtime.load(&component, grants()).unwrap()).collect();
    let waiting = || modules.iter().map(Module::waiting).sum::<usize>();
    assert_eq!(waiting(), SPARE_SLOTS as usize);
    // Those without one make their own.
    for module in &modules {
        assert_eq!(call(module), Ok(odd_rows_rejected(ROWS)));
    }
    drop(modules);
    let module = runtime.load(&component, grants()).unwrap();
    assert_eq!(call(&module), Ok(odd_rows_rejected(ROWS)));
    wait_for(&module, MODULE_SPARES);
    // A module that outlives the runtime goes on without its thread.
    drop(runtime);
    for _ in 0..2 * MODULE_SPARES {
        assert!(module.filter(facts(ROWS), ROWS, None).is_ok_and(|verdict| verdict == odd_rows_rejected(ROWS)));
    }
}

#[test]
fn an_instance_that_may_be_reused_is_until_it_has_served_its_calls() {
    let _beside = beside_others();
    let runtime = Runtime::start(None).unwrap();
    let module = runtime.load(&counting(REUSED_CALLS).component(), recycled()).unwrap();
    for number in 0..3 * REUSED_CALLS {
        assert_eq!(call(&module), Ok(Verdict::FitsAll), "call {number}");
    }
    // It is reused: that no call is its second would be seen.
    let once = runtime.load(&counting(1).component(), recycled()).unwrap();
    let outcomes: Vec<_> = (0..20).map(|_| call(&once).unwrap()).collect();
    assert!(outcomes.iter().any(|verdict| matches!(verdict, Verdict::FitsNone(_))), "{outcomes:?}");
}

#[test]
fn an_instance_that_has_grown_or_faulted_is_not_reused() {
    let _beside = beside_others();
    let runtime = Runtime::start(None).unwrap();
    let growing = |pages: usize| {
        let grown = counting(1).filter(format!(
            "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
             (if (i32.gt_u (global.get $calls) (i32.const 1))
               (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
             (drop (memory.grow (i32.const {pages})))
             (call $fits_all)"
        ));
        runtime.load(&grown.component(), recycled()).unwrap()
    };
    let (little, much) = (growing(1), growing(REUSED_GROWTH_BYTES / 65_536 + 1));
    assert!((0..20).any(|_| call(&little) != Ok(Verdict::FitsAll)));
    assert!((0..20).all(|_| call(&much) == Ok(Verdict::FitsAll)));
    let trapping = counting(1).filter(
        "(if (global.get $calls) (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
         (global.set $calls (i32.const 1))
         (unreachable)",
    );
    let module = runtime.load(&trapping.component(), recycled()).unwrap();
    assert!((0..20).all(|_| call(&module).is_err_and(|fault| fault.kind == FaultKind::Trap)));
    healthy_answers_are_right();
}
