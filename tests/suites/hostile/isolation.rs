//! Guests that search for data of earlier calls, or return different verdicts each time: no state survives a call.

use nodesift_sandbox::limits::GUEST_MEMORY_BYTES;
use nodesift_sandbox::{Grants, Lifetime, Verdict};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;

use crate::arena::{ROWS, call, default_grants, grants, healthy_answers_are_right, load, odd_rows_rejected, timed};

/// Calls that store a secret and search for one.
const CALLS: usize = 2_000;

/// Calls of the pair that fills and searches all memory; each touches 16 MiB.
const SWEEPS: usize = 25;

const PAGES: usize = GUEST_MEMORY_BYTES / 65_536;

/// Searches for a secret in memory, a global and a table, and stores one in each.
fn spy() -> Guest {
    Guest::healthy()
        .definitions("(global $secret (mut i32) (i32.const 0)) (table $table 2 funcref) (elem declare func $fits_all)")
        .filter(
            "(if (i32.or (i32.or
                   (i32.load (i32.const 100000))
                   (global.get $secret))
                   (i32.eqz (ref.is_null (table.get $table (i32.const 1)))))
               (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
             (i32.store (i32.const 100000) (i32.const 0x5ec4e7))
             (global.set $secret (i32.const 0x5ec4e7))
             (table.set $table (i32.const 1) (ref.func $fits_all))
             (call $fits_all)",
        )
}

#[test]
fn h19_what_one_call_leaves_behind_the_next_does_not_find() {
    let _beside = beside_others();
    let component = spy().component();
    let spies = [load(&component, grants()), load(&component, grants())];
    for number in 0..CALLS {
        for spy in &spies {
            assert_eq!(call(spy), Ok(Verdict::FitsAll), "call {number} found a secret");
        }
    }
    healthy_answers_are_right();
}

#[test]
fn the_spy_finds_what_is_there_to_find() {
    let _beside = beside_others();
    // With reused instances the secret is found, which shows that the test above can fail.
    let spy = load(&spy().component(), Grants { lifetime: Lifetime::Reused, ..grants() });
    assert_eq!(call(&spy), Ok(Verdict::FitsAll));
    assert!(matches!(call(&spy), Ok(Verdict::FitsNone(_))));
}

#[test]
fn h19_a_slot_of_the_pool_keeps_nothing_for_its_next_tenant() {
    let _beside = beside_others();
    // The first two pages hold the guest's own data and its `configure` arguments.
    let fill = format!(
        "(drop (memory.grow (i32.const {})))
         (memory.fill (i32.const 131072) (i32.const 0x5e) (i32.const {}))
         (call $fits_all)",
        PAGES - 2,
        GUEST_MEMORY_BYTES - 131_072
    );
    let search = format!(
        "(drop (memory.grow (i32.const {})))
         (local.set $i (i32.const 131072))
         (loop $next
           (if (i64.ne (i64.load (local.get $i)) (i64.const 0))
             (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
           (local.set $i (i32.add (local.get $i) (i32.const 8)))
           (br_if $next (i32.lt_u (local.get $i) (i32.const {GUEST_MEMORY_BYTES}))))
         (call $fits_all)",
        PAGES - 2
    );
    let filler = load(&Guest::healthy().filter(fill).component(), grants());
    let searcher = load(&Guest::healthy().filter(search).component(), grants());
    for sweep in 0..SWEEPS {
        assert_eq!(call(&filler), Ok(Verdict::FitsAll));
        assert_eq!(call(&searcher), Ok(Verdict::FitsAll), "sweep {sweep} found a secret");
    }
}

#[test]
fn h21_fresh_and_used_instances_agree() {
    let _beside = beside_others();
    let component = Guest::healthy().component();
    for lifetime in [Lifetime::PerCall, Lifetime::Reused] {
        let module = load(&component, Grants { lifetime, ..grants() });
        for _ in 0..CALLS {
            assert_eq!(call(&module), Ok(odd_rows_rejected(ROWS)));
        }
    }
}

#[test]
fn h21_not_a_number_has_one_face() {
    let _beside = beside_others();
    // The bits of a NaN from a division depend on the processor; the verdict must not.
    let filter = "(if (i64.ne
          (i64.reinterpret_f64 (f64.div (f64.const 0) (f64.convert_i32_u (i32.shr_u (local.get $rows) (i32.const 31)))))
          (i64.const 0x7ff8000000000000))
        (then (unreachable)))
      (call $fits_all)";
    let module = load(&Guest::healthy().filter(filter).component(), grants());
    assert_eq!(call(&module), Ok(Verdict::FitsAll));
}

#[test]
fn many_threads_at_once_get_right_answers_beside_guests_that_trap_and_spin() {
    let _beside = beside_others();
    let trapping = load(&Guest::healthy().filter("(unreachable)").component(), grants());
    let spinning = load(&Guest::healthy().filter("(loop $f (br $f)) (unreachable)").component(), default_grants());
    let (_, time) = timed(|| {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..200).for_each(|_| assert!(call(&trapping).is_err())));
                scope.spawn(|| (0..10).for_each(|_| assert!(call(&spinning).is_err())));
                scope.spawn(|| (0..200).for_each(|_| healthy_answers_are_right()));
            }
        });
    });
    println!("{time:?}");
}
