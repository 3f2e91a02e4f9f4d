//! Heartbeats: a thread that works or waits for the target is no thread that is stuck.

use nodesift_tests::timeout;

use super::*;
use crate::feed::pulse::Pulse;
use crate::limits::FEED_PULSE_PODS;

fn beating() -> (Bench, Arc<Pulse>) {
    let (bench, pulse) = (Bench::new(), Arc::<Pulse>::default());
    let applier = Applier::new(Arc::clone(&bench.target), Arc::default(), Metrics::default());
    (Bench { applier: applier.beating(Arc::clone(&pulse)), ..bench }, pulse)
}

#[test]
fn the_thread_beats_while_another_holds_the_target_and_publication_does_not() {
    let (mut bench, pulse) = beating();
    bench.push([applied("a", 1)]);
    let target = Arc::clone(&bench.target);
    let held_back = target.lock();
    thread::scope(|scope| {
        let turn = scope.spawn(|| bench.turn());
        let deadline = Instant::now() + timeout::limit();
        while pulse.thread() < 2 {
            assert!(Instant::now() < deadline, "no heartbeat");
            thread::yield_now();
        }
        assert_eq!(pulse.publication(), 0);
        drop(held_back);
        assert_eq!(turn.join().unwrap().changed.len(), 1);
    });
    assert!(pulse.publication() > 0);
}

#[test]
fn the_thread_beats_while_it_compares_pods_with_a_list() {
    const TIMES: usize = 3;
    let (mut bench, pulse) = beating();
    let newer: Arc<str> = Arc::from("10");
    for pod in 0..TIMES * FEED_PULSE_PODS {
        bench.target.lock().held.insert((Kind::Pod, Arc::from(format!("p{pod}"))), Arc::clone(&newer));
    }
    // All of them are newer than the list, so nothing is applied or removed.
    bench.push([Change::Replaced { kind: Kind::Pod, objects: Vec::new(), version: Arc::from("5") }]);
    assert_eq!(bench.turn().changed, []);
    assert!(pulse.thread() >= TIMES as u64, "{}", pulse.thread());
}
