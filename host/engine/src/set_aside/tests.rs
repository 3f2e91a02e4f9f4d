//! Templates that are told the time, and one that is known by a pod.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::facts::Batch;

const SECOND: Duration = Duration::from_secs(1);

fn late() -> Fault {
    Fault::new(FaultKind::Deadline, "late")
}

#[test]
fn a_good_call_starts_the_count_and_the_waits_of_a_template_anew() {
    let (mut writer, reader) = nodesift_cache::new();
    writer.publish();
    let pod = serde_json::from_str(r#"{"metadata":{"name":"a","namespace":"ns"}}"#).unwrap();
    let facts = Arc::new(nodesift_cache::metadata::pod(&pod));
    let context = Context::new(reader.snapshot(), facts, None, Batch::All);
    let (aside, owner) = (SetAside::default(), Owner::pod(&context));
    let fail = || aside.fail(&owner, &Fault::new(FaultKind::Trap, "unreachable"), false);
    for _ in 0..2 {
        assert_eq!(aside.admit(&owner), Ok(Earlier::default()));
        let first = fail();
        let failed = Earlier { faults: 1, had_too_little: false };
        assert_eq!((first, aside.admit(&owner)), (None, Ok(failed)), "it has failed, and is not set aside");
        let waits: Vec<Option<Duration>> = (1..=SET_ASIDE_FAULTS).map(|_| fail()).collect();
        let (few, rest) = waits.split_at(SET_ASIDE_FAULTS as usize - 2);
        assert!(few.iter().all(Option::is_none), "{waits:?}");
        assert_eq!(rest, [Some(SET_ASIDE_FIRST), Some(SET_ASIDE_FIRST * 2)]);
        aside.release(&owner);
        assert!(aside.list().is_empty());
    }
}

#[test]
fn a_template_is_set_aside_for_1_2_4_and_up_to_60_seconds_and_tried_between_them() {
    let (mut templates, mut now) = (Templates::default(), Instant::now());
    for (faults, wait) in (1..).zip([1, 2, 4, 8, 16, 32, 60, 60, 60]) {
        assert_eq!(templates.fail(7, "ns/p", &late(), true, now), Some(SECOND * wait), "after {faults} faults");
        let before = now + SECOND * wait - Duration::from_millis(1);
        let refused = templates.admit(7, before).unwrap_err();
        assert_eq!(refused.kind, FaultKind::Quarantined);
        assert!(refused.detail.contains("ns/p") && refused.detail.contains("Deadline: late"), "{refused}");
        assert_eq!(templates.admit(8, before), Ok(Earlier::default()), "others do not notice");
        assert_eq!(templates.list(before).len(), 1);
        now += SECOND * wait;
        assert_eq!(templates.admit(7, now), Ok(Earlier { faults, had_too_little: true }), "after {wait} s");
        assert!(templates.list(now).is_empty());
    }
}

#[test]
fn only_too_little_time_or_memory_is_a_reason_for_more() {
    let (mut templates, now) = (Templates::default(), Instant::now());
    for (kind, expected) in [
        (FaultKind::Deadline, true),
        (FaultKind::Memory, true),
        (FaultKind::OutputTooLarge, false),
        (FaultKind::Trap, false),
    ] {
        templates.fail(7, "ns/p", &Fault::new(kind, ""), true, now);
        let earlier = templates.admit(7, now + SET_ASIDE_MOST).unwrap();
        assert_eq!(earlier.had_too_little, expected, "{kind:?}");
    }
}

#[test]
fn as_many_templates_are_known_as_may_be_and_who_waits_longest_stays() {
    let (mut templates, start) = (Templates::default(), Instant::now());
    // The longest wait of all.
    let mut now = start;
    for _ in 0..10 {
        templates.fail(0, "ns/first", &late(), true, now);
        now += SET_ASIDE_MOST;
    }
    templates.fail(0, "ns/first", &late(), true, now);
    for template in 1..=4 * SET_ASIDE_TEMPLATES as u64 {
        assert_eq!(templates.fail(template, "ns/p", &late(), true, now), Some(SET_ASIDE_FIRST));
        assert!(templates.0.len() <= SET_ASIDE_TEMPLATES, "{} are known", templates.0.len());
        assert!(templates.admit(template, now).is_err(), "the last one is not forgotten");
    }
    assert_eq!(templates.0.len(), SET_ASIDE_TEMPLATES);
    assert!(templates.admit(0, now).is_err());
    // Much later there is room again.
    now += SET_ASIDE_MOST + SET_ASIDE_FORGET;
    templates.fail(u64::MAX, "ns/p", &late(), true, now);
    assert_eq!(templates.0.len(), 1);
}

#[test]
fn the_time_of_a_call_doubles_with_the_faults_before_it_within_limits() {
    let after = |faults: u32| Earlier { faults, had_too_little: true };
    let usual = Duration::from_millis(100);
    for (faults, times) in [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 16), (u32::MAX, 16)] {
        assert_eq!(after(faults).time(usual, None), usual * times, "after {faults} faults");
    }
    let long = SET_ASIDE_TIME_MOST / 4;
    assert_eq!(after(4).time(long, None), SET_ASIDE_TIME_MOST);
    // The request leaves less.
    assert_eq!(after(4).time(usual, Some(SECOND)), SECOND / SET_ASIDE_PART);
    assert_eq!(after(1).time(usual, Some(SECOND)), usual * 2);
    // Never less than it has otherwise.
    assert_eq!(after(4).time(usual, Some(Duration::ZERO)), usual);
    assert_eq!(after(4).time(2 * SET_ASIDE_TIME_MOST, None), 2 * SET_ASIDE_TIME_MOST);
}
