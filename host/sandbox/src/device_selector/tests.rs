//! Calls of a component whose answers follow from the first letter of the expression, and from `allow-multiple-allocations` of
//! devices.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use crate::Runtime;
use crate::fault::FaultKind;
use crate::limits::SELECTOR_CALLS;

/// `n`: no paths; `e`: no expression; `d`: in a dialect with lists no paths, and no expression; `l`: does not end; `t`: traps; `g`: takes
/// memory; `c`: one outcome too few.
const COMPONENT: &str = include_str!("tests/component.wat");

const DIALECT: Dialect = Dialect { lists: false, includes: true };

fn selector() -> (Runtime, DeviceSelector) {
    let runtime = Runtime::start(None).unwrap();
    let selector = runtime.load_device_selector(&wat::parse_str(COMPONENT).unwrap(), DIALECT).unwrap();
    (runtime, selector)
}

fn device(matches: bool) -> SelectedDevice<'static> {
    let attributes = vec![("a", SelectedValue::Text("b")), ("c", SelectedValue::Int(1))];
    SelectedDevice { driver: "d", allow_multiple_allocations: matches, attributes, capacities: vec![("m", "1Gi")] }
}

#[test]
fn paths_and_outcomes_cross() {
    let (_runtime, selector) = selector();
    let name = QualifiedName { domain: "d".to_owned(), name: "n".to_owned() };
    assert_eq!(selector.paths("x").unwrap(), Ok(Some(vec![Path::Driver, Path::Attribute(name)])));
    assert_eq!(selector.paths("n").unwrap(), Ok(None));
    assert_eq!(selector.paths("e").unwrap(), Err("bad".to_owned()));
    let devices: Vec<_> = (0..300).map(|number| device(number % 3 == 0)).collect();
    let outcomes = selector.matches("x", &devices).unwrap();
    assert_eq!(outcomes.len(), devices.len());
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(*outcome, if number % 3 == 0 { Outcome::Yes } else { Outcome::No }, "{number}");
    }
    assert_eq!(selector.matches("e", &[device(true)]).unwrap(), [Outcome::Error("bad".to_owned())]);
    assert_eq!(selector.matches("x", &[]).unwrap(), []);
}

#[test]
fn the_dialect_crosses_with_both_calls() {
    let (runtime, selector) = selector();
    let lists = Dialect { lists: true, includes: false };
    let other = runtime.load_device_selector(&wat::parse_str(COMPONENT).unwrap(), lists).unwrap();
    assert!(matches!(selector.paths("d").unwrap(), Ok(Some(_))));
    assert_eq!(other.paths("d").unwrap(), Ok(None));
    assert_eq!(selector.matches("d", &[device(true)]).unwrap(), [Outcome::Yes]);
    assert_eq!(other.matches("d", &[device(true)]).unwrap(), [Outcome::Error("bad".to_owned())]);
}

#[test]
fn a_fault_ends_one_call_and_the_next_has_a_fresh_instance() {
    let (_runtime, selector) = selector();
    for (expression, kind, detail) in [
        ("l", FaultKind::Deadline, "more than 50 ms for the devices of one call"),
        ("t", FaultKind::Trap, "unreachable"),
        ("g", FaultKind::Memory, "more than 16 MiB of memory"),
        ("c", FaultKind::MalformedVerdict, "1 outcomes for 2 devices"),
    ] {
        let fault = selector.matches(expression, &[device(true), device(true)]).unwrap_err();
        assert_eq!(fault.kind, kind, "{expression}: {fault}");
        assert!(fault.detail.contains(detail), "{fault}");
        assert_eq!(selector.component.waiting(), 0, "{expression}: the instance is dropped");
        assert_eq!(selector.matches("x", &[device(true)]).unwrap(), [Outcome::Yes], "after {expression}");
        assert_eq!(selector.component.waiting(), 1);
    }
    let fault = selector.paths("t").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Trap);
}

#[test]
fn no_call_is_made_while_nothing_could_end_it() {
    let (runtime, selector) = selector();
    runtime.pulse().suspend(true);
    assert_eq!(selector.matches("x", &[device(true)]).unwrap_err().kind, FaultKind::ClockStopped);
    runtime.pulse().suspend(false);
    assert!(selector.paths("x").is_ok());
}

#[test]
fn calls_of_many_threads_have_at_most_as_many_instances_as_turns() {
    let (_runtime, selector) = selector();
    std::thread::scope(|scope| {
        for _ in 0..3 * SELECTOR_CALLS {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(
                        selector.matches("x", &[device(true), device(false)]).unwrap(),
                        [Outcome::Yes, Outcome::No]
                    );
                }
            });
        }
    });
    assert!(selector.component.waiting() <= SELECTOR_CALLS as usize);
}

#[test]
fn another_component_is_refused() {
    let runtime = Runtime::start(None).unwrap();
    let load =
        |text: &str| runtime.load_device_selector(&wat::parse_str(text).unwrap(), DIALECT).unwrap_err().to_string();
    assert!(load("(component)").contains("no export nodesift:device-selector/device-selector@0.1.0"));
    let predicate = r#"(component (import "nodesift:predicate/node-labels@0.2.0" (instance (export "f" (func)))))"#;
    assert!(load(predicate).contains("reads no facts: node-labels"));
    let wasi = r#"(component (import "wasi:clocks/wall-clock@0.2.0" (instance (export "now" (func)))))"#;
    assert!(load(wasi).contains("wasi:clocks/wall-clock@0.2.0"));
    let other = COMPONENT.replace(r#"(case "no")"#, r#"(case "maybe")"#);
    assert_ne!(other, COMPONENT);
    assert!(load(&other).contains("does not fit the contract"));
}
