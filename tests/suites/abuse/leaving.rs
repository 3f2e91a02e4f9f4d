//! Clients that disconnect during their requests: the work stops, and their resources are freed.

use std::time::{Duration, Instant};

use nodesift_tests::machine::alone;
use nodesift_tests::{process, timeout, timing};

use crate::arena::{Arena, about, mib, pending_pods};

/// Clients over all rounds.
const CLIENTS: usize = 20_000;
/// Rounds over which clients are divided.
const ROUNDS: usize = 4;
/// One client in this many per thread stays for its answer.
const BETWEEN: usize = 400;
/// Limit on the time until no request is under way.
const SETTLED: Duration = Duration::from_secs(1);
/// Limit on the growth of memory per round after the first, in bytes.
const LEFT: u64 = 4 << 20;

/// Connects, sends a part of a request or a whole one, and disconnects without reading.
fn come_and_leave(arena: &Arena, at: usize, question: &str) {
    let head = format!(
        "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        question.len()
    );
    let (half_head, half_body) = (&head[..head.len() / 2], &question[..question.len() / 2]);
    // Only some use TCP: each leaves its port in use for a while.
    let mut wire = if at.is_multiple_of(8) { arena.tcp_wire() } else { arena.wire() };
    let sent = match at % 5 {
        0 => half_head.to_owned(),
        1 => format!("{head}{half_body}"),
        2 => format!("{head}{question}"),
        3 => "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        _ => format!("{}{}", "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(3), half_head),
    };
    // The connection may be closed before everything is written.
    let _ = wire.send(sent);
}

fn settle(arena: &Arena, files: usize) -> Duration {
    let start = Instant::now();
    timeout::until(|| {
        let quiet =
            arena.metric("nodesift_api_requests_in_flight") <= 1.0 && arena.metric("nodesift_api_evaluations") == 0.0;
        (quiet && process::open_files(arena.sidecar.id()) <= files).then_some(())
    })
    .expect("no request is under way");
    start.elapsed()
}

#[test]
fn a10_of_twenty_thousand_clients_that_leave_nothing_stays() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    let id = arena.sidecar.id();
    let question = about(&pending_pods()[..1]).to_string();
    arena.goes_on();
    settle(&arena, process::open_files(id));
    let (files, mut memory) = (process::open_files(id), Vec::new());
    for round in 0..ROUNDS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (arena, question) = (&arena, &question);
                scope.spawn(move || {
                    for at in 0..CLIENTS / ROUNDS / 2 {
                        come_and_leave(arena, 2 * at + thread, question);
                        // Some clients stay for their answers: disconnects of others must not affect them.
                        if at % BETWEEN == 0 {
                            arena.goes_on();
                        }
                    }
                });
            }
        });
        let left = start.elapsed();
        let settled = settle(&arena, files);
        memory.push(process::resident_bytes(id));
        println!("round {round}: {} left in {left:?}, settled after {settled:?}", CLIENTS / ROUNDS);
        timing::figure("settled after clients have left", settled, SETTLED);
    }
    // The number of concurrent clients, and so the allocator's memory, varies per round. A leak grows in every round.
    let grown = memory.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min().unwrap();
    println!("+{} in the round in which it grew least", mib(grown));
    assert!(grown <= LEFT, "+{}", mib(grown));
    assert!(process::threads(id) < 100, "{} threads", process::threads(id));
    arena.goes_on();
}
