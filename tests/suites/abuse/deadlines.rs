//! A request ends at its deadline, whatever it waits for.

use std::time::{Duration, Instant};

use nodesift_api::limits::CONSISTENCY_WAIT;
use nodesift_tests::machine::beside_others;
use nodesift_tests::wire::Wire;
use nodesift_tests::{timeout, timing};
use serde_json::{Value, json};

use crate::arena::{Arena, about, node_names, pending_objects, pending_pods};
use crate::silent::{announcement, is_timeout};

#[test]
fn a_request_ends_at_its_deadline_whatever_it_waits_for() {
    let _beside = beside_others();
    // Deadlines are promises in seconds; none ends too early on however slow a machine.
    const TIME: Duration = Duration::from_millis(600);
    let time = timeout::scaled(TIME);
    let arena = Arena::new(&["--request-timeout", &format!("{}ms", time.as_millis())]);
    let waited = |start: Instant| {
        let waited = start.elapsed();
        assert!(waited >= time * 9 / 10, "{waited:?}");
        timing::at_most("a request whose body never comes", waited, TIME);
    };
    // The body, whose time begins with the head.
    for endpoint in arena.endpoints() {
        let (mut wire, start) = (Wire::open(&endpoint).unwrap(), Instant::now());
        let head = announcement("/v1/filter", 1000);
        let (first, second) = head.split_at(20);
        wire.send(first).unwrap();
        wire.wait_at_most(time / 3).unwrap();
        assert!(is_timeout(&wire.receive().unwrap_err()));
        wire.send(second).unwrap();
        wire.wait_at_most(time / 10).unwrap();
        let answer = loop {
            match wire.receive() {
                Ok(came) => break came,
                Err(error) if is_timeout(&error) => drop(wire.send(" ")),
                Err(error) => panic!("{error}"),
            }
            assert!(start.elapsed() < timeout::limit(), "never answered");
        };
        assert!(answer.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&answer));
        waited(start);
    }
    // The version.
    let ask = |consistency: Value, more: Value, header: &str| {
        let mut question = about(&pending_pods()[..1]);
        question["consistency"] = consistency;
        if !more.is_null() {
            question["timeoutMs"] = more;
        }
        let question = question.to_string();
        let head = announcement("/v1/filter", question.len()).replacen("\r\n", &format!("\r\n{header}"), 1);
        let (mut wire, start) = (arena.wire(), Instant::now());
        wire.send(format!("{head}{question}")).unwrap();
        let answer = wire.answer().unwrap();
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (504, &json!("DEADLINE_EXCEEDED")));
        start.elapsed()
    };
    let never = |wait: Value| json!({"minGeneration": "1000000000000", "deadlineMs": wait});
    assert!(ask(never(Value::Null), Value::Null, "") >= CONSISTENCY_WAIT.min(time * 9 / 10));
    // A wait that is asked for takes its own time, unless the client shortens the whole.
    let long = 2 * time;
    assert!(ask(never(json!(long.as_millis())), Value::Null, "") >= long);
    for (field, header) in
        [(json!(50), ""), (Value::Null, "grpc-timeout: 50m\r\n"), (Value::Null, "Request-Timeout: 0.05\r\n")]
    {
        let waited = ask(never(json!(30_000)), field, header);
        assert!(waited >= Duration::from_millis(50), "{waited:?}");
        timing::at_most("a request with a deadline of its own", waited, Duration::from_millis(50));
    }
    // The extender has headers too; one that is no time is refused by name.
    let mut wire = arena.wire();
    let call = json!({"Pod": pending_objects().swap_remove(0), "NodeNames": node_names()}).to_string();
    let head = announcement("/extender/filter", call.len());
    wire.send(format!("{}{call}", head.replacen("\r\n", "\r\nrequest-timeout: 0\r\n", 1))).unwrap();
    let answer = wire.answer().unwrap();
    let refused = answer.status == 408 || answer.json()["Error"].as_str().is_some_and(|error| !error.is_empty());
    assert!(refused, "{}", answer.text());
    let mut wire = arena.wire();
    wire.send(format!("{}{call}", head.replacen("\r\n", "\r\ngrpc-timeout: soon\r\n", 1))).unwrap();
    let answer = wire.answer().unwrap();
    assert!(answer.status == 400 && answer.text().contains("grpc-timeout"), "{}", answer.text());
    arena.goes_on();
}
