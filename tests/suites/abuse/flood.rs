//! A flood of connections on one listener: it takes as many as it may, and the other listener answers as if nothing were.

use std::time::{Duration, Instant};

use nodesift_api::limits::CONNECTIONS;
use nodesift_tests::{process, timeout};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::arena::{Arena, alone, mib, percentile};

/// Connections of the flood.
const FLOOD: usize = 4 * CONNECTIONS;
/// Files that the process may have beside one for each connection.
const OTHER_FILES: usize = 64;
/// What memory may grow by.
const GROWTH: u64 = 32 << 20;
/// Within this the other listener must say that the process lives.
const LIVE: Duration = Duration::from_millis(100);
/// How often it is asked.
const QUESTIONS: usize = 300;

/// What a connection of the flood sends before it falls silent: nothing, half a head, half a preface, a connection over
/// HTTP/2 with nothing in it.
const OPENINGS: [&[u8]; 4] =
    [b"", b"POST /v1/filter HTT", b"PRI * HTTP/2.0\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"];

#[test]
fn a07_a_flood_of_connections_stays_within_the_cap_and_the_other_listener_answers() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    let id = arena.sidecar.id();
    arena.goes_on();
    let (files, memory) = (process::open_files(id), process::resident_bytes(id));
    process::forget_peak(id);

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = arena.sidecar.address;
    let mut flood = JoinSet::new();
    for at in 0..FLOOD {
        flood.spawn_on(
            async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                // It may have been cut off already.
                let _ = stream.write_all(OPENINGS[at % OPENINGS.len()]).await;
                std::future::pending::<()>().await;
                drop(stream);
            },
            runtime.handle(),
        );
    }
    timeout::until(|| (process::open_files(id) >= files + CONNECTIONS - 1).then_some(())).expect("the cap is reached");

    let (mut times, mut most) = (Vec::new(), 0);
    for _ in 0..QUESTIONS {
        let start = Instant::now();
        assert_eq!(arena.wire().get("/livez").unwrap().status, 200);
        times.push(start.elapsed());
        most = most.max(process::open_files(id));
    }
    arena.goes_on();
    let (slow, slowest) = (percentile(&mut times, 99), percentile(&mut times, 100));
    let grown = process::peak_resident_bytes(id).saturating_sub(memory);
    println!("/livez p50 {:?} p99 {slow:?} max {slowest:?}; {most} files; +{}", percentile(&mut times, 50), mib(grown));
    assert!(slow <= timeout::scaled(LIVE), "{slow:?}");
    assert!(most <= CONNECTIONS + OTHER_FILES, "{most} files");
    assert!(grown <= GROWTH, "+{}", mib(grown));

    // Once the flood has gone, there is room again on its listener, and nothing is left of it.
    flood.abort_all();
    drop(flood);
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(arena.tcp_wire().get("/livez").unwrap().status, 200);
    timeout::until(|| (process::open_files(id) <= files + 2).then_some(())).expect("files come back");
}
