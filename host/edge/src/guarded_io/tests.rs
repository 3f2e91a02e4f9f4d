//! Peers that send nothing, do not read, or send too many control frames.
#![allow(clippy::unwrap_used)]
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

use super::*;
use crate::frames::{DATA, HEADERS, PREFACE};

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_peer_that_sends_nothing_or_part_of_a_preface_times_out() {
    for sent in [&b""[..], b"PRI", &PREFACE[..23]] {
        let (mut peer, io) = duplex(64);
        peer.write_all(sent).await.unwrap();
        let error = GuardedIo::with(io, SHORT, LONG).read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "after {sent:?}");
    }
}

#[tokio::test]
async fn a_known_protocol_has_its_own_timeouts() {
    for sent in [&b"POST"[..], b"G", PREFACE] {
        let (mut peer, io) = duplex(64);
        let mut guarded = GuardedIo::with(io, SHORT, LONG);
        peer.write_all(sent).await.unwrap();
        guarded.read_exact(&mut vec![0; sent.len()]).await.unwrap();
        assert!(guarded.opening.is_none(), "after {sent:?}");
    }
}

#[tokio::test]
async fn a_peer_that_does_not_read_times_out() {
    let (_peer, io) = duplex(8);
    let error = GuardedIo::with(io, LONG, SHORT).write_all(&[0; 64]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_flush_of_nothing_keeps_the_timer_of_a_write() {
    let (_peer, io) = duplex(8);
    let mut guarded = GuardedIo::with(io, LONG, SHORT);
    let outcome = std::future::poll_fn(|cx| {
        let outcome = Pin::new(&mut guarded).poll_write(cx, &[0; 64]);
        let flushed = Pin::new(&mut guarded).poll_flush(cx);
        assert!(flushed.is_ready(), "a pipe has nothing to flush");
        match outcome {
            Poll::Ready(Ok(_)) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            other => other,
        }
    });
    assert_eq!(outcome.await.unwrap_err().kind(), io::ErrorKind::TimedOut);
}

fn frame(kind: u8, payload: usize) -> Vec<u8> {
    let [.., high, middle, low] = payload.to_be_bytes();
    [vec![high, middle, low, kind, 0, 0, 0, 0, 0], vec![7; payload]].concat()
}

/// Sends these frames in pieces of some length, and returns how many bytes are read of them, and what comes back.
async fn sent(frames: &[u8], piece: usize) -> (usize, Vec<u8>) {
    let (mut peer, io) = duplex(1 << 20);
    let mut io = GuardedIo::with(io, LONG, LONG);
    let bytes = [PREFACE, frames].concat();
    let reading = tokio::spawn(async move {
        let (mut read, mut buffer) = (0, [0; 1024]);
        while let Ok(count @ 1..) = io.read(&mut buffer).await {
            read += count;
        }
        read
    });
    for piece in bytes.chunks(piece) {
        peer.write_all(piece).await.unwrap();
    }
    peer.shutdown().await.unwrap();
    let mut back = Vec::new();
    peer.read_to_end(&mut back).await.unwrap();
    (reading.await.unwrap(), back)
}

#[tokio::test(start_paused = true)]
async fn so_many_control_frames_are_read_and_one_more_is_answered_by_goaway() {
    let most = limits::CONTROL_FRAMES as usize;
    for kind in [2, 4, 6, 8, 77] {
        let enough = frame(kind, 8).repeat(most);
        assert_eq!(sent(&enough, 4096).await, (PREFACE.len() + enough.len(), Vec::new()), "kind {kind}");
        let more = frame(kind, 8).repeat(most + 1);
        let (read, back) = sent(&more, 4096).await;
        assert!(read < PREFACE.len() + more.len(), "kind {kind}");
        assert_eq!(back, GOODBYE, "kind {kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn frames_are_counted_wherever_the_bytes_are_cut() {
    let most = limits::CONTROL_FRAMES as usize;
    for piece in [1, 2, 7, 9, 17, 23, 1000] {
        let enough = frame(6, 8).repeat(most);
        assert_eq!(sent(&enough, piece).await.1, b"", "in pieces of {piece}");
        assert_eq!(sent(&frame(6, 8).repeat(most + 1), piece).await.1, GOODBYE, "in pieces of {piece}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_and_responses_lead_to_control_frames_and_those_count_for_nothing() {
    let exchange = [frame(HEADERS, 20), frame(DATA, 100), frame(8, 4), frame(8, 4), frame(6, 8)].concat();
    let all = exchange.repeat(2 * limits::CONTROL_FRAMES as usize);
    assert_eq!(sent(&all, 4096).await, (PREFACE.len() + all.len(), Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_body_leads_to_no_control_frames_and_its_tiny_frames_count_as_some() {
    let most = limits::CONTROL_FRAMES as usize;
    let body = |of: &[Vec<u8>]| [frame(HEADERS, 20), of.concat().repeat(most)].concat();
    let (ping, tiny) = (frame(6, 8), frame(DATA, limits::TINY_DATA_BYTES - 1));
    for all in [
        body(&[frame(DATA, 1), ping.clone()]),
        body(&[frame(DATA, 100), ping.clone(), ping]),
        body(&[tiny.clone(), tiny]),
    ] {
        let (read, back) = sent(&all, 4096).await;
        assert!(read < PREFACE.len() + all.len());
        assert_eq!(back, GOODBYE);
    }
    // A stream of the smallest messages goes on for ever.
    let all = body(&[frame(DATA, limits::TINY_DATA_BYTES), frame(DATA, limits::TINY_DATA_BYTES)]);
    assert_eq!(sent(&all, 4096).await, (PREFACE.len() + all.len(), Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_http_2_is_passed_on_as_it_is() {
    let (mut peer, io) = duplex(1 << 20);
    let bytes = [&b"POST /v1/filter HTTP/1.1\r\n\r\n"[..], &frame(6, 8).repeat(10_000)].concat();
    peer.write_all(&bytes).await.unwrap();
    drop(peer);
    let mut read = Vec::new();
    GuardedIo::with(io, LONG, LONG).read_to_end(&mut read).await.unwrap();
    assert_eq!(read, bytes);
}
