//! Slow clients: heads, bodies and readers at a byte per second are disconnected, and other clients are not affected.

use std::time::{Duration, Instant};

use nodesift_api::limits::{HEAD_TIME, REQUEST_TIME, WRITE_STALL};
use nodesift_tests::machine::alone;
use nodesift_tests::wire::Wire;
use nodesift_tests::{process, timeout, timing};
use serde_json::json;

use crate::arena::{Arena, about, pending_pods, percentile};

/// Number of concurrent slow clients.
const CLIENTS: usize = 500;
/// The number of them that read slowly: each costs an answer of some megabytes.
const READERS: usize = 16;
/// Time between two bytes of one client.
const PACE: Duration = Duration::from_secs(1);
/// Time between two requests of the healthy client.
const HEALTHY_PACE: Duration = Duration::from_millis(10);
/// Requests per measurement of the healthy client.
const HEALTHY_QUESTIONS: usize = 100;
/// Limit on the healthy client's time, in percent of that without slow clients.
const HEALTHY_PERCENT: u32 = 150;
/// Times below this are noise of the machine's scheduling.
const NOISE: Duration = Duration::from_millis(3);
/// How long after its timeout a client may be disconnected: timers start one after the other.
const GRACE: Duration = Duration::from_secs(2);

/// The beginning of a request with a body.
const HEAD: &str = "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Head,
    Body,
    Silent,
    Preface,
    Reader,
}

struct Client {
    wire: Wire,
    kind: Kind,
}

impl Client {
    fn new(arena: &Arena, kind: Kind) -> Self {
        // The buffers of a Unix socket are small, so that a slow reader blocks the sidecar; TCP's would hold the whole answer.
        let mut wire = if kind == Kind::Reader { arena.wire() } else { arena.tcp_wire() };
        wire.wait_at_most(Duration::from_millis(1)).unwrap();
        let begun = match kind {
            Kind::Head => format!("{HEAD}x-slow: "),
            Kind::Body => format!("{HEAD}content-length: 1000\r\n\r\n"),
            Kind::Silent => String::new(),
            Kind::Preface => "PRI * HTTP/2.0\r\n".to_owned(),
            Kind::Reader => {
                let body = json!({"pending": true, "detail": "DETAIL_NODES"}).to_string();
                format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len())
            }
        };
        wire.send(begun).unwrap();
        Self { wire, kind }
    }

    /// Sends or reads the next byte. A connection that the sidecar has closed stays open on this side.
    fn tick(&mut self) {
        match self.kind {
            Kind::Head | Kind::Body => drop(self.wire.send(" ")),
            Kind::Reader => drop(self.wire.receive_some(1)),
            Kind::Silent | Kind::Preface => {}
        }
    }
}

/// The 99th percentile of the healthy client's times.
fn healthy(wire: &mut Wire, question: &str) -> Duration {
    let mut times = Vec::with_capacity(HEALTHY_QUESTIONS);
    for _ in 0..HEALTHY_QUESTIONS {
        let start = Instant::now();
        assert_eq!(wire.post("/v1/filter", question).unwrap().status, 200);
        times.push(start.elapsed());
        std::thread::park_timeout(HEALTHY_PACE);
    }
    percentile(&mut times, 99)
}

#[test]
fn a02_five_hundred_slow_clients_are_cut_off_and_not_felt() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    let question = about(&pending_pods()[..1]).to_string();
    let mut wire = arena.wire();
    healthy(&mut wire, &question);
    let control = healthy(&mut wire, &question);

    let id = arena.sidecar.id();
    let before = process::open_files(id);
    let kinds = [Kind::Head, Kind::Body, Kind::Silent, Kind::Preface];
    let mut clients: Vec<Client> =
        (0..CLIENTS - READERS).map(|at| Client::new(&arena, kinds[at % kinds.len()])).collect();
    clients.extend((0..READERS).map(|_| Client::new(&arena, Kind::Reader)));
    let begun = Instant::now();
    timeout::until(|| (process::open_files(id) >= before + CLIENTS - READERS).then_some(())).expect("all are accepted");
    // The readers' requests are evaluated first: this is ordinary load.
    timeout::until(|| (arena.metric("nodesift_api_evaluations") == 0.0).then_some(())).expect("the answers are made");

    let (times, cut) = std::thread::scope(|scope| {
        let cut = scope.spawn(|| {
            let mut clients = clients;
            let mut next = begun + PACE;
            let end = begun + timeout::limit();
            while process::open_files(id) > before {
                assert!(Instant::now() < end, "{} are still there", process::open_files(id) - before);
                if Instant::now() >= next {
                    clients.iter_mut().for_each(Client::tick);
                    next += PACE;
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
            begun.elapsed()
        });
        let mut times = Vec::new();
        while !cut.is_finished() {
            times.push(healthy(&mut wire, &question));
        }
        (times, cut.join().unwrap())
    });
    let after = healthy(&mut wire, &question);
    let mut sorted = times.clone();
    let meanwhile = percentile(&mut sorted, 50);
    println!("cut off after {cut:?}; healthy p99 {control:?} before, {times:?} meanwhile, {after:?} after");
    // Each kind of wait has its own timeout; a reader's starts once the buffers are full.
    let due = HEAD_TIME.max(REQUEST_TIME).max(WRITE_STALL) + GRACE;
    timing::at_most("slow clients are cut off", cut, due);
    let bound = (control.max(after) * HEALTHY_PERCENT / 100).max(NOISE);
    timing::figure("healthy answers beside slow clients", meanwhile, bound);
    arena.goes_on();
}
