//! Unknown paths, methods, types and versions, and heads that are too large: always a 4xx, never a 5xx.

use nodesift_api::limits::{HEAD_BYTES, HEADERS};
use nodesift_tests::machine::beside_others;
use nodesift_tests::wire::Wire;

use crate::arena::Arena;
use crate::frames::{END_HEADERS, END_STREAM, HEADERS as HEADERS_FRAME, OPENING, frame, header, receive, request};

/// The status of the answer on a new connection; 0 where it is closed without an answer.
fn status(arena: &Arena, sent: impl AsRef<[u8]>) -> u16 {
    let mut wire: Wire = arena.tcp_wire();
    // The sidecar may close the connection before all is written.
    let _ = wire.send(sent);
    wire.head().map_or(0, |answer| answer.status)
}

/// The status of the answer to an incomplete request, of which the sidecar sees the end of the stream; 0 where there is none.
fn status_of_part(arena: &Arena, sent: impl AsRef<[u8]>) -> u16 {
    let mut wire = arena.tcp_wire();
    let _ = wire.send(sent);
    let _ = wire.finish();
    wire.head().map_or(0, |answer| answer.status)
}

#[test]
fn a13_paths_and_methods_that_are_none_are_4xx() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for target in [
        "//",
        "/v1",
        "/v1/",
        "/v1/filter/",
        "/v1//filter",
        "/V1/FILTER",
        "/v1/filter/../state",
        "/%2e%2e/etc/passwd",
        "/v1/%66ilter",
        "/\u{e9}",
        "/%00",
        "/%ff",
        "/nodesift.v1.Nodesift/",
        "/nodesift.v1.Nodesift/Nothing",
        "*",
        "http://elsewhere/nothing",
        "http://[::1]/x",
        "/nothing?a=b#c",
        "/extender",
        "/extender/bind",
        "/favicon.ico",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "BREW"] {
            let found = status(&arena, format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
            assert!(matches!(found, 400..500), "{method} {target}: {found}");
        }
    }
    for (method, path) in [
        ("GET", "/v1/filter"),
        ("PUT", "/v1/assume"),
        ("POST", "/v1/state"),
        ("DELETE", "/metrics"),
        ("POST", "/"),
        ("TRACE", "/?"),
        ("BREW", "/livez"),
    ] {
        let found = status(&arena, format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        assert_eq!(found, 405, "{method} {path}");
    }
    for query in ["?node", "?node=", "?node=nobody", "?nodes=n", "?node=a&node=b", "?node=%00", "?\u{e9}"] {
        let found = status(&arena, format!("GET /v1/state{query} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        assert!(matches!(found, 400 | 404), "{query}: {found}");
    }
    arena.goes_on();
}

#[test]
fn a13_types_that_are_not_taken_are_415_and_any_may_be_wished_for() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let post = |headers: &str| {
        let json = if headers.starts_with("content-type") { "" } else { "content-type: application/json\r\n" };
        let head = format!("POST /v1/filter HTTP/1.1\r\nhost: localhost\r\n{json}{headers}\r\n");
        status(&arena, format!("{head}content-length: 2\r\n\r\n{{}}"))
    };
    for media_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/yaml",
        "application/jsonx",
        "json",
        "",
        ";",
        "\u{e9}",
        "application/protobuf",
        "application/octet-stream",
    ] {
        assert_eq!(post(&format!("content-type: {media_type}")), 415, "{media_type}");
    }
    for coding in ["gzip", "br", "deflate", "zstd", "identity, gzip", "x"] {
        assert_eq!(post(&format!("content-encoding: {coding}")), 415, "{coding}");
    }
    for wanted in ["text/html", "x/y;q=0", "application/json;q=0"] {
        assert_eq!(post(&format!("accept: {wanted}")), 406, "{wanted}");
    }
    for fine in [
        "content-type: application/json; charset=utf-8",
        "content-type: APPLICATION/JSON",
        "content-encoding: identity",
        "accept: text/html, */*;q=0.1",
        "accept-encoding: br",
    ] {
        assert_eq!(post(fine), 200, "{fine}");
    }
    // gRPC over HTTP/1 is not supported; the content type alone makes no call.
    for path in ["/nodesift.v1.Nodesift/Filter", "/v1/filter", "/livez"] {
        let found = status(
            &arena,
            format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/grpc\r\ncontent-length: 0\r\n\r\n"
            ),
        );
        assert!(found < 500 && found != 0, "{path}: {found}");
    }
    arena.goes_on();
}

#[test]
fn a13_heads_that_are_too_large_are_4xx_or_cut() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let get =
        |path: &str, headers: &str| status(&arena, format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n"));
    let many = |count: usize| (0..count).map(|at| format!("x-{at}: y\r\n")).collect::<String>();
    assert_eq!(get("/livez", &many(HEADERS - 1)), 200);
    for count in [HEADERS, 100, 10_000] {
        assert_eq!(get("/livez", &many(count)), 431, "{count} more");
    }
    assert_eq!(get(&format!("/{}", "a".repeat(HEAD_BYTES / 2)), ""), 404);
    assert_eq!(get(&format!("/{}", "a".repeat(100_000)), ""), 431);
    assert_eq!(get("/livez", &format!("x: {}\r\n", "a".repeat(HEAD_BYTES / 2))), 200);
    assert_eq!(get("/livez", &format!("x: {}\r\n", "a".repeat(10 * HEAD_BYTES))), 431);
    let found = get("/livez", &format!("{}: x\r\n", "a".repeat(HEAD_BYTES)));
    assert!(matches!(found, 400 | 431), "{found}");
    for version in ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3", "HTTP/11", "http/1.1", "HTTP/1.1 x", ""] {
        let found = status_of_part(&arena, format!("GET /livez {version}\r\nhost: localhost\r\n\r\n"));
        assert!(matches!(found, 0 | 400..500), "{version}: {found}");
    }
    for line in [
        "\0\0\0\0",
        "GET",
        "GET /livez",
        "\r\n\r\n",
        "GET\t/livez\tHTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\0\x01",
        "GET /li\0vez HTTP/1.1\r\n\r\n",
        "G\u{e9}T / HTTP/1.1\r\n\r\n",
    ] {
        let found = status_of_part(&arena, line);
        assert!(matches!(found, 0 | 400..500), "{line:?}: {found}");
    }
    arena.goes_on();
}

#[test]
fn a13_the_same_over_http2_ends_the_stream_or_the_connection_and_never_the_process() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let heads: Vec<Vec<u8>> = vec![
        request("GET", &format!("/{}", "a".repeat(15_000))),
        [request("GET", "/livez"), (0..101).flat_map(|at| header(&format!("x-{at}"), "y")).collect()].concat(),
        [request("GET", "/livez"), header("x", &"a".repeat(15_000)), header("y", &"a".repeat(1_000))].concat(),
        request("GET", ""),
        request("", "/livez"),
        request("CONNECT", "/livez"),
        request("BREW", "/livez"),
        header(":method", "GET"),
        [request("GET", "/livez"), header(":path", "/metrics")].concat(),
        [request("GET", "/livez"), header(":unknown", "x")].concat(),
        [request("GET", "/livez"), header("Upper", "x")].concat(),
        [request("GET", "/livez"), header("transfer-encoding", "chunked")].concat(),
        [request("POST", "/v1/filter"), header("content-length", "5")].concat(),
        [request("POST", "/v1/filter"), header("content-length", "x")].concat(),
        vec![0x80],
        vec![0xff; 20],
        vec![0x40, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        vec![0x3f, 0xe1, 0xff, 0xff, 0xff, 0x7f],
    ];
    for head in heads {
        let mut wire = arena.tcp_wire();
        wire.send(OPENING).unwrap();
        wire.send(frame(HEADERS_FRAME, END_STREAM | END_HEADERS, 1, &head)).unwrap();
        wire.finish().unwrap();
        // A status, a RST_STREAM or a GOAWAY: in each case the request ends.
        let first = loop {
            match receive(&mut wire) {
                Ok(came) if came.stream == 1 || came.kind == 7 => break Some(came.kind),
                Ok(_) => {}
                Err(_) => break None,
            }
        };
        println!("{:?}…: {first:?}", String::from_utf8_lossy(head.get(..head.len().min(20)).unwrap()));
        assert!(wire.is_closed());
    }
    arena.goes_on();
}
