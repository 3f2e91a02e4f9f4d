//! Signals: SIGTERM under load, a second one, SIGINT, SIGHUP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nodesift_tests::guest::Guest;
use nodesift_tests::http::{Endpoint, get, post};
use nodesift_tests::machine::{alone, beside_others};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::wire::Wire;
use nodesift_tests::{timeout, timing};

use crate::frames::{self, END_HEADERS, END_STREAM, OPENING, frame, header};
use crate::running::{Breakable, command, metric, question};

/// Requests in flight when the signal comes, and the bytes of each body.
const IN_FLIGHT: usize = 50;
const BODY_BYTES: usize = 16 << 10;
/// Limit on the time from the signal to the end.
const GRACE: Duration = Duration::from_secs(10);
/// Limit on the time from a second signal to the end.
const AT_ONCE: Duration = Duration::from_secs(2);

const GOAWAY: u8 = 7;

/// A request with a body of [`BODY_BYTES`].
fn body(number: usize) -> String {
    let mut body = question(number).to_string();
    body.push_str(&" ".repeat(BODY_BYTES - body.len()));
    body
}

/// P-01 of the reliability plan: SIGTERM under load.
#[test]
fn sigterm_ends_readiness_first_and_cuts_no_request() {
    let _alone = alone();
    let sidecar = Sidecar::start(command(), &["--request-timeout", "20s"]);
    // Half of a body each.
    let mut halves: Vec<(Wire, String)> = (0..IN_FLIGHT)
        .map(|number| {
            let endpoint = if number % 2 == 0 { sidecar.tcp() } else { sidecar.unix() };
            let (mut wire, body) = (Wire::open(&endpoint).unwrap(), body(number));
            let head = format!(
                "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let (first, second) = body.split_at(BODY_BYTES / 2);
            wire.send(format!("{head}{first}")).unwrap();
            (wire, second.to_owned())
        })
        .collect();
    // The same over HTTP/2, where the end of accepting is told by GOAWAY.
    let mut stream = Wire::open(&sidecar.tcp()).unwrap();
    let headers = [frames::request("POST", "/v1/filter"), header("content-type", "application/json")].concat();
    stream.send([OPENING, &frame(frames::HEADERS, END_HEADERS, 1, &headers)].concat()).unwrap();
    let all = || (metric(&sidecar, "nodesift_api_requests_in_flight") > IN_FLIGHT as f64 + 1.0).then_some(());
    timeout::until(all).expect("all requests are in flight");

    let signalled = Instant::now();
    sidecar.signal("TERM");
    // New connections are still accepted for a moment, so that whoever polls readiness sees it end.
    let not_ready = || match get(&sidecar.unix(), "/readyz") {
        Ok(answer) => (answer.status == 503).then(|| answer.body.clone()),
        Err(_) => Some("refused before it was seen".to_owned()),
    };
    assert_eq!(timeout::until(not_ready).as_deref(), Some("shutting down\n"));
    for (wire, rest) in &mut halves {
        wire.send(rest).unwrap();
    }
    let mut refused = 0;
    for (wire, _) in &mut halves {
        let answer = wire.answer().expect("no answer is cut");
        match answer.status {
            200 => assert_eq!(answer.json()["pods"].as_array().map(Vec::len), Some(1)),
            // All come at once, and a slow machine has no slot for some of them in time.
            429 => refused += 1,
            status => panic!("{status}: {}", answer.text()),
        }
    }
    println!("{refused} of {IN_FLIGHT} refused");
    assert!(refused < IN_FLIGHT);
    let mut goes_away = false;
    while !goes_away {
        goes_away = frames::receive(&mut stream).expect("GOAWAY before the end").kind == GOAWAY;
    }
    let text = body(IN_FLIGHT);
    stream.send(frame(frames::DATA, END_STREAM, 1, text.as_bytes())).unwrap();
    let mut answered = false;
    while !answered {
        let came = frames::receive(&mut stream).expect("the stream is answered after GOAWAY");
        answered = came.stream == 1 && came.kind == frames::DATA && came.flags & END_STREAM != 0;
    }
    // A client that answers no pings, as this one, ends its connection itself.
    drop((stream, halves));
    let (status, output) = sidecar.wait();
    let took = signalled.elapsed();
    println!("ended {took:?} after SIGTERM");
    assert_eq!(status.code(), Some(0), "{output}");
    timing::at_most("the end after SIGTERM", took, GRACE);
    assert!(!output.contains("cut off"), "{output}");
}

/// P-01: a guest that nothing interrupts, because the clock has stopped too, does not keep the process.
#[test]
fn a_stuck_guest_does_not_hold_up_the_end() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let spin = Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)");
    std::fs::write(folder.path().join("guest.wasm"), spin.component()).unwrap();
    let policy = folder.path().join("policy.yaml");
    let text = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  \
                schedulerNames: [default-scheduler]\n  predicates:\n  \
                - {name: Own, module: {path: guest.wasm}}\n";
    std::fs::write(&policy, text).unwrap();
    let breakable = Breakable::start(&["--policy", policy.to_str().unwrap()]);
    let unix = breakable.sidecar.unix();
    let over = AtomicBool::new(false);
    let (status, took) = std::thread::scope(|scope| {
        // Some guest runs at any time.
        for client in 0..4 {
            let (unix, over) = (&unix, &over);
            scope.spawn(move || {
                for number in 0.. {
                    // Refused or cut off once the clock has stopped and at the end.
                    let _ = post(unix, "/v1/filter", question(client * 1_000 + number % 1_000).to_string());
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        let busy = || (metric(&breakable.sidecar, "nodesift_api_evaluations") > 0.0).then_some(());
        timeout::until(busy).expect("guests run");
        breakable.breaks("epoch-clock");
        let signalled = Instant::now();
        breakable.sidecar.signal("TERM");
        let (status, _) = breakable.sidecar.wait();
        over.store(true, Ordering::Relaxed);
        (status, signalled.elapsed())
    });
    println!("ended {took:?} after SIGTERM");
    assert_eq!(status.code(), Some(0));
    timing::at_most("the end after SIGTERM", took, GRACE);
}

/// P-02 of the reliability plan: a second signal.
#[test]
fn a_second_signal_ends_it_at_once_whichever_the_two_are() {
    let _alone = alone();
    for (first, second) in [("TERM", "TERM"), ("INT", "TERM"), ("TERM", "INT"), ("INT", "INT")] {
        let sidecar = Sidecar::start(command(), &[]);
        let socket = sidecar.socket.clone();
        // It keeps the drain waiting.
        let mut wire = Wire::open(&sidecar.unix()).unwrap();
        wire.send(
            "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
        )
        .unwrap();
        let held = || (metric(&sidecar, "nodesift_api_requests_in_flight") > 1.0).then_some(());
        timeout::until(held).expect("the request is in flight");
        sidecar.signal(first);
        timeout::until(|| sidecar.output().contains("shutting down").then_some(())).expect("it drains");
        let signalled = Instant::now();
        sidecar.signal(second);
        let (status, output) = sidecar.wait();
        let took = signalled.elapsed();
        assert_eq!(status.code(), Some(1), "SIG{first}, SIG{second}: {output}");
        assert!(output.contains(&format!("SIG{second}")), "{output}");
        timing::at_most("the end after a second signal", took, AT_ONCE);
        assert!(!socket.exists() && !socket.with_extension("sock.lock").exists(), "SIG{first}, SIG{second}");
    }
}

#[test]
fn sighup_does_not_end_it_and_has_no_effect_without_certificates() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &[]);
    for count in 1..=3 {
        sidecar.signal("HUP");
        let told = || (sidecar.output().matches("SIGHUP").count() >= count).then_some(());
        timeout::until(told).expect("a log line");
    }
    assert_eq!(get(&sidecar.unix(), "/readyz").unwrap().status, 200);
}

#[test]
fn sighup_while_it_starts_does_not_end_it_either() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s.sock");
    let mut child = command()
        .args(["serve", "--sample", "--no-tcp", "--socket"])
        .arg(&socket)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The handler is there once the kernel reports that the process catches SIGHUP, the first of all signals.
    let catches = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        (u64::from_str_radix(&caught, 16).unwrap() & 1 != 0).then_some(())
    };
    timeout::until(catches).expect("it catches SIGHUP");
    let sent = std::process::Command::new("sh").args(["-c", &format!("kill -HUP {}", child.id())]).status();
    assert!(sent.unwrap().success());
    let unix = Endpoint::Unix(socket);
    let ready = timeout::until(|| get(&unix, "/readyz").ok().filter(|answer| answer.status == 200));
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ready.is_some(), "{ended:?}");
}
