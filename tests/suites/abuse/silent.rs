//! Peers that begin and do not go on: announced bodies that never come, half messages with answered pings, idle connections and
//! streams, requests that wait for a version that never comes, answers that are hardly read. Each costs its own connection; a
//! core beside them is served, and memory stays bounded.

use std::convert::Infallible;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nodesift_api::limits::{CONNECTIONS, REQUEST_STREAMS, REQUEST_TIME};
use nodesift_tests::http::Endpoint;
use nodesift_tests::machine::{alone, beside_others};
use nodesift_tests::wire::{Answer, Wire};
use nodesift_tests::{process, timeout, timing};
use serde_json::json;
use tokio::net::TcpStream;

use crate::arena::{Arena, about, mib, node_names, pending_objects, pending_pods, percentile};
use crate::frames::{
    DATA, END_HEADERS, HEADERS, OPENING, PING, RST_STREAM, WINDOW_UPDATE, frame, header, receive, request,
};

/// Bytes of a body that is announced.
const ANNOUNCED: usize = 3 << 20;
/// Bytes of an extender call of a large cluster.
const EXTENDER_BYTES: usize = 300_000;
/// How often a blocked peer looks whether the test is over.
const LOOK: Duration = Duration::from_millis(100);

/// A request's head that announces a body.
pub(crate) fn announcement(path: &str, bytes: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
    )
}

/// An extender call about all nodes, with a pod as large as a cluster of some thousand nodes makes the call.
fn extender_call() -> String {
    let mut pod = pending_objects().swap_remove(0);
    pod["metadata"]["annotations"] = json!({"example.com/large": "x".repeat(EXTENDER_BYTES)});
    json!({"Pod": pod, "NodeNames": node_names()}).to_string()
}

/// Whether an extender call was answered, and not refused.
fn is_filtered(answer: &Answer) -> bool {
    answer.status == 200 && answer.json()["Error"] == ""
}

/// The head of a gRPC message of so many bytes.
fn message_head(bytes: usize) -> Vec<u8> {
    [&[0][..], &u32::try_from(bytes).unwrap().to_be_bytes()].concat()
}

/// The head of a gRPC request.
fn grpc_head(stream: u32, call: &str) -> Vec<u8> {
    let path = format!("/nodesift.v1.Nodesift/{call}");
    let headers = [request("POST", &path), header("content-type", "application/grpc"), header("te", "trailers")];
    frame(HEADERS, END_HEADERS, stream, &headers.concat())
}

/// A connection with half a gRPC message on one stream.
fn half_message(wire: &mut Wire, call: &str) -> std::io::Result<()> {
    wire.send(OPENING)?;
    wire.send(grpc_head(1, call))?;
    // Within the windows of the protocol's default.
    wire.send(frame(DATA, 0, 1, &message_head(ANNOUNCED)))?;
    (0..3).try_for_each(|_| wire.send(frame(DATA, 0, 1, &[0; 16_000])))
}

/// Behaviour that a silent peer repeats until the end.
#[derive(Debug, Clone, Copy)]
enum Silent {
    /// Announces a body and sends nothing of it.
    Announced,
    /// Sends half of it.
    Half,
    /// Sends the beginning of a gRPC message, and answers pings.
    HalfMessage(&'static str),
}

const SILENT: [Silent; 5] = [
    Silent::Announced,
    Silent::Half,
    Silent::HalfMessage("Filter"),
    Silent::Announced,
    Silent::HalfMessage("FilterStream"),
];

/// Plays a silent peer until the end; returns how often it began.
fn be_silent(endpoint: &Endpoint, silent: Silent, is_over: &AtomicBool) -> usize {
    let mut begun = 0;
    while !is_over.load(Ordering::Relaxed) {
        // The listener may be full for a moment.
        let Ok(mut wire) = Wire::open(endpoint) else { continue };
        wire.wait_at_most(LOOK).unwrap();
        begun += 1;
        let sent = match silent {
            Silent::Announced => wire.send(announcement("/extender/filter", ANNOUNCED)),
            Silent::Half => {
                wire.send(announcement("/v1/filter", ANNOUNCED)).and_then(|()| wire.send(vec![b' '; ANNOUNCED / 2]))
            }
            Silent::HalfMessage(call) => half_message(&mut wire, call),
        };
        if sent.is_err() {
            continue;
        }
        while !is_over.load(Ordering::Relaxed) {
            match silent {
                Silent::HalfMessage(_) => match receive(&mut wire) {
                    Ok(came) if came.kind == PING && came.flags == 0 => {
                        drop(wire.send(frame(PING, 1, 0, &came.payload)));
                    }
                    // The stream has ended: the next one begins.
                    Ok(came) if came.stream == 1 && came.kind != WINDOW_UPDATE => break,
                    Ok(_) => {}
                    Err(error) if is_timeout(&error) => {}
                    Err(_) => break,
                },
                Silent::Announced | Silent::Half => match wire.receive() {
                    Err(error) if is_timeout(&error) => {}
                    // An answer, or the end of the connection.
                    _ => break,
                },
            }
        }
    }
    begun
}

pub(crate) fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// Asks for a large answer and hardly reads it, again and again; returns how often.
fn read_slowly(endpoint: &Endpoint, path: &str, question: &str, is_over: &AtomicBool) -> usize {
    let mut begun = 0;
    while !is_over.load(Ordering::Relaxed) {
        let Ok(mut wire) = Wire::open(endpoint) else { continue };
        wire.wait_at_most(LOOK).unwrap();
        begun += 1;
        if wire.send(announcement(path, question.len())).and_then(|()| wire.send(question)).is_err() {
            continue;
        }
        while !is_over.load(Ordering::Relaxed) {
            std::thread::park_timeout(LOOK);
            match wire.receive_some(16) {
                Ok(bytes) if bytes.is_empty() => break,
                Err(error) if !is_timeout(&error) => break,
                _ => {}
            }
        }
    }
    begun
}

/// Outcomes of an honest core's calls: refusals and times.
#[derive(Default)]
struct Honest {
    refused: Vec<String>,
    times: Vec<Duration>,
}

/// An honest core: mostly small calls, every fourth an extender call of a large cluster.
fn be_honest(endpoint: &Endpoint, calls: usize) -> Honest {
    let (small, large) = (about(&pending_pods()[..2]).to_string(), extender_call());
    let (mut wire, mut honest) = (None, Honest::default());
    for call in 0..calls {
        let start = Instant::now();
        let mut ask = || -> std::io::Result<Option<String>> {
            let wire = match &mut wire {
                Some(wire) => wire,
                none => none.insert(Wire::open(endpoint)?),
            };
            let is_extender = call % 4 == 0;
            let answer =
                if is_extender { wire.post("/extender/filter", &large)? } else { wire.post("/v1/filter", &small)? };
            let is_answered = if is_extender { is_filtered(&answer) } else { answer.status == 200 };
            let text = || answer.text().chars().take(300).collect::<String>();
            Ok((!is_answered).then(|| format!("call {call}: {} {}", answer.status, text())))
        };
        match ask() {
            Ok(None) => {}
            Ok(Some(refused)) => {
                honest.refused.push(refused);
                // The sidecar closes it where it has not read the body.
                wire = None;
            }
            Err(error) => {
                honest.refused.push(format!("call {call}: {error}"));
                wire = None;
            }
        }
        honest.times.push(start.elapsed());
    }
    honest
}

#[test]
fn fifty_silent_peers_and_fifty_slow_readers_beside_an_honest_core_are_not_felt() {
    const PEERS: usize = 50;
    const CALLS: usize = 300;
    let _alone = alone();
    let arena = Arena::new(&[]);
    let endpoints = arena.endpoints();
    let id = arena.sidecar.id();
    let questions = [
        ("/v1/filter", json!({"pending": true, "detail": "DETAIL_NODES"}).to_string()),
        ("/v1/explain", json!({"pending": true}).to_string()),
    ];
    // Threads, buffers and cached verdicts of ordinary load belong to the idle process.
    for endpoint in &endpoints {
        assert_eq!(be_honest(endpoint, 100).refused, [""; 0]);
    }
    let idle = process::resident_bytes(id);
    process::forget_peak(id);

    let (is_over, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
    let started = Barrier::new(2 * PEERS + 1);
    let start = Instant::now();
    let [tcp, unix] = std::thread::scope(|scope| {
        for at in 0..2 * PEERS {
            let (endpoint, is_over, begun, started) = (&endpoints[at % 2], &is_over, &begun, &started);
            let (path, question) = &questions[at / 4 % questions.len()];
            scope.spawn(move || {
                started.wait();
                let times = match at / 2 % 2 {
                    0 => be_silent(endpoint, SILENT[at / 4 % SILENT.len()], is_over),
                    _ => read_slowly(endpoint, path, question, is_over),
                };
                begun.fetch_add(times, Ordering::Relaxed);
            });
        }
        started.wait();
        let cores = endpoints.each_ref().map(|endpoint| scope.spawn(move || be_honest(endpoint, CALLS)));
        let honest = cores.map(|core| core.join());
        is_over.store(true, Ordering::Relaxed);
        honest.map(Result::unwrap)
    });
    let peak = process::peak_resident_bytes(id);
    println!(
        "{PEERS} silent peers and {PEERS} slow readers began {} times in {:?}",
        begun.load(Ordering::Relaxed),
        start.elapsed()
    );
    for (name, honest) in [("Unix socket", &unix), ("TCP", &tcp)] {
        let mut times = honest.times.clone();
        let [p50, p99, most] = [50, 99, 100].map(|percent| percentile(&mut times, percent));
        println!(
            "{name}: {} of {CALLS} honest calls refused; p50 {p50:?}, p99 {p99:?}, max {most:?}",
            honest.refused.len()
        );
    }
    let bound = idle + idle / 2 + (64 << 20);
    println!("resident memory: {} idle, {} at most, {} allowed", mib(idle), mib(peak), mib(bound));
    assert_eq!(unix.refused, [""; 0]);
    assert!(tcp.refused.len() <= CALLS / 100, "{:?}", tcp.refused);
    assert!(peak <= bound, "{} > {}", mib(peak), mib(bound));
    arena.goes_on();
}

#[test]
fn bodies_that_are_announced_and_never_sent_take_no_room() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let large = extender_call();
    for endpoint in arena.endpoints() {
        let _silent: Vec<Wire> = (0..8)
            .map(|_| {
                let mut wire = Wire::open(&endpoint).unwrap();
                wire.send(announcement("/extender/filter", ANNOUNCED)).unwrap();
                wire
            })
            .collect();
        let mut wire = Wire::open(&endpoint).unwrap();
        for _ in 0..10 {
            let answer = wire.post("/extender/filter", &large).unwrap();
            assert!(is_filtered(&answer), "{} {}", answer.status, answer.text());
        }
    }
    arena.goes_on();
}

#[test]
fn bodies_that_stop_half_way_give_way_to_those_that_go_on() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let large = extender_call();
    for endpoint in arena.endpoints() {
        let mut silent: Vec<Wire> = (0..8)
            .map(|_| {
                let mut wire = Wire::open(&endpoint).unwrap();
                wire.send(announcement("/v1/filter", ANNOUNCED)).unwrap();
                // The sidecar reads no further once there is no room.
                wire.wait_at_most(LOOK).unwrap();
                drop(wire.send(vec![b' '; ANNOUNCED / 2]));
                wire
            })
            .collect();
        let mut wire = Wire::open(&endpoint).unwrap();
        for _ in 0..10 {
            let answer = wire.post("/extender/filter", &large).unwrap();
            assert!(is_filtered(&answer), "{} {}", answer.status, answer.text());
        }
        for wire in &mut silent {
            wire.wait_at_most(timeout::limit()).unwrap();
            let status = wire.answer().unwrap().status;
            assert!(matches!(status, 408 | 429), "{status}");
        }
    }
    arena.goes_on();
}

#[test]
fn requests_that_wait_for_a_version_hold_no_room_of_others_and_are_bounded() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let far = json!({"minGeneration": "1000000000000", "deadlineMs": 30_000});
    let mut pod = pending_objects().swap_remove(0);
    pod["metadata"]["annotations"] = json!({"example.com/large": "x".repeat(1 << 20)});
    let waiting = json!({"pods": [{"object": pod}], "consistency": far}).to_string();
    for endpoint in arena.endpoints() {
        let _waiting: Vec<Wire> = (0..12)
            .map(|_| {
                let mut wire = Wire::open(&endpoint).unwrap();
                wire.send(announcement("/v1/filter", waiting.len())).and_then(|()| wire.send(&waiting)).unwrap();
                wire
            })
            .collect();
        let (mut wire, large) = (Wire::open(&endpoint).unwrap(), extender_call());
        for _ in 0..10 {
            let answer = wire.post("/extender/filter", &large).unwrap();
            assert!(is_filtered(&answer), "{} {}", answer.status, answer.text());
        }
        // Small ones may wait beside them, up to a number.
        let mut small = about(&pending_pods()[..1]);
        small["consistency"] = far.clone();
        let small = small.to_string();
        let mut waiters: Vec<Wire> = (0..400)
            .map(|_| {
                let mut wire = Wire::open(&endpoint).unwrap();
                wire.send(announcement("/v1/filter", small.len())).and_then(|()| wire.send(&small)).unwrap();
                wire
            })
            .collect();
        let mut refused = 0;
        for wire in &mut waiters {
            wire.wait_at_most(Duration::from_millis(20)).unwrap();
            match wire.answer() {
                Ok(answer) => {
                    assert_eq!(answer.status, 429, "{}", answer.text());
                    refused += 1;
                }
                Err(error) => assert!(is_timeout(&error), "{error}"),
            }
        }
        println!("{refused} of {} small waiters refused", waiters.len());
        assert!((1..waiters.len()).contains(&refused), "{refused}");
    }
    arena.goes_on();
}

#[test]
fn half_messages_on_streams_end_in_time_although_pings_are_answered() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let start = Instant::now();
    let mut wires: Vec<Wire> = arena
        .endpoints()
        .iter()
        .flat_map(|endpoint| ["Filter", "FilterStream"].map(|call| (endpoint, call)))
        .map(|(endpoint, call)| {
            let mut wire = Wire::open(endpoint).unwrap();
            half_message(&mut wire, call).unwrap();
            wire
        })
        .collect();
    for wire in &mut wires {
        loop {
            let came = receive(wire).unwrap();
            match (came.kind, came.stream) {
                (PING, _) if came.flags == 0 => wire.send(frame(PING, 1, 0, &came.payload)).unwrap(),
                // A status, or the reset of the stream.
                (HEADERS | RST_STREAM, 1) if came.kind == RST_STREAM || came.flags & 1 == 1 => break,
                _ => {}
            }
        }
    }
    let time = start.elapsed();
    timing::at_most("requests whose bodies never come", time, REQUEST_TIME + Duration::from_secs(1));
    arena.goes_on();
}

#[test]
fn silent_streams_of_requests_lock_no_core_out() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for endpoint in arena.endpoints() {
        // Connections with 32 silent streams each, as many as may be open.
        let _silent: Vec<Wire> = (0..REQUEST_STREAMS / 32)
            .map(|_| {
                let mut wire = Wire::open(&endpoint).unwrap();
                wire.send(OPENING).unwrap();
                for at in 0..32 {
                    wire.send(grpc_head(2 * at + 1, "FilterStream")).unwrap();
                }
                // Their answers begin once they are open.
                let mut open = 0;
                while open < 32 {
                    open += usize::from(receive(&mut wire).unwrap().kind == HEADERS);
                }
                wire
            })
            .collect();
        let mut wire = Wire::open(&endpoint).unwrap();
        wire.send(OPENING).unwrap();
        wire.send(grpc_head(1, "FilterStream")).unwrap();
        // An empty message, which is answered.
        wire.send(frame(DATA, 0, 1, &message_head(0))).unwrap();
        let answered = loop {
            let came = receive(&mut wire).unwrap();
            match (came.kind, came.stream) {
                (DATA, 1) => break true,
                (HEADERS, 1) if came.flags & 1 == 1 => break false,
                _ => {}
            }
        };
        assert!(answered, "the stream was refused");
    }
    arena.goes_on();
}

#[test]
fn idle_connections_leave_their_places_to_probes() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    let id = arena.sidecar.id();
    let files = process::open_files(id);
    // HTTP/2 connections without requests, which answer pings by their kernel's buffers for long enough.
    let idle: Vec<Wire> = (0..CONNECTIONS)
        .map(|_| {
            let mut wire = arena.tcp_wire();
            wire.send(OPENING).unwrap();
            wire
        })
        .collect();
    // The connection of the question before may have been counted, and be gone by now.
    timeout::until(|| (process::open_files(id) >= files + CONNECTIONS - 1).then_some(()))
        .expect("the listener is full");
    for path in ["/livez", "/readyz", "/metrics"] {
        let start = Instant::now();
        let mut wire = arena.tcp_wire();
        wire.wait_at_most(timeout::scaled(Duration::from_secs(4))).unwrap();
        assert_eq!(wire.get(path).unwrap().status, 200);
        println!("{path} after {:?}", start.elapsed());
    }
    drop(idle);
    arena.goes_on();
}

#[test]
fn small_bodies_on_many_streams_share_one_bound() {
    const CONNECTED: usize = 40;
    const STREAMS: usize = 100;
    const BODY: usize = 16 << 10;
    /// The budget of what arrives, and the buffers of the connections and their streams.
    const GROWTH: u64 = 48 << 20;
    let _alone = alone();
    let arena = Arena::new(&[]);
    for _ in 0..10 {
        arena.goes_on();
    }
    let id = arena.sidecar.id();
    let before = process::resident_bytes(id);
    process::forget_peak(id);
    let address = arena.sidecar.address;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let sent = std::sync::Arc::new(AtomicUsize::new(0));
    for _ in 0..CONNECTED {
        let sent = std::sync::Arc::clone(&sent);
        runtime.spawn(async move {
            let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
            let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tokio::spawn(connection);
            let requests = (0..STREAMS).map(|_| {
                let (mut sender, sent) = (sender.clone(), std::sync::Arc::clone(&sent));
                async move {
                    // Almost all of a small body, and then nothing.
                    let first = Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b' '; BODY])));
                    let body = StreamBody::new(Box::pin(stream::iter([first]).chain(stream::pending())));
                    let request = hyper::Request::post("http://localhost/v1/filter")
                        .header("content-type", "application/json")
                        .body(body)
                        .unwrap();
                    sender.ready().await.unwrap();
                    // Refused or ended sooner or later.
                    drop(sender.send_request(request).await);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
            futures_util::future::join_all(requests).await;
        });
    }
    timeout::until(|| (sent.load(Ordering::Relaxed) == CONNECTED * STREAMS).then_some(())).expect("all of them end");
    let grown = process::peak_resident_bytes(id).saturating_sub(before);
    println!("{} of bodies: +{}", mib((CONNECTED * STREAMS * BODY) as u64), mib(grown));
    assert!(grown <= GROWTH, "+{}", mib(grown));
    runtime.shutdown_timeout(Duration::from_secs(5));
    arena.goes_on();
}

#[test]
fn probes_are_answered_while_no_other_request_finds_room() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for endpoint in arena.endpoints() {
        // More half-sent bodies than there is room for; new ones come all the time.
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| be_silent(&endpoint, Silent::Half, &is_over));
            }
            for _ in 0..30 {
                for path in ["/livez", "/readyz", "/metrics"] {
                    assert_eq!(Wire::open(&endpoint).unwrap().get(path).unwrap().status, 200);
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
    arena.goes_on();
}
