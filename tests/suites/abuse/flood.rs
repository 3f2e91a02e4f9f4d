//! A flood of connections on one listener: it accepts up to its limit, and the other listener answers as before.

use std::time::{Duration, Instant};

use nodesift_api::limits::CONNECTIONS;
use nodesift_tests::machine::alone;
use nodesift_tests::{process, timeout, timing};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::arena::{Arena, mib, percentile};

/// Connections of the flood.
const FLOOD: usize = 4 * CONNECTIONS;
/// Files that the process may have open besides the connections.
const OTHER_FILES: usize = 64;
/// Limit on the growth of memory, in bytes.
const GROWTH: u64 = 32 << 20;
/// Limit on the time in which the other listener answers `/livez`.
const LIVE: Duration = Duration::from_millis(100);
/// Number of these requests.
const QUESTIONS: usize = 300;

/// Bytes that a connection of the flood sends before it stops sending: nothing, half a head, half a preface, or the opening of an idle
/// HTTP/2 connection.
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
                // The sidecar may have closed it already.
                let _ = stream.write_all(OPENINGS[at % OPENINGS.len()]).await;
                std::future::pending::<()>().await;
                drop(stream);
            },
            runtime.handle(),
        );
    }
    timeout::until(|| (process::open_files(id) >= files + CONNECTIONS - 1).then_some(()))
        .expect("the limit is reached");

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
    timing::figure("p99 of /livez in a flood of connections", slow, LIVE);
    assert!(most <= CONNECTIONS + OTHER_FILES, "{most} files");
    assert!(grown <= GROWTH, "+{}", mib(grown));

    // After the flood the listener accepts again, and no file stays open.
    flood.abort_all();
    drop(flood);
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(arena.tcp_wire().get("/livez").unwrap().status, 200);
    timeout::until(|| (process::open_files(id) <= files + 2).then_some(())).expect("files are closed");
}
