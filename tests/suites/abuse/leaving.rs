//! Clients that leave in the middle of their requests: the work stops, and nothing is left of them.

use std::time::{Duration, Instant};

use nodesift_tests::{process, timeout};

use crate::arena::{Arena, about, alone, mib, pending_pods};

/// Clients, over two rounds.
const CLIENTS: usize = 20_000;
/// They come in so many rounds.
const ROUNDS: usize = 4;
/// Clients between two of a thread that stay for their answers.
const BETWEEN: usize = 400;
/// Within this nothing is under way any more.
const SETTLED: Duration = Duration::from_secs(1);
/// What the second round may leave in memory that the first has not.
const LEFT: u64 = 4 << 20;

/// Comes, sends part of a request or a whole one, and leaves without an answer.
fn come_and_leave(arena: &Arena, at: usize, question: &str) {
    let head = format!("POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", question.len());
    let (half_head, half_body) = (&head[..head.len() / 2], &question[..question.len() / 2]);
    // TCP for some: each leaves its port in use for a while.
    let mut wire = if at.is_multiple_of(8) { arena.tcp_wire() } else { arena.wire() };
    let sent = match at % 5 {
        0 => half_head.to_owned(),
        1 => format!("{head}{half_body}"),
        2 => format!("{head}{question}"),
        3 => "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        _ => format!("{}{}", "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(3), half_head),
    };
    // Some are gone before they are heard.
    let _ = wire.send(sent);
}

fn settle(arena: &Arena, files: usize) -> Duration {
    let start = Instant::now();
    timeout::until(|| {
        let quiet =
            arena.metric("nodesift_api_requests_in_flight") <= 1.0 && arena.metric("nodesift_api_evaluations") == 0.0;
        (quiet && process::open_files(arena.sidecar.id()) <= files).then_some(())
    })
    .expect("nothing is under way");
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
                        // Some clients stay: they must not be affected by those that leave.
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
        assert!(settled <= timeout::scaled(SETTLED), "{settled:?}");
    }
    // How many are there at once differs from round to round, and with it what the allocator keeps. A leak grows in each.
    let grown = memory.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min().unwrap();
    println!("+{} in the round in which it grew least", mib(grown));
    assert!(grown <= LEFT, "+{}", mib(grown));
    assert!(process::threads(id) < 100, "{} threads", process::threads(id));
    arena.goes_on();
}
