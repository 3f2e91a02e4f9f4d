//! Browsers, and who pretends to be one, beside a core: a flood of connections and readers that do not read, over the explorer's listener.

use std::time::{Duration, Instant};

use nodesift_api::limits::EXPLORER_CONNECTIONS;
use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::machine::alone;
use nodesift_tests::wire::Wire;
use nodesift_tests::{process, timeout, timing};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::arena::{Arena, about, mib, pending_pods, percentile};

/// Any free port of loopback.
const EXPLORER: [&str; 2] = ["--explorer", "127.0.0.1:0"];
/// Connections of the flood.
const FLOOD: usize = 1_000;
/// Files that the process may have open besides the connections.
const OTHER_FILES: usize = 64;
/// Requests of the core meanwhile.
const QUESTIONS: usize = 200;
/// Time in which the core is answered; a figure, no promise.
const ANSWERED: Duration = Duration::from_millis(20);
/// Growth of memory that the explorer's clients may cause: their 16 MiB, and what evaluations and the allocator keep.
const GROWTH: u64 = 48 << 20;
/// Connections that ask again and again and read nothing.
const READERS: usize = 4;
/// Requests that each of them sends at once; their answers are far more than buffers of the system take.
const ASKED: usize = 24;

/// Bytes that a connection of the flood sends before it stops sending.
const OPENINGS: [&[u8]; 4] = [
    b"",
    b"GET /v1/pending HTT",
    b"GET /v1/nodes?columns=name HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
];

#[test]
fn a_thousand_connections_of_browsers_stay_within_their_places_while_a_core_filters() {
    let _alone = alone();
    let arena = Arena::new(&EXPLORER);
    let Endpoint::Tcp(address) = arena.sidecar.explorer() else { unreachable!("it listens on TCP") };
    let id = arena.sidecar.id();
    arena.goes_on();
    let files = process::open_files(id);

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut flood = JoinSet::new();
    for at in 0..FLOOD {
        flood.spawn_on(
            async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                // The sidecar may have closed it already.
                let _ = stream.write_all(OPENINGS[at % OPENINGS.len()]).await;
                std::future::pending::<()>().await;
                drop(stream);
            },
            runtime.handle(),
        );
    }
    timeout::until(|| (process::open_files(id) >= files + EXPLORER_CONNECTIONS - 1).then_some(()))
        .expect("the limit is reached");

    let question = about(&pending_pods()[..1]).to_string();
    let mut core = arena.wire();
    let (mut times, mut most) = (Vec::new(), 0);
    for _ in 0..QUESTIONS {
        let start = Instant::now();
        assert_eq!(core.post("/v1/filter", &question).unwrap().status, 200);
        times.push(start.elapsed());
        most = most.max(process::open_files(id));
    }
    arena.goes_on();
    timing::figure("p99 of a core's questions in a flood of browsers", percentile(&mut times, 99), ANSWERED);
    assert!(most <= files + EXPLORER_CONNECTIONS + OTHER_FILES, "{most} files, {files} before");

    flood.abort_all();
    drop(flood);
    runtime.shutdown_timeout(Duration::from_secs(5));
    let page = timeout::until(|| get(&Endpoint::Tcp(address), "/").ok().filter(|answer| answer.status == 200));
    assert!(page.is_some(), "after the flood the page is sent again");
    timeout::until(|| (process::open_files(id) <= files + 2).then_some(())).expect("files are closed");
}

#[test]
fn browsers_that_read_nothing_lose_their_connections_and_hold_bounded_memory() {
    let _alone = alone();
    let arena = Arena::new(&EXPLORER);
    let explorer = arena.sidecar.explorer();
    let id = arena.sidecar.id();
    arena.goes_on();
    let (files, memory) = (process::open_files(id), process::resident_bytes(id));
    process::forget_peak(id);

    let body = json!({"pending": true, "detail": "DETAIL_NODES"}).to_string();
    let request = format!(
        "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut readers: Vec<Wire> = (0..READERS).map(|_| Wire::open(&explorer).unwrap()).collect();
    for reader in &mut readers {
        // Part of it may be refused, once the connection is closed.
        let _ = reader.send(request.repeat(ASKED));
    }
    let question = about(&pending_pods()[..1]).to_string();
    let mut core = arena.wire();
    let closed = timeout::until(|| {
        assert_eq!(core.post("/v1/filter", &question).unwrap().status, 200, "the core is answered meanwhile");
        (process::open_files(id) <= files + 1).then_some(())
    });
    assert!(closed.is_some(), "{} connections are still there", process::open_files(id) - files);
    arena.goes_on();
    let grown = process::peak_resident_bytes(id).saturating_sub(memory);
    println!("+{}", mib(grown));
    assert!(grown <= GROWTH, "+{}", mib(grown));
}
