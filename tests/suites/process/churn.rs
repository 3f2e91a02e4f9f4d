//! M-05: many connections opened and closed, many requests cut off. Nothing of them stays.

use nodesift_tests::http::{Endpoint, post};
use nodesift_tests::machine::alone;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::wire::Wire;
use nodesift_tests::{process, timeout};

use crate::running::{command, metric, question};

/// Connections that are opened and closed.
const CONNECTIONS: usize = 10_000;
/// Requests that are cut off.
const CUTS: usize = 20_000;
/// Requests that one connection cuts off: HTTP/2 streams that are reset.
const STREAMS: usize = 20;
/// Every so many connections one goes over TCP, where each leaves its port in use for a while.
const TCP: usize = 16;
/// Limit on the threads of the process.
const THREADS: u64 = 100;

fn endpoint(sidecar: &Sidecar, number: usize) -> Endpoint {
    if number.is_multiple_of(TCP) { sidecar.tcp() } else { sidecar.unix() }
}

/// Waits until nothing is left of the clients.
fn settles(sidecar: &Sidecar, files: usize) {
    let settled = || {
        (process::open_files(sidecar.id()) <= files
            && metric(sidecar, "nodesift_api_requests_in_flight") == 1.0
            && metric(sidecar, "nodesift_api_evaluations") == 0.0)
            .then_some(())
    };
    timeout::until(settled).unwrap_or_else(|| {
        panic!(
            "{} files, {} requests in flight, {} evaluations",
            process::open_files(sidecar.id()),
            metric(sidecar, "nodesift_api_requests_in_flight"),
            metric(sidecar, "nodesift_api_evaluations")
        )
    });
}

#[test]
fn of_ten_thousand_connections_and_twenty_thousand_cut_requests_nothing_stays() {
    let _alone = alone();
    let sidecar = Sidecar::start(command(), &[]);
    let id = sidecar.id();
    assert_eq!(post(&sidecar.unix(), "/v1/filter", question(0).to_string()).unwrap().status, 200);
    settles(&sidecar, usize::MAX);
    let files = process::open_files(id) + 1;
    for number in 0..CONNECTIONS {
        let mut wire = Wire::open(&endpoint(&sidecar, number)).unwrap();
        // Some say something first.
        match number % 4 {
            0 => may_fail(wire.send("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")),
            1 => may_fail(wire.send("GET /li")),
            _ => {}
        }
    }
    settles(&sidecar, files);
    println!("{CONNECTIONS} connections: {} files, {} threads", process::open_files(id), process::threads(id));

    let body = question(1).to_string();
    let head = format!(
        "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let half = format!("{head}{}", &body[..body.len() / 2]);
    let streams: Vec<u8> = (0..STREAMS).flat_map(|at| cut_stream(u32::try_from(2 * at + 1).unwrap())).collect();
    let mut cut = 0;
    for number in 0.. {
        if cut >= CUTS {
            break;
        }
        let mut wire = Wire::open(&endpoint(&sidecar, number)).unwrap();
        // The connection may have been closed for its resets.
        if number % 2 == 0 {
            may_fail(wire.send(&half));
            cut += 1;
        } else {
            may_fail(wire.send([crate::frames::OPENING, &streams].concat()));
            cut += STREAMS;
        }
    }
    settles(&sidecar, files);
    println!("{cut} cut requests: {} files, {} threads", process::open_files(id), process::threads(id));
    assert!(process::threads(id) <= THREADS, "{} threads", process::threads(id));
    assert_eq!(post(&sidecar.unix(), "/v1/filter", body).unwrap().status, 200);
    assert!(!sidecar.output().contains("panicked"), "{}", sidecar.output());
}

/// A write to a connection that the sidecar may have closed.
fn may_fail(_sent: std::io::Result<()>) {}

/// A request that is cut off with half of its body.
fn cut_stream(stream: u32) -> Vec<u8> {
    use crate::frames::{DATA, END_HEADERS, HEADERS, RST_STREAM, frame, header, request};
    const CANCEL: [u8; 4] = [0, 0, 0, 8];
    let headers = [request("POST", "/v1/filter"), header("content-type", "application/json")].concat();
    [
        frame(HEADERS, END_HEADERS, stream, &headers),
        frame(DATA, 0, stream, b"{\"pods\":"),
        frame(RST_STREAM, 0, stream, &CANCEL),
    ]
    .concat()
}
