//! HTTP/2 clients that never open their windows: hyper takes one frame of each response and nothing more, so nothing that others
//! need may depend on what happens inside a response.

use nodesift_proto::v1;
use nodesift_tests::http::Endpoint;
use nodesift_tests::timeout;
use nodesift_tests::wire::Wire;
use prost::Message as _;

use crate::arena::{Arena, beside_others};
use crate::frames::{DATA, END_HEADERS, HEADERS, OPENING, PING, SETTINGS, frame, header, receive, request};

/// Bytes of a message that is announced.
const ANNOUNCED: usize = 3 << 20;

/// A connection whose windows are closed.
fn closed(endpoint: &Endpoint) -> Wire {
    let mut wire = Wire::open(endpoint).unwrap();
    wire.send([OPENING, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])].concat()).unwrap();
    wire
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
