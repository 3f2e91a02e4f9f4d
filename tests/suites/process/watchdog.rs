//! P-09: threads without which answers are wrong or late stop; the probes say so, and guests are no longer called.

use std::num::NonZero;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nodesift_tests::http::post;
use nodesift_tests::machine::alone;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::{process, timeout, timing};

use crate::running::{Breakable, command, probe, question, says};

/// Limit on the time until guests are no longer called.
const GUESTS: Duration = Duration::from_millis(100);
/// Limit on the time until the probes fail.
const PROBES: Duration = Duration::from_secs(1);

#[test]
fn without_the_epoch_clock_no_guest_is_called_until_it_is_back() {
    let _alone = alone();
    let breakable = Breakable::start(&[]);
    let unix = breakable.sidecar.unix();
    let ask = |number: usize| post(&unix, "/v1/filter", question(number).to_string()).unwrap();
    assert_eq!(ask(0).status, 200);

    let broken = Instant::now();
    breakable.breaks("epoch-clock");
    // Each of these requests would call guests. The last one that does so has begun within the limit.
    let mut last_answered = broken;
    let refused = (1_usize..).map(|number| (Instant::now(), ask(number))).find_map(|(begun, answer)| {
        if answer.status == 200 && !answer.body.contains("ClockStopped") {
            last_answered = begun;
            assert!(broken.elapsed() < timeout::limit(), "guests are still called");
            return None;
        }
        Some(answer)
    });
    let refused = refused.unwrap();
    let called = last_answered.duration_since(broken);
    println!("guests were called for {called:?} after the clock had stopped");
    timing::at_most("guests called without a clock", called, GUESTS);
    assert!(refused.body.contains("the epoch clock") || refused.body.contains("ClockStopped"), "{}", refused.body);
    assert!(matches!(refused.status, 503 | 200), "{}", refused.body);
    for path in ["/livez", "/readyz"] {
        says(&unix, path, 503, "the epoch clock");
    }
    let failed = broken.elapsed();
    println!("probes failed after {failed:?}");
    timing::at_most("probes that fail", failed, PROBES);
    let answer = ask(0);
    assert_eq!(answer.status, 503, "{}", answer.body);

    breakable.heals("epoch-clock");
    for path in ["/livez", "/readyz"] {
        says(&unix, path, 200, "ok");
    }
    assert_eq!(ask(usize::from(u16::MAX)).status, 200);
}

#[test]
fn a_feed_that_stands_still_fails_the_probes_and_answers_go_on() {
    let _alone = alone();
    fails("feed", "the feed");
}

#[test]
fn a_writer_that_is_never_given_back_is_noticed_as_publication_that_stands_still() {
    let _alone = alone();
    fails("writer", "publication");
}

fn fails(failpoint: &str, named: &str) {
    let breakable = Breakable::start(&[]);
    let unix = breakable.sidecar.unix();
    let broken = Instant::now();
    breakable.breaks(failpoint);
    for path in ["/livez", "/readyz"] {
        says(&unix, path, 503, named);
    }
    let failed = broken.elapsed();
    println!("{failpoint}: probes failed after {failed:?}");
    timing::at_most("probes that fail", failed, PROBES);
    let answer = post(&unix, "/v1/filter", question(0).to_string()).unwrap();
    assert_eq!(answer.status, 200, "answers come from published snapshots: {}", answer.body);
    breakable.heals(failpoint);
    for path in ["/livez", "/readyz"] {
        says(&unix, path, 200, "ok");
    }
}

#[test]
fn a_process_that_was_stopped_as_a_whole_is_live_when_it_goes_on() {
    let _alone = alone();
    let breakable = Breakable::start(&[]);
    let unix = breakable.sidecar.unix();
    for _ in 0..3 {
        breakable.sidecar.signal("STOP");
        // Twice as long as any heartbeat may be missing. Nothing can be waited for in a process that is stopped.
        let stopped = Instant::now();
        while stopped.elapsed() < 2 * PROBES {
            std::thread::park_timeout(PROBES);
        }
        breakable.sidecar.signal("CONT");
        assert_eq!(probe(&unix, "/livez"), (200, "ok\n".to_owned()));
        assert_eq!(probe(&unix, "/readyz").0, 200);
        assert_eq!(post(&unix, "/v1/filter", question(1).to_string()).unwrap().status, 200);
    }
    assert!(!breakable.sidecar.output().contains("no heartbeat"), "{}", breakable.sidecar.output());
}

#[test]
fn a_clock_that_only_waits_for_a_processor_has_not_stopped() {
    /// Time without a processor that would be that of a clock which has stopped.
    const WITHOUT: Duration = Duration::from_millis(200);
    let _alone = alone();
    let breakable = Breakable::start(&[]);
    let unix = breakable.sidecar.unix();
    let clock = process::thread(breakable.sidecar.id(), "epoch-clock");
    // The clock runs when nothing else wants to, and something always does.
    let chrt = Command::new("chrt").args(["--idle", "--pid", "0", &clock.to_string()]).status().unwrap();
    assert!(chrt.success(), "chrt: {chrt}");
    let done = AtomicBool::new(false);
    let beats = || process::processor_time_of(breakable.sidecar.id(), "epoch-clock");
    std::thread::scope(|scope| {
        for _ in 0..2 * std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let (started, mut longest) = (Instant::now(), Duration::ZERO);
        let (mut last, mut since) = (beats(), Instant::now());
        for number in 1_usize.. {
            if longest >= WITHOUT || started.elapsed() > timeout::limit() {
                break;
            }
            let answer = post(&unix, "/v1/filter", question(number).to_string()).unwrap();
            if answer.status != 200 || answer.body.contains("ClockStopped") {
                done.store(true, Ordering::Relaxed);
                panic!("{} {}", answer.status, answer.body);
            }
            let now = beats();
            if now != last {
                (last, since) = (now, Instant::now());
            }
            longest = longest.max(since.elapsed());
        }
        done.store(true, Ordering::Relaxed);
        println!("the clock had no processor for {longest:?}");
        assert!(longest >= WITHOUT, "the clock always had a processor: nothing was shown");
    });
    assert!(!breakable.sidecar.output().contains("no heartbeat"), "{}", breakable.sidecar.output());
}

#[test]
fn heartbeats_cost_next_to_nothing_where_nothing_happens() {
    /// Part of one processor.
    const SHARE: f64 = 0.05;
    const TIME: Duration = Duration::from_secs(4);
    let _alone = alone();
    let sidecar = Sidecar::start(command(), &[]);
    let (start, used) = (Instant::now(), process::processor_time(sidecar.id()));
    while start.elapsed() < TIME {
        std::thread::park_timeout(TIME);
    }
    let used = process::processor_time(sidecar.id()) - used;
    let share = used.as_secs_f64() / start.elapsed().as_secs_f64();
    timing::number("processor time of an idle sidecar, of a processor", share, SHARE);
    // A thread that does not wait between its heartbeats takes all of it, or a half beside others.
    assert!(share < 5.0 * SHARE, "{share} of a processor");
}
