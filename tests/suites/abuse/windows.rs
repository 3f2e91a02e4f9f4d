//! HTTP/2 clients that never open their windows: hyper takes one frame of each response and nothing more, so nothing that others
//! need may depend on what happens inside a response.

use std::time::{Duration, Instant};

use nodesift_api::limits::{
    CONNECTION_PIECES_BYTES, DRAIN_FRAME_TIME, H2_CONNECTION_WINDOW, H2_STREAM_WINDOW, H2_STREAMS, QUEUE_TIME,
    SEND_TICK, STREAM_CHUNK, STREAMS, UNSENT_PIECES_BYTES, WRITE_STALL,
};
use nodesift_proto::v1;
use nodesift_tests::http::{self, Endpoint};
use nodesift_tests::machine::{alone, beside_others};
use nodesift_tests::wire::Wire;
use nodesift_tests::{process, timeout, timing};
use prost::Message as _;

use crate::arena::{Arena, mib};
use crate::frames::{
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, OPENING, PING, SETTINGS, WINDOW_UPDATE, frame, get, header,
    receive, request,
};
use crate::grpc;

/// Bytes of a message that is announced.
const ANNOUNCED: usize = 3 << 20;

/// A connection whose windows are closed.
fn closed(endpoint: &Endpoint) -> Wire {
    let mut wire = Wire::open(endpoint).unwrap();
    wire.send([OPENING, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])].concat()).unwrap();
    wire
}

/// Waits for the heads of so many responses.
fn heads(wire: &mut Wire, count: usize) {
    let mut came = 0;
    while came < count {
        came += usize::from(receive(wire).expect("a response begins").kind == HEADERS);
    }
}

/// The numbers of a client's streams.
fn streams() -> impl Iterator<Item = u32> {
    (1..).step_by(2)
}

/// Whether the connection is served still.
fn is_alive(wire: &mut Wire) -> bool {
    if wire.send(frame(PING, 0, 0, &[7; 8])).is_err() {
        return false;
    }
    loop {
        match receive(wire) {
            Ok(came) if came.kind == PING && came.flags == 1 && came.payload == [7; 8] => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

fn message(content: &[u8], bytes: usize) -> Vec<u8> {
    [&[0][..], &u32::try_from(bytes).unwrap().to_be_bytes(), content].concat()
}

#[test]
fn a_message_of_a_stream_whose_answers_are_not_read_ends_at_its_deadline() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for (endpoint, listener) in arena.endpoints().iter().zip(["tcp", "unix"]) {
        let held = format!("nodesift_api_held_bytes{{listener=\"{listener}\",holds=\"arriving\"}}");
        let mut wire = closed(endpoint);
        let headers = [header("content-type", "application/grpc"), header("te", "trailers")].concat();
        let head = [request("POST", "/nodesift.v1.Nodesift/FilterStream"), headers].concat();
        wire.send(frame(HEADERS, END_HEADERS, 1, &head)).unwrap();
        // One that is answered after a moment, and the beginning of one that never comes whole.
        let consistency =
            v1::Consistency { min_generation: Some(1 << 60), deadline_ms: Some(100), ..Default::default() };
        let filter = v1::FilterRequest { consistency: Some(consistency), ..Default::default() };
        let first = v1::FilterStreamRequest { id: 1, filter: Some(filter) }.encode_to_vec();
        wire.send(frame(DATA, 0, 1, &message(&first, first.len()))).unwrap();
        wire.send(frame(DATA, 0, 1, &message(&[], ANNOUNCED))).unwrap();
        for _ in 0..3 {
            wire.send(frame(DATA, 0, 1, &[0; 16_000])).unwrap();
        }
        timeout::until(|| (arena.metric(&held) > 40_000.0).then_some(())).expect("it arrives");
        timeout::until(|| (arena.metric(&held) < 20_000.0).then_some(())).expect("its room is given back");
        assert!(is_alive(&mut wire), "the room came back with the connection only");
    }
    arena.goes_on();
}

#[test]
fn streams_behind_closed_windows_leave_their_places_to_newcomers() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for endpoint in arena.endpoints() {
        let mut greedy = closed(&endpoint);
        for stream in streams().take(STREAMS) {
            greedy.send(get(stream, "/v1/events")).unwrap();
        }
        heads(&mut greedy, STREAMS);
        let mut newcomer = Wire::open(&endpoint).unwrap();
        newcomer.send("GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        assert_eq!(newcomer.head().unwrap().status, 200);
    }
    arena.goes_on();
}

#[test]
fn answers_of_every_kind_behind_closed_windows_take_bounded_memory() {
    const CONNECTIONS: usize = 200;
    let _alone = alone();
    for path in ["/metrics", "/v1/state", "/v1/negotiations", "/version", "/unknown"] {
        let arena = Arena::new(&[]);
        let (id, endpoint) = (arena.sidecar.id(), arena.sidecar.tcp());
        let idle = process::resident_bytes(id);
        process::forget_peak(id);
        let requests: Vec<u8> = streams().take(H2_STREAMS as usize).flat_map(|stream| get(stream, path)).collect();
        let connect = || {
            let mut wire = closed(&endpoint);
            // It may be closed already: others need its room.
            let _sent = wire.send(&requests);
            wire
        };
        let connections: Vec<Wire> = (0..CONNECTIONS).map(|_| connect()).collect();
        arena.goes_on();
        timeout::until(|| (arena.metric("nodesift_api_requests_in_flight") <= 1.0).then_some(()))
            .expect("all are answered");
        let peak = process::peak_resident_bytes(id);
        println!("{path}: idle {}, at most {}", mib(idle), mib(peak));
        assert!(peak <= idle + idle / 2 + (64 << 20), "{path}: idle {}, at most {}", mib(idle), mib(peak));
        drop(connections);
    }
}

#[test]
fn a_drain_does_not_wait_for_streams_behind_closed_windows() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut greedy = closed(&arena.sidecar.unix());
    greedy.send([get(1, "/v1/events"), get(3, "/v1/state")].concat()).unwrap();
    heads(&mut greedy, 2);
    let signalled = Instant::now();
    arena.sidecar.signal("TERM");
    let (status, output) = arena.sidecar.wait();
    assert!(status.success() && !output.contains("cut off"), "{output}");
    // A promise in seconds, as any end after SIGTERM.
    timing::at_most(
        "the end after SIGTERM, behind closed windows",
        signalled.elapsed(),
        3 * SEND_TICK + DRAIN_FRAME_TIME,
    );
}

#[test]
fn small_answers_behind_closed_windows_hold_up_no_probe() {
    // As many answers as there are kilobytes for pieces of answers, and more.
    const CONNECTIONS: usize = 84;
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for endpoint in arena.endpoints() {
        let _greedy: Vec<Wire> = (0..CONNECTIONS)
            .map(|_| {
                let mut wire = closed(&endpoint);
                let requests = streams().take(H2_STREAMS as usize).flat_map(|stream| get(stream, "/livez"));
                wire.send(requests.collect::<Vec<u8>>()).unwrap();
                // Those that hold most are closed for those that come.
                while receive(&mut wire).is_ok_and(|came| came.stream != 2 * H2_STREAMS - 1) {}
                wire
            })
            .collect();
        for path in ["/livez", "/readyz", "/metrics"] {
            let mut probe = Wire::open(&endpoint).unwrap();
            probe.wait_at_most(Duration::from_secs(2)).unwrap();
            assert_eq!(probe.get(path).unwrap().status, 200);
        }
    }
    arena.goes_on();
}

#[test]
fn pieces_of_answers_behind_closed_windows_hold_up_no_scrape() {
    // As many as have all the room of pieces.
    const CONNECTIONS: usize = UNSENT_PIECES_BYTES / CONNECTION_PIECES_BYTES + 1;
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for endpoint in arena.endpoints() {
        let bytes = http::get(&endpoint, "/metrics").unwrap().body.len();
        let answers = CONNECTION_PIECES_BYTES / bytes.min(STREAM_CHUNK) + 1;
        let _greedy: Vec<Wire> = (0..CONNECTIONS)
            .map(|_| {
                let mut wire = closed(&endpoint);
                wire.send(streams().take(answers).flat_map(|stream| get(stream, "/metrics")).collect::<Vec<u8>>())
                    .unwrap();
                let mut begun = 0;
                while begun < answers {
                    let Ok(came) = receive(&mut wire) else { break };
                    begun += usize::from(came.kind == HEADERS);
                }
                wire
            })
            .collect();
        let mut scrape = Wire::open(&endpoint).unwrap();
        scrape.wait_at_most(Duration::from_secs(2)).unwrap();
        assert_eq!(scrape.get("/metrics").unwrap().status, 200);
    }
    arena.goes_on();
}

#[test]
fn streams_of_requests_that_wait_for_a_place_hold_no_room() {
    const CONNECTIONS: usize = 13;
    /// Far less than a head each.
    const MOST: f64 = 300_000.0;
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let headers = [header("content-type", "application/grpc"), header("te", "trailers")].concat();
    let head = [request("POST", "/nodesift.v1.Nodesift/FilterStream"), headers].concat();
    let mut greedy: Vec<Wire> = (0..CONNECTIONS).map(|_| closed(&arena.sidecar.tcp())).collect();
    for wire in &mut greedy {
        let heads = streams().take(H2_STREAMS as usize).flat_map(|stream| frame(HEADERS, END_HEADERS, stream, &head));
        wire.send(heads.collect::<Vec<u8>>()).unwrap();
    }
    let begun = Instant::now();
    let mut most: f64 = 0.0;
    while begun.elapsed() < QUEUE_TIME / 2 {
        most = most.max(arena.metric("nodesift_api_held_bytes{listener=\"tcp\",holds=\"arriving\"}"));
    }
    println!("at most {most} bytes");
    assert!(most < MOST, "{most}");
    // Most were refused at once.
    for wire in &mut greedy {
        heads(wire, H2_STREAMS as usize / 2);
    }
    arena.goes_on();
}

#[test]
fn large_answers_behind_closed_windows_do_not_keep_others_from_theirs() {
    const CONNECTIONS: usize = 8;
    const REQUESTS: usize = 10;
    let _alone = alone();
    let arena = Arena::new(&[]);
    let question = v1::FilterRequest { pending: true, detail: v1::Detail::Nodes.into(), ..Default::default() };
    let question = question.encode_to_vec();
    let headers = [header("content-type", "application/grpc"), header("te", "trailers")].concat();
    let head = [request("POST", "/nodesift.v1.Nodesift/Filter"), headers].concat();
    for endpoint in arena.endpoints() {
        let mut greedy: Vec<Wire> = (0..CONNECTIONS).map(|_| closed(&endpoint)).collect();
        for wire in &mut greedy {
            for stream in streams().take(REQUESTS) {
                let body = frame(DATA, END_STREAM, stream, &message(&question, question.len()));
                wire.send([frame(HEADERS, END_HEADERS, stream, &head), body].concat()).unwrap();
            }
        }
        // Each has a megabyte, or was refused.
        for wire in &mut greedy {
            let mut begun = 0;
            while begun < REQUESTS && receive(wire).is_ok_and(|came| came.stream > 0 || came.kind != GOAWAY) {
                begun += 1;
            }
        }
        let start = Instant::now();
        let answered = timeout::until(|| {
            let answer =
                grpc::block_on(async { grpc::Client::connect(&endpoint).await.call("Filter", question.clone()).await });
            answer.inspect_err(|status| println!("{status}")).ok()
        });
        // When those who do not read give way is tested with a paused clock, in `host/edge/src/unsent/tests.rs`.
        assert!(!answered.expect("an answer").is_empty());
        timing::figure("an answer beside large ones behind closed windows", start.elapsed(), WRITE_STALL);
    }
    arena.goes_on();
}

#[test]
fn a_peer_may_send_no_more_unread_than_the_windows_hold() {
    /// Of a connection, before its first update.
    const FIRST: u32 = 65_535;
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    for endpoint in &arena.endpoints() {
        let mut wire = Wire::open(endpoint).unwrap();
        wire.send(OPENING).unwrap();
        let (mut stream, mut connection) = (None, FIRST);
        // Whatever it tells at first is there before it answers a second ping.
        for _ in 0..2 {
            wire.send(frame(PING, 0, 0, &[7; 8])).unwrap();
            loop {
                let came = receive(&mut wire).unwrap();
                match came.kind {
                    SETTINGS => {
                        let window = came.payload.chunks(6).find(|setting| setting[..2] == [0, 4]);
                        stream = window.map(|setting| number(&setting[2..])).or(stream);
                    }
                    WINDOW_UPDATE if came.stream == 0 => connection += number(&came.payload),
                    PING if came.flags == 1 => break,
                    _ => {}
                }
            }
        }
        assert_eq!((stream, connection), (Some(H2_STREAM_WINDOW), H2_CONNECTION_WINDOW));
    }
}
