//! Kept outcomes: which calls they save, what is not kept, and their limits. The evaluator is what the component is made of, called
//! natively.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod native;
mod random;

use nodesift_object::device::Attribute;
use nodesift_sandbox::fault::FaultKind;

use super::*;
use crate::limits::{SELECTOR_BATCH_DEVICES, SELECTOR_BATCH_SPLIT, SELECTOR_BYTES, SELECTOR_EXPRESSIONS};
use native::{Native, TestDevice};

const MODEL: &str = "device.attributes['d'].model == 'a'";
const UUID: &str = "device.attributes['d'].uuid.startsWith('u')";
const ANYTHING: &str = "device.attributes['d'].exists(k, v, k == 'model' && v == 'a')";

/// A device with a model and an identity of its own.
fn device(id: u32, model: &str) -> Arc<TestDevice> {
    let attributes = [("model", model.to_owned()), ("uuid", format!("u{id}"))];
    let attributes = attributes.map(|(name, text)| (name.to_owned(), Attribute::String(text)));
    Arc::new(TestDevice { id, driver: "d".to_owned(), attributes: attributes.into(), ..TestDevice::default() })
}

fn ask(selectors: &Selectors, list: &[&str], devices: &[Arc<TestDevice>]) -> Vec<Answer> {
    ask_within(selectors, list, devices, Duration::MAX).unwrap()
}

/// Asks for outcomes within a limit of processor time.
fn ask_within(
    selectors: &Selectors,
    list: &[&str],
    devices: &[Arc<TestDevice>],
    time: Duration,
) -> Result<Vec<Answer>, NoValue> {
    let known = selectors.known(list, devices.iter().map(|device| device.id));
    let answers = selectors.outcomes(list, devices.iter(), time);
    assert!(known.is_none_or(|known| answers.as_ref().is_ok_and(|answers| known == matching(answers))), "{list:?}");
    answers
}

/// Whether each device matches.
fn matching(answers: &[Answer]) -> Vec<bool> {
    answers.iter().map(|answer| *answer == Answer::Yes).collect()
}

fn error(text: &str) -> Answer {
    Answer::Error(text.into())
}

/// Devices with models of one batch, and one more.
fn batch_and_one() -> Vec<Arc<TestDevice>> {
    let count = u32::try_from(SELECTOR_BATCH_DEVICES).unwrap() + 1;
    (0..count).map(|id| device(id, "a")).collect()
}

#[test]
fn the_first_selector_that_does_not_match_or_fails_decides() {
    let (_, selectors) = Native::selectors();
    let devices = [device(0, "a"), device(1, "b")];
    let (missing, no_expression) = ("device.attributes['d'].none == 'a'", "device.");
    let failed = |number| format!("selector #{number}: CEL runtime error: no such key: none");
    let compile = nodesift_cel::Program::compile(no_expression).unwrap_err();
    let refused = |number| format!("selector #{number}: CEL compile error: {compile}");
    for (list, first, second) in [
        (&[][..], Answer::Yes, Answer::Yes),
        (&[MODEL], Answer::Yes, Answer::No),
        (&[UUID, MODEL], Answer::Yes, Answer::No),
        (&[MODEL, missing], error(&failed(1)), Answer::No),
        (&[missing, MODEL], error(&failed(0)), error(&failed(0))),
        (&[MODEL, no_expression, missing], error(&refused(1)), Answer::No),
        (&[no_expression], error(&refused(0)), error(&refused(0))),
        (&["false", no_expression], Answer::No, Answer::No),
    ] {
        for _ in 0..2 {
            assert_eq!(ask(&selectors, list, &devices), [first.clone(), second.clone()], "{list:?}");
        }
    }
    assert_eq!(ask(&selectors, &[MODEL], &[]), []);
}

#[test]
fn an_expression_is_evaluated_once_per_value_of_what_it_reads() {
    let (native, selectors) = Native::selectors();
    let devices: Vec<_> = (0..100).map(|id| device(id, ["a", "b"][id as usize % 2])).collect();
    for (expression, evaluated) in [(MODEL, 2), (UUID, 100), (ANYTHING, 100)] {
        ask(&selectors, &[expression], &devices);
        assert_eq!(native.evaluated(expression), evaluated, "{expression}");
        ask(&selectors, &[expression], &devices);
        assert_eq!(native.evaluated(expression), evaluated, "{expression}: known by the number of the device");
        ask(&selectors, &[expression, expression], &devices[..10]);
        assert_eq!(native.evaluated(expression), evaluated, "{expression}: in another list");
    }
    // Other devices with known values.
    let others: Vec<_> = (100..200).map(|id| device(id, "a")).collect();
    assert_eq!(ask(&selectors, &[MODEL], &others), vec![Answer::Yes; 100]);
    assert_eq!(native.evaluated(MODEL), 2);
    assert_eq!(native.evaluated("true"), 1, "of all, whether they have values that cannot be seen");
}

#[test]
fn a_device_without_a_number_is_evaluated_by_its_values() {
    let (native, selectors) = Native::selectors();
    let devices = [device(u32::MAX, "a"), device(u32::MAX, "b")];
    for _ in 0..2 {
        for expression in [MODEL, ANYTHING] {
            assert_eq!(ask(&selectors, &[expression], &devices), [Answer::Yes, Answer::No], "{expression}");
        }
    }
    assert_eq!((native.evaluated(MODEL), native.evaluated(ANYTHING)), (2, 4));
}

#[test]
fn a_value_that_cannot_be_seen_fails_every_expression() {
    let (native, selectors) = Native::selectors();
    let with = |id, value| {
        let mut device = TestDevice::clone(&device(id, "a"));
        device.attributes.push(("other".to_owned(), value));
        Arc::new(device)
    };
    let version = |text: &str| Attribute::Version(text.to_owned());
    let devices = [with(0, Attribute::Unsupported), with(1, version("1")), with(2, version("1.0.0"))];
    let answers = [
        error("selector #0: CEL runtime error: attribute other: unsupported attribute value"),
        error("selector #0: CEL runtime error: attribute other: parse semantic version"),
        Answer::Yes,
    ];
    for expression in [MODEL, UUID, ANYTHING, "true"] {
        assert_eq!(ask(&selectors, &[expression], &devices), answers, "{expression}");
    }
    assert_eq!(native.evaluated(MODEL), 1, "the others have their error already");
}

#[test]
fn a_fault_of_an_expression_is_the_error_of_its_devices_and_is_not_kept() {
    let (native, selectors) = Native::selectors();
    let devices = batch_and_one();
    ask(&selectors, &[MODEL], &devices);
    // The second batch faults.
    native.fail_after(1, FaultKind::Memory);
    let mut answers = ask(&selectors, &[MODEL, UUID], &devices);
    assert_eq!(answers.pop(), Some(error("selector #1: CEL runtime error: Memory: test")));
    assert_eq!(answers, vec![Answer::Yes; SELECTOR_BATCH_DEVICES]);
    let calls = native.calls();
    native.recover();
    assert_eq!(ask(&selectors, &[UUID], &devices[..10]), vec![Answer::Yes; 10]);
    assert_eq!(ask(&selectors, &[UUID], &devices).last(), Some(&error("selector #0: CEL runtime error: Memory: test")));
    assert_eq!(native.calls(), calls, "it is not tried again at once");
    assert_eq!(ask(&selectors, &[ANYTHING], &devices[..1]), [Answer::Yes], "another expression");
}

#[test]
fn nothing_is_said_where_others_use_the_component_and_what_was_evaluated_is_kept() {
    let devices = batch_and_one();
    for kind in [FaultKind::Overloaded, FaultKind::ClockStopped] {
        let (native, selectors) = Native::selectors();
        ask(&selectors, &[MODEL], &devices);
        // The second batch faults, and then the rest of it.
        native.fail_after(1, kind);
        for _ in 0..2 {
            let answers = ask_within(&selectors, &[MODEL, UUID], &devices, Duration::MAX);
            assert_eq!(answers, Err(NoValue::Overloaded), "{kind:?}");
            assert_eq!(native.evaluated(UUID), SELECTOR_BATCH_DEVICES, "{kind:?}");
            native.fail_after(0, kind);
        }
        // One that has not been read yet.
        assert_eq!(ask_within(&selectors, &["true"], &devices[..1], Duration::MAX), Err(NoValue::Overloaded));
        native.recover();
        assert_eq!(ask(&selectors, &[MODEL, UUID], &devices), vec![Answer::Yes; devices.len()]);
        assert_eq!(native.evaluated(UUID), devices.len(), "those of the first batch were kept");
        assert_eq!(ask(&selectors, &["true"], &devices[..1]), [Answer::Yes]);
    }
}

#[test]
fn devices_that_take_too_long_together_are_evaluated_one_by_one() {
    let (native, selectors) = Native::selectors();
    let devices = batch_and_one();
    ask(&selectors, &[MODEL], &devices);
    let calls = native.calls();
    native.slow_from(2);
    assert_eq!(ask(&selectors, &[UUID], &devices), vec![Answer::Yes; devices.len()]);
    assert_eq!(native.evaluated(UUID), devices.len());
    // Those about 1,000 and 31 devices were in vain, and now and then one about two; one asks what the expression reads.
    assert_eq!(native.calls() - calls, devices.len() + 3 + devices.len() / SELECTOR_BATCH_SPLIT);
    // Where it was slow before, new devices are asked about one by one from the beginning.
    let asked_about = |first: u32, count: u32| {
        let calls = native.calls();
        let others: Vec<_> = (first..first + count).map(|id| device(id, "a")).collect();
        assert_eq!(ask(&selectors, &[UUID], &others), vec![Answer::Yes; others.len()]);
        (native.calls() - calls, others.len())
    };
    let (calls, count) = asked_about(5_000, 100);
    assert!(calls <= count + 1 + count / SELECTOR_BATCH_SPLIT, "{calls} calls");
    // And no longer, where it was slow for a moment.
    native.slow_from(usize::MAX);
    let (calls, count) = asked_about(10_000, 3_000);
    assert!(calls < count / 10, "{calls} calls");
}

#[test]
fn nothing_is_said_of_devices_of_which_one_takes_too_long_and_it_is_not_tried_again_at_once() {
    let (native, selectors) = Native::selectors();
    let devices = [device(0, "a"), device(1, "b")];
    ask(&selectors, &["true"], &devices);
    native.slow_from(1);
    let answers = ask_within(&selectors, &[MODEL], &devices, Duration::MAX);
    assert_eq!(answers, Err(NoValue::Deadline));
    let calls = native.calls();
    native.slow_from(usize::MAX);
    assert_eq!(ask_within(&selectors, &[MODEL], &devices, Duration::MAX), answers);
    assert_eq!(native.calls(), calls);
    // Outcomes are forgotten for want of room, and that it took too long is not.
    selectors.kept.get(MODEL).shrink(0);
    assert_eq!(ask_within(&selectors, &[MODEL], &devices, Duration::MAX), answers);
    assert_eq!(native.calls(), calls);
    assert_eq!(ask(&selectors, &[UUID], &devices), vec![Answer::Yes; 2], "another expression");
}

#[test]
fn nothing_is_said_without_time_but_of_what_is_known() {
    let (native, selectors) = Native::selectors();
    let devices = batch_and_one();
    for list in [&[UUID][..], &["true"], &["device."]] {
        assert_eq!(ask_within(&selectors, list, &devices, Duration::ZERO), Err(NoValue::Deadline), "{list:?}");
    }
    assert_eq!(native.calls(), 0);
    assert_eq!(ask_within(&selectors, &[], &devices, Duration::ZERO), Ok(vec![Answer::Yes; devices.len()]));
}

#[test]
fn who_only_looks_up_or_has_no_time_displaces_nothing() {
    let (native, selectors) = Native::selectors();
    let devices = [device(0, "a")];
    let list = ["device.driver == 'x'", "device.attributes['d'].none == 1"];
    assert_eq!(ask(&selectors, &list[..1], &devices), [Answer::No]);
    let failing = ask(&selectors, &list[1..], &devices);
    assert!(matches!(failing[..], [Answer::Error(_)]), "{failing:?}");
    for number in 0..SELECTOR_EXPRESSIONS + 10 {
        let other = format!("{number} == 0");
        assert_eq!(selectors.known(&[list[0], &other], [0].into_iter()), Some(vec![false]));
        assert_eq!(selectors.known(&[&other], [0].into_iter()), None);
        assert_eq!(ask_within(&selectors, &[&other], &devices, Duration::ZERO), Err(NoValue::Deadline));
    }
    assert_eq!(selectors.kept.size().0, 2);
    // What is known takes no time, errors included.
    assert_eq!(ask_within(&selectors, &list[1..], &devices, Duration::ZERO), Ok(failing));
    assert_eq!(list.map(|text| native.evaluated(text)), [1, 1]);
}

#[test]
fn expressions_that_were_not_asked_for_the_longest_go() {
    let (native, selectors) = Native::selectors();
    let devices = [device(0, "a")];
    let expression = |number: usize| format!("device.driver == 'd' || {number} == 0");
    for number in 0..SELECTOR_EXPRESSIONS + 10 {
        assert_eq!(ask(&selectors, &[&expression(0), &expression(number)], &devices), [Answer::Yes]);
    }
    assert_eq!(selectors.kept.size().0, SELECTOR_EXPRESSIONS);
    assert_eq!(native.evaluated(&expression(0)), 1, "asked for again and again");
    ask(&selectors, &[&expression(1)], &devices);
    assert_eq!(native.evaluated(&expression(1)), 2);
}

#[test]
fn outcomes_take_no_more_bytes_than_their_limit() {
    /// Bytes of one value, and devices: more than half of the limit together.
    const VALUE: usize = 50_000;
    let count = u32::try_from(SELECTOR_BYTES * 11 / 20 / VALUE).unwrap();
    let long = |id| device(id, &format!("{id}{}", "x".repeat(VALUE)));
    let devices: Vec<_> = (0..count).map(long).collect();
    let (native, selectors) = Native::selectors();
    let expressions = ["1", "2", "3"].map(|text| format!("device.attributes['d'].model.startsWith('{text}')"));
    for expression in &expressions {
        ask(&selectors, &[expression], &devices);
        let (kept, bytes) = selectors.kept.size();
        assert!(kept == 1 && bytes > SELECTOR_BYTES / 2 && bytes <= SELECTOR_BYTES, "{kept}: {bytes}");
        assert_eq!(native.evaluated(expression), devices.len());
    }
    assert!(native.largest() < SELECTOR_BATCH_DEVICES, "so many bytes are more than one batch");
    ask(&selectors, &[&expressions[0]], &devices);
    assert_eq!(native.evaluated(&expressions[0]), 2 * devices.len(), "it had to go");
}

#[test]
fn threads_that_ask_the_same_evaluate_it_once() {
    let (native, selectors) = Native::selectors();
    let devices: Vec<_> = (0..3_000).map(|id| device(id, "a")).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for part in devices.chunks(500) {
                    assert_eq!(ask(&selectors, &[UUID, ANYTHING], part), vec![Answer::Yes; part.len()]);
                }
            });
        }
    });
    assert_eq!((native.evaluated(UUID), native.evaluated(ANYTHING)), (devices.len(), devices.len()));
}

#[test]
fn what_is_known_is_a_lookup() {
    let (native, selectors) = Native::selectors();
    let devices: Vec<_> = (0..40_000).map(|id| device(id, "a")).collect();
    let began = std::time::Instant::now();
    let answers = ask(&selectors, &[MODEL], &devices);
    let (first, calls) = (began.elapsed(), native.calls());
    let began = std::time::Instant::now();
    assert_eq!(ask(&selectors, &[MODEL], &devices), answers);
    println!("40,000 devices: {first:?}, then {:?}", began.elapsed());
    let began = std::time::Instant::now();
    assert_eq!(selectors.known(&[MODEL], devices.iter().map(|device| device.id)), Some(matching(&answers)));
    println!("40,000 devices, looked up alone: {:?}", began.elapsed());
    assert_eq!(native.calls(), calls);
}
