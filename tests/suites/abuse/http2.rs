//! Floods over HTTP/2: resets, continuations, settings, pings and windows, and answers that are never read. Each ends with the
//! connection closed or costs little; other clients are served during and after it.

use std::io;
use std::time::{Duration, Instant};

use nodesift_api::limits::{FRAME_TIME, H2_STREAMS};
use nodesift_tests::machine::{alone, beside_others};
use nodesift_tests::wire::Wire;
use nodesift_tests::{process, timeout, timing};
use serde_json::json;

use crate::arena::{Arena, about, mib, pending_pods};
use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, HEADERS, OPENING, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, get, goodbye,
    header, post, receive, request,
};

/// Limit on the sidecar's processor time for one flood.
const WORK: Duration = Duration::from_secs(5);
/// Limit on the growth of memory by one flood, its connection's buffers included.
const GROWTH: u64 = 1 << 20;
/// Growth of memory between two measurements that is caused by the allocator.
const NOISE: u64 = 1 << 20;
/// The GOAWAY code of a peer that exceeds its limits.
const ENHANCE_YOUR_CALM: u32 = 11;
/// Frames sent at once.
const BURST: usize = 500;

/// How a flood ended.
struct Ended {
    /// Frames sent until the sidecar closed the connection, or all.
    sent: usize,
    cut: bool,
    goodbye: Option<u32>,
}

/// Sends `frames` frames made by `make`, reads the replies, and checks the costs.
fn flood(arena: &Arena, name: &str, frames: usize, make: impl Fn(usize) -> Vec<u8>) -> Ended {
    const LAST: &[u8; 8] = b"the last";
    let id = arena.sidecar.id();
    let mut wire = arena.wire();
    wire.send(OPENING).unwrap();
    let before = (process::processor_time(id), process::resident_bytes(id));
    process::forget_peak(id);
    let start = Instant::now();
    let mut came = Vec::new();
    wire.read_at_most(Duration::from_millis(1)).unwrap();
    let (mut sent, mut cut) = (0, false);
    while sent < frames && !cut {
        let next = frames.min(sent + BURST);
        let burst: Vec<u8> = (sent..next).flat_map(&make).collect();
        cut = send_reading(&mut wire, &burst, &mut came);
        sent = next;
    }
    // An open connection answers everything before its end; from a closed one the GOAWAY may be read.
    wire.wait_at_most(timeout::limit()).unwrap();
    if !cut {
        cut = wire.send(frame(PING, 0, 0, LAST)).is_err();
    }
    let answered = |came: &[u8]| came.windows(LAST.len()).any(|part| part == LAST);
    while cut || !answered(&came[came.len().saturating_sub(1 << 16)..]) {
        match wire.receive() {
            Ok(more) if !more.is_empty() => came.extend(more),
            _ => {
                cut = true;
                break;
            }
        }
    }
    let goodbye = goodbye(&came);
    let work = process::processor_time(id).saturating_sub(before.0);
    let grown = process::peak_resident_bytes(id).saturating_sub(before.1);
    println!(
        "{name}: {sent} of {frames} frames in {:?}, {work:?} of work, +{}, cut: {cut}, goodbye: {goodbye:?}",
        start.elapsed(),
        mib(grown)
    );
    timing::at_most(name, work, WORK);
    assert!(grown <= GROWTH + NOISE, "{name}: +{}", mib(grown));
    Ended { sent, cut, goodbye }
}

/// Sends a burst and stores the frames received meanwhile. Returns whether the sidecar has closed the connection.
fn send_reading(wire: &mut Wire, burst: &[u8], came: &mut Vec<u8>) -> bool {
    for part in burst.chunks(4096) {
        if wire.send(part).is_err() {
            return true;
        }
        loop {
            match wire.receive() {
                Ok(more) if more.is_empty() => return true,
                Ok(more) => {
                    came.extend_from_slice(&more);
                    if more.len() < 4096 {
                        break;
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
                Err(_) => return true,
            }
        }
    }
    false
}

/// The stream of the n-th request.
fn stream(at: usize) -> u32 {
    u32::try_from(2 * at + 1).unwrap()
}

#[test]
fn a08_floods_of_frames_end_with_the_connection_or_cost_little() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    for _ in 0..3 {
        arena.goes_on();
    }
    let question = about(&pending_pods()[..1]).to_string();
    let cancel = 8_u32.to_be_bytes();
    // Requests that are reset at once: first cheap ones, then ones that are evaluated.
    flood(&arena, "rapid reset", 20_000, |at| {
        [get(stream(at), "/livez"), frame(RST_STREAM, 0, stream(at), &cancel)].concat()
    });
    flood(&arena, "rapid reset of evaluations", 2_000, |at| {
        [post(stream(at), "/v1/filter", &question), frame(RST_STREAM, 0, stream(at), &cancel)].concat()
    });
    // Streams that the sidecar has to reset because their requests are malformed.
    let ended = flood(&arena, "made to reset", 20_000, |at| {
        frame(HEADERS, END_HEADERS, stream(at), &[request("GET", "/livez"), header("connection", "close")].concat())
    });
    assert!(ended.cut, "closed after {} malformed streams", ended.sent);

    let ended = flood(&arena, "CONTINUATION", 20_000, |at| match at {
        0 => frame(HEADERS, 0, 1, &request("GET", "/livez")),
        _ => frame(CONTINUATION, 0, 1, &header("x-more", &"x".repeat(500))),
    });
    assert!(ended.cut && ended.sent < 2_000, "{}", ended.sent);
    let ended = flood(&arena, "empty CONTINUATION", 100_000, |at| match at {
        0 => frame(HEADERS, 0, 1, &request("GET", "/livez")),
        _ => frame(CONTINUATION, 0, 1, &[]),
    });
    assert!(ended.cut, "a head without an end");

    // So many control frames take minutes at the pace that a connection has in the long run.
    let ended = flood(&arena, "SETTINGS, read", 50_000, |_| frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]));
    assert!(ended.cut, "settings without an end");
    let ended = flood(&arena, "PING, read", 50_000, |at| frame(PING, 0, 0, &(at as u64).to_be_bytes()));
    assert!(ended.cut, "pings without an end");
    let ended = flood(&arena, "windows", 50_000, |_| frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()));
    assert!(ended.cut && ended.goodbye == Some(ENHANCE_YOUR_CALM), "windows without an end");
    let ended = flood(&arena, "a window too wide", 10, |_| frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()));
    assert_eq!(ended.goodbye, Some(3), "FLOW_CONTROL_ERROR");
    let ended = flood(&arena, "empty DATA", 100_000, |at| match at {
        0 => frame(HEADERS, END_HEADERS, 1, &request("POST", "/v1/filter")),
        _ => frame(DATA, 0, 1, &[]),
    });
    assert!(ended.cut, "a body of nothing without an end");
    arena.goes_on();
}

#[test]
fn a08_whoever_never_reads_is_cut_off() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    let id = arena.sidecar.id();
    let before = process::open_files(id);
    // The replies fill the buffers. Then the sidecar reads no more, and its write timeout runs.
    type Flood = fn(usize) -> Vec<u8>;
    let floods: [(&str, Flood); 3] = [
        ("SETTINGS", |_| frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])),
        ("PING", |at| frame(PING, 0, 0, &(at as u64).to_be_bytes())),
        ("answers", |at| get(stream(at), "/metrics")),
    ];
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (name, make) in floods {
            let arena = &arena;
            scope.spawn(move || {
                let mut wire = arena.wire();
                wire.send(OPENING).unwrap();
                // The largest possible window: only the socket shows that the client does not read.
                wire.send(frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff])).unwrap();
                wire.send(frame(WINDOW_UPDATE, 0, 0, &0x7000_0000_u32.to_be_bytes())).unwrap();
                wire.wait_at_most(timeout::limit()).unwrap();
                let mut sent = 0;
                let end = Instant::now() + timeout::limit();
                while wire.send((sent..sent + BURST).flat_map(make).collect::<Vec<u8>>()).is_ok() {
                    sent += BURST;
                    assert!(Instant::now() < end, "{name}: {sent} frames, and never closed");
                }
                println!("{name}: closed after {sent} frames and {:?}", start.elapsed());
            });
        }
        // Windows that are never opened, and streams up to the limit with answers of some hundred kilobytes each.
        scope.spawn(|| {
            let mut wire = arena.wire();
            wire.send(OPENING).unwrap();
            wire.send(frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])).unwrap();
            let question = json!({"pods": &pending_pods()[..8], "detail": "DETAIL_NODES"}).to_string();
            for at in 0..H2_STREAMS as usize {
                wire.send(post(stream(at), "/v1/filter", &question)).unwrap();
            }
            wire.wait_at_most(timeout::limit()).unwrap();
            let begun = Instant::now();
            // Meanwhile the client answers pings.
            while let Ok(came) = receive(&mut wire) {
                if came.kind == PING && came.flags == 0 {
                    drop(wire.send(frame(PING, 1, 0, &came.payload)));
                }
            }
            let time = begun.elapsed();
            println!("closed windows: connection closed after {time:?}");
            timing::at_most("a connection behind a closed window", time, FRAME_TIME + Duration::from_secs(3));
        });
        // Other clients are served.
        arena.goes_on();
    });
    timing::at_most("all connections behind closed windows", start.elapsed(), Duration::from_secs(20));
    timeout::until(|| (process::open_files(id) <= before).then_some(())).expect("the connections are closed");
    arena.goes_on();
}

#[test]
fn a08_a_slow_reader_with_open_windows_is_not_cut_off() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    wire.send(OPENING).unwrap();
    let question = json!({"pods": pending_pods(), "detail": "DETAIL_NODES"}).to_string();
    wire.send(post(1, "/v1/filter", &question)).unwrap();
    // The window of a stream is 64 KiB. It is opened in small steps, for longer than the timeout of a stalled answer.
    let (mut ended, mut bytes, start) = (false, 0, Instant::now());
    while !ended {
        let came = receive(&mut wire).expect("the answer continues");
        if came.kind == DATA {
            bytes += came.payload.len();
            ended = came.flags & 1 == 1;
            let more = u32::try_from(came.payload.len().max(1)).unwrap().to_be_bytes();
            wire.send([frame(WINDOW_UPDATE, 0, 1, &more), frame(WINDOW_UPDATE, 0, 0, &more)].concat()).unwrap();
            if start.elapsed() < FRAME_TIME + Duration::from_secs(1) {
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
        assert_eq!((came.kind == DATA && came.stream != 1, came.kind == RST_STREAM), (false, false));
    }
    println!("{bytes} bytes in {:?}", start.elapsed());
    assert!(bytes > 64 * 1024);
}
