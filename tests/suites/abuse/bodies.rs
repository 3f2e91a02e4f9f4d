//! Bodies over the limit, in every form: refused, and not buffered.

use std::convert::Infallible;
use std::io::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::future::join_all;
use futures_util::stream;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Body, Frame};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nodesift_tests::machine::{alone, beside_others};
use nodesift_tests::process;
use nodesift_tests::wire::Wire;
use tokio::net::TcpStream;

use crate::arena::{Arena, mib};
use crate::grpc::block_on;

/// The sidecar's default limit in bytes.
const LIMIT: usize = nodesift_api::limits::BODY_BYTES;
/// Number of concurrent clients.
const AT_ONCE: usize = 100;
/// Limit on the growth of memory while the clients are connected, in bytes.
const GROWTH: u64 = 8 << 20;
/// Growth of memory without any requests, in bytes.
const NOISE: u64 = 1 << 20;
/// Attacks of which the one with the least growth counts.
const FLOODS: usize = 2;
/// Bytes sent of bodies without a declared end.
const SENT: usize = LIMIT + (1 << 20);
const PIECE: usize = 64 * 1024;

/// How a client over HTTP/1 sends too large a body.
#[derive(Debug, Clone, Copy)]
enum Form {
    Declared,
    /// Only the length is sent, never the body.
    DeclaredAlone,
    Chunked,
    Packed,
}

/// Sends one body and returns the status.
fn refused(mut wire: Wire, form: Form, packed: &[u8]) -> u16 {
    const HEAD: &str = "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    // Writes fail once the sidecar has closed its side; its answer can still be read.
    match form {
        Form::Declared => {
            let mut written = wire.send(format!("{HEAD}content-length: {SENT}\r\n\r\n"));
            for _ in 0..SENT / PIECE {
                written = written.and_then(|()| wire.send([b' '; PIECE]));
            }
        }
        Form::DeclaredAlone => wire.send(format!("{HEAD}content-length: {}\r\n\r\n", 1_u64 << 60)).unwrap(),
        Form::Chunked => {
            let mut chunk = format!("{PIECE:x}\r\n").into_bytes();
            chunk.extend_from_slice(&[b' '; PIECE]);
            chunk.extend_from_slice(b"\r\n");
            let mut written = wire.send(format!("{HEAD}transfer-encoding: chunked\r\n\r\n"));
            for _ in 0..SENT / PIECE {
                written = written.and_then(|()| wire.send(&chunk));
            }
        }
        Form::Packed => {
            wire.send(format!("{HEAD}content-encoding: gzip\r\ncontent-length: {}\r\n\r\n", packed.len())).unwrap();
            let _ = wire.send(packed);
        }
    }
    wire.answer().unwrap().status
}

/// 256 MiB of zeros, compressed to about 256 KiB.
fn bomb() -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..32 {
        packer.write_all(&vec![b' '; 8 << 20]).unwrap();
    }
    packer.finish().unwrap()
}

/// The growth of memory during an attack, in bytes.
fn growth(arena: &Arena, attack: impl FnOnce()) -> u64 {
    let id = arena.sidecar.id();
    process::forget_peak(id);
    let before = process::resident_bytes(id);
    attack();
    process::peak_resident_bytes(id).saturating_sub(before)
}

/// The least growth of up to [`FLOODS`] attacks, which end once one is within the limit: the first also make what stays, such as the
/// arenas of threads. Bodies that are held are held in each.
fn least_growth(arena: &Arena, limit: u64, attack: impl Fn()) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..FLOODS {
        let grown = growth(arena, &attack);
        println!("a flood: +{}", mib(grown));
        least = least.min(grown);
        if least <= limit {
            break;
        }
    }
    least
}

/// Warm-up: ordinary requests create buffers and threads before the measurement.
fn warm_up(arena: &Arena) {
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| arena.goes_on());
        }
    });
}

#[test]
fn a01_a_hundred_bodies_over_the_limit_are_refused_and_not_held() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    warm_up(&arena);
    let packed = bomb();
    // Each class of listeners has a budget of its own.
    let forms = [(Form::DeclaredAlone, 413), (Form::Declared, 413), (Form::Chunked, 413), (Form::Packed, 415)];
    let attacks = arena.endpoints().into_iter().flat_map(|endpoint| forms.map(|form| (endpoint.clone(), form)));
    for (endpoint, (form, expected)) in attacks {
        let start = Instant::now();
        let flood = || {
            std::thread::scope(|scope| {
                let clients: Vec<_> = (0..AT_ONCE)
                    .map(|_| {
                        let (wire, packed) = (Wire::open(&endpoint).unwrap(), &packed);
                        scope.spawn(move || refused(wire, form, packed))
                    })
                    .collect();
                for client in clients {
                    let status = client.join().unwrap();
                    // Large bodies wait for room, for a limited time, and until their deadline.
                    let waited = matches!(form, Form::Chunked) && matches!(status, 408 | 429);
                    assert!(status == expected || waited, "{form:?}: {status}");
                }
            });
        };
        let grown = least_growth(&arena, GROWTH + NOISE, flood);
        println!("{form:?} over {endpoint:?}: +{} in {:?}", mib(grown), start.elapsed());
        assert!(grown <= GROWTH + NOISE, "{form:?} over {endpoint:?}: +{}", mib(grown));
    }
    arena.goes_on();
}

/// Sends a body over HTTP/2 and returns the HTTP status, or the gRPC status.
async fn over_http2(
    sender: &mut hyper::client::conn::http2::SendRequest<http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>>,
    path: &str,
    content_type: &str,
    body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static,
) -> (u16, Option<String>) {
    let request = hyper::Request::post(format!("http://localhost{path}")).header("content-type", content_type);
    let request = request.header("te", "trailers").body(body.boxed_unsync()).unwrap();
    sender.ready().await.unwrap();
    let response = sender.send_request(request).await.unwrap();
    let status = response.status().as_u16();
    let mut grpc = response.headers().get("grpc-status").cloned();
    if let Ok(whole) = response.into_body().collect().await
        && let Some(trailers) = whole.trailers()
    {
        grpc = grpc.or(trailers.get("grpc-status").cloned());
    }
    (status, grpc.map(|status| status.to_str().unwrap().to_owned()))
}

#[test]
fn a01_the_same_over_http2_and_grpc() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    warm_up(&arena);
    let data = |prefix: Vec<u8>| {
        let pieces = std::iter::once(Bytes::from(prefix))
            .chain(std::iter::repeat_n(Bytes::from(vec![b' '; PIECE]), SENT / PIECE));
        StreamBody::new(stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)))))
    };
    // A gRPC message starts with its length. This one declares its true length, which is over the limit.
    let too_long = [vec![0], u32::try_from(SENT).unwrap().to_be_bytes().to_vec()].concat();
    // This one declares a length just within the limit and is sent without end.
    let endless = [vec![0], u32::try_from(LIMIT).unwrap().to_be_bytes().to_vec()].concat();
    let packed = [vec![1], 100_u32.to_be_bytes().to_vec(), vec![0; 100]].concat();
    let address = arena.sidecar.address;
    let connections = 10;
    let start = Instant::now();
    let flood = || {
        block_on(async {
            let clients = (0..connections).map(|_| async {
                let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
                let (sender, connection) =
                    hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
                let connection = tokio::spawn(connection);
                let requests = (0..AT_ONCE / connections).map(|at| {
                    let (mut sender, sent) = (sender.clone(), [&too_long, &endless, &packed][at % 3].clone());
                    let body = data(if at % 4 == 0 { Vec::new() } else { sent.clone() });
                    async move {
                        if at % 4 == 0 {
                            let (status, _) = over_http2(&mut sender, "/v1/filter", "application/json", body).await;
                            assert!(matches!(status, 408 | 413 | 429), "DATA: {status}");
                            return;
                        }
                        let packed = sent.first() == Some(&1);
                        let path = "/nodesift.v1.Nodesift/Filter";
                        let (_, grpc) = if packed {
                            let body = Full::from(sent);
                            over_http2(&mut sender, path, "application/grpc", body).await
                        } else {
                            over_http2(&mut sender, path, "application/grpc", body).await
                        };
                        // 8: RESOURCE_EXHAUSTED, 4: DEADLINE_EXCEEDED. A compressed message is a protocol error, because no compression was
                        // negotiated.
                        let grpc = grpc.expect("a gRPC status");
                        let right =
                            if packed { matches!(&*grpc, "3" | "12" | "13") } else { matches!(&*grpc, "4" | "8") };
                        assert!(right, "plain: {grpc}, compressed: {packed}");
                    }
                });
                join_all(requests).await;
                connection.abort();
            });
            join_all(clients).await;
        });
    };
    let grown = growth(&arena, flood);
    println!("+{} in {:?}", mib(grown), start.elapsed());
    assert!(grown <= GROWTH + NOISE, "+{}", mib(grown));
    arena.goes_on();
}

#[test]
fn a01_a_body_in_tiny_chunks_takes_no_more_than_its_bytes() {
    const BYTES: usize = 1 << 18;
    let _alone = alone();
    let arena = Arena::new(&[]);
    warm_up(&arena);
    let mut wire = arena.wire();
    let grown = growth(&arena, || {
        wire.send(
            "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\n\r\n",
        )
        .unwrap();
        let piece = b"1\r\n \r\n".repeat(1024);
        for _ in 0..BYTES / 1024 {
            wire.send(&piece).unwrap();
        }
        wire.send("0\r\n\r\n").unwrap();
        assert_eq!(wire.answer().unwrap().status, 400);
    });
    println!("+{} for {} in chunks of one byte", mib(grown), mib(BYTES as u64));
    assert!(grown <= 4 * BYTES as u64 + NOISE, "+{}", mib(grown));
}

#[test]
fn a01_small_requests_are_answered_while_large_bodies_fill_the_room() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let holders: Vec<Wire> = (0..4)
        .map(|_| {
            let mut wire = arena.wire();
            wire.send(format!(
                "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 content-length: {LIMIT}\r\n\r\n["
            ))
            .unwrap();
            wire
        })
        .collect();
    // Sends until the connections are closed.
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        arena.goes_on();
    }
    for mut holder in holders {
        let status = holder.answer().unwrap().status;
        assert!(matches!(status, 408 | 429), "{status}");
    }
}
