//! Requests with an ambiguous end: refused, or read as RFC 9112 defines. Never more answers than requests.

use nodesift_tests::http::Endpoint;
use nodesift_tests::machine::beside_others;
use nodesift_tests::wire::Wire;

use crate::arena::Arena;

/// Pipelined requests over one connection.
const PIPELINED: usize = 1_000;
/// The beginning of a request with a body.
const HEAD: &str = "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
/// A request inside a body, which must never be answered.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The last request of a connection, which closes it.
const LAST: &str = "GET /the-last HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// All answers of a connection until the sidecar closes it: status and text. The answer to a last request, if there is one,
/// is omitted.
fn answers(endpoint: &Endpoint, sent: &[u8]) -> Vec<(u16, String)> {
    let mut wire = Wire::open(endpoint).unwrap();
    // The sidecar may close the connection before all is written.
    let _ = wire.send([sent, LAST.as_bytes()].concat());
    let answers = std::iter::from_fn(|| wire.answer().ok()).map(|answer| (answer.status, answer.text()));
    answers.filter(|(_, text)| !text.contains("/the-last")).collect()
}

fn statuses(answers: &[(u16, String)]) -> Vec<u16> {
    answers.iter().map(|(status, _)| *status).collect()
}

#[test]
fn a12_a_message_with_two_lengths_is_refused_and_nothing_after_it_is_read() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let headers = [
        "content-length: 0\r\ncontent-length: 44",
        "content-length: 44\r\ncontent-length: 0",
        "content-length: 0, 44",
        "content-length: +44",
        "content-length: -1",
        "content-length: 0x2c",
        "content-length: 44 44",
        "content-length:",
        "content-length: 18446744073709551616",
        "content-length : 44",
        " content-length: 44",
        "content-length: 4\r\n 4",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: xchunked",
        "transfer-encoding: identity",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity",
        "transfer-encoding : chunked",
        "transfer-encoding:\x0bchunked",
        "transfer-encoding\0: chunked",
        "content-length: 44\rtransfer-encoding: chunked",
        "content-length: 44\nx: \x01",
    ];
    for endpoint in arena.endpoints() {
        for header in headers {
            let sent = format!("{HEAD}{header}\r\n\r\n{SMUGGLED}{SMUGGLED}");
            let found = answers(&endpoint, sent.as_bytes());
            assert_eq!(statuses(&found), [400], "{header:?}: {found:?}");
        }
        // HTTP/1.0 has no chunked encoding.
        let sent = format!("POST /v1/filter HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}");
        assert_eq!(statuses(&answers(&endpoint, sent.as_bytes())), [400]);
    }
    arena.goes_on();
}

#[test]
fn a12_where_both_lengths_are_given_chunks_count_and_the_connection_ends() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for headers in [
        "content-length: 6\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 6",
        "content-length: 300\r\nTransfer-Encoding: Chunked",
    ] {
        let sent = format!("{HEAD}{headers}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n{SMUGGLED}");
        let found = answers(&arena.sidecar.tcp(), sent.as_bytes());
        // By its chunks the body is `{}`. The bytes after it are not read as a request by any of the lengths.
        assert_eq!(statuses(&found), [200], "{headers:?}: {found:?}");
    }
    // Equal repeated lengths count as one.
    let sent = format!("{HEAD}content-length: 2\r\ncontent-length: 2\r\n\r\n{{}}{SMUGGLED}");
    let found = answers(&arena.sidecar.tcp(), sent.as_bytes());
    assert_eq!(statuses(&found), [200, 404], "{found:?}");
    assert!(found[1].1.contains("/smuggled"), "outside of a body it is a request");
    arena.goes_on();
}

#[test]
fn a12_broken_chunks_end_the_connection() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let head = format!("{HEAD}transfer-encoding: chunked\r\n\r\n");
    for chunks in [
        "x\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        " 2\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}0\r\n\r\n",
        "2\r\n{}\n0\r\n\r\n",
        "2\n{}\r\n0\r\n\r\n",
        "1\r\n{}\r\n0\r\n\r\n",
        "fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "ffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "2;\rx\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n0\r\n\r\n",
    ] {
        let sent = format!("{head}{chunks}{SMUGGLED}");
        let found = answers(&arena.sidecar.tcp(), sent.as_bytes());
        // An incomplete chunk size is waited for, up to the timeout of bodies.
        assert!(matches!(&statuses(&found)[..], [] | [400 | 408]), "{chunks:?}: {found:?}");
    }
    // Extensions and trailers are skipped, up to a limit.
    let found =
        answers(&arena.sidecar.tcp(), format!("{head}2;a=b;c=\"d\"\r\n{{}}\r\n0\r\nx: y\r\n\r\n{SMUGGLED}").as_bytes());
    assert_eq!(statuses(&found), [200, 404], "{found:?}");
    for endless in [
        format!("2;{}", "a".repeat(1 << 20)),
        format!("0\r\nx: {}", "a".repeat(1 << 20)),
        "0\r\nx: y\r\n".repeat(1 << 12),
    ] {
        let found = answers(&arena.sidecar.tcp(), format!("{head}{endless}").as_bytes());
        assert!(matches!(&statuses(&found)[..], [] | [400]), "{found:?}");
    }
    arena.goes_on();
}

#[test]
fn a12_upgrades_are_not_taken_and_hide_nothing() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for headers in [
        "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__",
        "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13",
        "connection: upgrade\r\nupgrade: h2c, nonsense",
        "upgrade: TLS/1.0",
    ] {
        let sent = format!(
            "GET /livez HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\nGET /nothing HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        );
        let found = answers(&arena.sidecar.tcp(), sent.as_bytes());
        assert_eq!(statuses(&found), [200, 404], "{headers:?}: {found:?}");
    }
    // HTTP/2 must start with the connection.
    let sent = [b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n".as_slice(), crate::frames::OPENING].concat();
    let found = answers(&arena.sidecar.tcp(), &sent);
    assert_eq!(found.first().map(|(status, _)| *status), Some(200));
    assert!(found[1..].iter().all(|(status, _)| *status >= 400), "{found:?}");
    // CONNECT is refused, and the bytes inside the tunnel are not read as requests.
    let found = answers(
        &arena.sidecar.tcp(),
        format!("CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\n\r\n{SMUGGLED}").as_bytes(),
    );
    assert!(found.first().is_some_and(|(status, _)| matches!(status, 400..500)), "{found:?}");
    arena.goes_on();
}

#[test]
fn a12_a_thousand_pipelined_requests_are_answered_in_order() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for endpoint in arena.endpoints() {
        let mut wire = Wire::open(&endpoint).unwrap();
        let mut sent = Vec::new();
        for at in 0..PIPELINED {
            let body = format!(r#"{{"field{at}":{}1}}"#, " ".repeat(at % 7));
            let request = match at % 3 {
                0 => format!("GET /field{at} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
                1 => format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len()),
                _ => format!("{HEAD}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
            };
            sent.extend_from_slice(request.as_bytes());
        }
        std::thread::scope(|scope| {
            let mut writer = wire.try_clone().unwrap();
            scope.spawn(move || writer.send(sent).unwrap());
            for at in 0..PIPELINED {
                let answer = wire.answer().unwrap();
                let (status, named) =
                    if at % 3 == 0 { (404, format!("/field{at};")) } else { (400, format!("`field{at}`")) };
                assert!(answer.status == status && answer.text().contains(&named), "{named}: {}", answer.text());
            }
        });
    }
    arena.goes_on();
}
