//! Counts that requests cause are bounded in number, and come to be maintained a few at a time.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;

use super::*;
use crate::limits::{COUNT_KEY_BYTES, COUNTS, COUNTS_BYTES, SUMS};
use crate::metadata::{LabelRequirement, PodFacts, PodSelector, STEPS};
use crate::write::model::{random_node, random_pod};
use crate::{Reader, Writer, new};
use nodesift_object::selector::Operator;

/// A count of the pods of one app.
fn key(app: &str) -> CountKey {
    let requirement = LabelRequirement::new("app", Operator::In, [Arc::from(app)]).unwrap();
    let requirements = vec![requirement];
    let selector = PodSelector { namespaces: vec![Arc::from("ns")], namespace_requirements: None, requirements };
    CountKey { selectors: vec![selector], terminating: true }
}

/// Every pod of a namespace.
fn every() -> CountKey {
    let selector =
        PodSelector { namespaces: vec![Arc::from("ns")], namespace_requirements: None, requirements: vec![] };
    CountKey { selectors: vec![selector], terminating: true }
}

/// Three nodes and thirty pods, published.
fn cluster() -> (Writer, Reader) {
    let mut random = fastrand::Rng::with_seed(9);
    let (mut writer, reader) = new();
    (0..3).for_each(|node| writer.apply(random_node(&mut random, &format!("n{node}"))));
    for pod in 0..30 {
        writer.apply(random_pod(&mut random, &format!("p{pod}"), Some(Arc::from(format!("n{}", pod % 3)))));
    }
    writer.publish();
    (writer, reader)
}

fn wanted(writer: &Writer) -> usize {
    writer.counts().wanted_count()
}

fn built(reader: &Reader) -> usize {
    reader.snapshot().count_view().built_count()
}

#[test]
fn where_nothing_is_published_requests_leave_a_bounded_number_of_counts() {
    let (writer, reader) = cluster();
    for app in 0..3 * COUNTS {
        reader.snapshot().count(&key(&format!("app-{app}")));
    }
    assert_eq!((wanted(&writer), built(&reader)), (COUNTS, COUNTS));
    for rows in [1, 1_000, 100_000, 10_000_000] {
        assert!(
            CountKey::most(rows) <= COUNTS && CountKey::most(rows) * rows * size_of::<u32>() <= COUNTS_BYTES,
            "{rows} rows"
        );
    }
    assert!(CountKey::most(100_000) < COUNTS, "bytes bound them where there are many rows");
}

#[test]
fn sums_are_bounded_and_taken_over_as_counts_are() {
    let (mut writer, reader) = cluster();
    let sum = |number: usize| SumKey { pods: every(), resource: Arc::from(["cpu", "memory"][number % 2]) };
    let answers: Vec<Column<i64>> = (0..2).map(|number| reader.snapshot().sum(&sum(number))).collect();
    assert!(answers.iter().flat_map(Column::iter).any(|amount| *amount > 0), "some pods use one of them");
    assert_eq!((wanted(&writer), built(&reader)), (2, 2));
    writer.publish();
    assert_eq!((writer.counts().maintained_count(), wanted(&writer)), ((0, 2), 0));
    assert!((0..2).map(|number| reader.snapshot().sum(&sum(number))).eq(answers));
    for app in 0..2 * SUMS {
        reader.snapshot().sum(&SumKey { pods: key(&format!("app-{app}")), resource: Arc::from("cpu") });
        reader.snapshot().sum(&SumKey { pods: every(), resource: Arc::from("x".repeat(1_000)) });
    }
    assert_eq!((wanted(&writer), built(&reader)), (SUMS, SUMS));
    assert!(SumKey::most(100_000) < SUMS, "bytes bound them where there are many rows");
}

#[test]
fn a_publication_takes_over_a_few_counts_and_later_ones_the_others() {
    const ASKED: usize = 5 * COUNTS_PER_PUBLICATION / 2;
    for pods_change in [false, true] {
        let mut random = fastrand::Rng::with_seed(10);
        let (mut writer, reader) = cluster();
        let keys: Vec<CountKey> = (0..ASKED).map(|app| key(&format!("v{app}"))).collect();
        let answers: Vec<Column<u32>> = keys.iter().map(|key| reader.snapshot().count(key)).collect();
        assert!(answers.iter().any(|counts| counts.iter().any(|pods| *pods > 0)), "some pods match");
        for publication in 1..=3 {
            if pods_change {
                // A pod that no key counts: any pod event makes counts built by readers invalid.
                let pod = random_pod(&mut random, &format!("q{publication}"), Some(Arc::from("n0")));
                writer.apply(PodRecord { namespace: Arc::from("uncounted"), ..pod });
            }
            writer.publish();
            let maintained = (publication * COUNTS_PER_PUBLICATION).min(ASKED);
            assert_eq!((writer.counts().maintained_count().0, wanted(&writer)), (maintained, ASKED - maintained));
            // What readers have built is not lost while nothing changes.
            assert_eq!(built(&reader), if pods_change { 0 } else { ASKED - maintained });
        }
        assert!(keys.iter().map(|key| reader.snapshot().count(key)).eq(answers));
        assert_eq!((wanted(&writer), built(&reader)), (0, 0), "all of them are maintained");
    }
}

#[test]
fn counts_and_sums_share_what_a_publication_takes_over() {
    let (mut writer, reader) = cluster();
    let want = |counts: usize, sums: usize| {
        (0..counts).for_each(|app| drop(reader.snapshot().count(&key(&format!("v{app}")))));
        let sum = |app: usize| SumKey { pods: key(&format!("v{app}")), resource: Arc::from("cpu") };
        (0..sums).for_each(|app| drop(reader.snapshot().sum(&sum(app))));
    };
    let (most, half) = (COUNTS_PER_PUBLICATION, COUNTS_PER_PUBLICATION / 2);
    want(2 * most, half + 1);
    let mut maintained = || {
        writer.publish();
        writer.counts().maintained_count()
    };
    assert_eq!(maintained(), (half, half));
    assert_eq!(maintained(), (half + most - 1, half + 1), "what sums leave is for counts");
    assert_eq!(maintained(), (2 * most, half + 1));
    want(0, 3 * half);
    assert_eq!(maintained(), (2 * most, 3 * half), "and the other way round");
}

#[test]
fn a_count_by_a_huge_selector_is_right_and_not_kept() {
    let (writer, reader) = cluster();
    let values = (0..COUNT_KEY_BYTES / 8).map(|value| Arc::from(format!("v{value}")));
    let requirement = LabelRequirement::new("app", Operator::In, values).unwrap();
    let [mut huge, plain] = [key("v0"), key("v0")];
    huge.selectors.iter_mut().for_each(|selector| selector.requirements = vec![requirement.clone()]);
    let all = |key: &CountKey| reader.snapshot().count(key).iter().sum::<u32>();
    let of_some: u32 = (0..3).map(|value| all(&key(&format!("v{value}")))).sum();
    assert_eq!(all(&huge), of_some);
    assert!(all(&plain) < of_some);
    assert_eq!((wanted(&writer), built(&reader)), (3, 3));
}

/// Three nodes and so many pods, no two of one class.
fn many_classes(pods: usize) -> (Writer, Reader) {
    let mut random = fastrand::Rng::with_seed(9);
    let (mut writer, reader) = new();
    (0..3).for_each(|node| writer.apply(random_node(&mut random, &format!("n{node}"))));
    for number in 0..pods {
        let pod = random_pod(&mut random, &format!("p{number}"), Some(Arc::from(format!("n{}", number % 3))));
        let labels = [("app", format!("app-{number}")), ("tier", "x".to_owned())];
        let labels = labels.into_iter().map(|(key, value)| (Arc::from(key), Arc::from(value))).collect();
        let namespace: Arc<str> = Arc::from("ns");
        let facts = Arc::new(PodFacts { namespace: Arc::clone(&namespace), labels, ..(*pod.facts).clone() });
        writer.apply(PodRecord { namespace, facts, terminating: false, ..pod });
    }
    writer.publish();
    (writer, reader)
}

/// The count of every class by requirements that all of them meet, and the comparisons that it takes.
fn steps_of(reader: &Reader, requirements: &[LabelRequirement], selectors: usize) -> (u32, usize) {
    let requirements = requirements.to_vec();
    let selector = PodSelector { namespaces: vec![Arc::from("ns")], namespace_requirements: None, requirements };
    let key = CountKey { selectors: vec![selector; selectors], terminating: true };
    let (snapshot, before) = (reader.snapshot(), STEPS.get());
    let population = snapshot.population();
    let counted = key.totals(population, &key.counted(population, &|| true).unwrap(), &|| true).unwrap().iter().sum();
    (counted, STEPS.get() - before)
}

#[test]
fn the_work_of_a_count_is_that_of_the_classes_however_large_its_selectors_are() {
    const CLASSES: usize = 20_000;
    let (_writer, reader) = many_classes(CLASSES);
    let absent = |number: usize| {
        LabelRequirement::new(&format!("absent-{number}"), Operator::DoesNotExist, std::iter::empty()).unwrap()
    };
    let not_in = |key: &str, values: usize| {
        let values = (0..values).map(|value| Arc::from(format!("other-{value}")));
        LabelRequirement::new(key, Operator::NotIn, values).unwrap()
    };
    let (all, plain) = steps_of(&reader, &[not_in("app", 1)], 1);
    assert_eq!(all as usize, CLASSES);
    assert!((CLASSES..4 * CLASSES).contains(&plain), "{plain} comparisons of {CLASSES} classes");
    let huge: [(&str, Vec<LabelRequirement>, usize); 4] = [
        ("12,600 requirements", (0..12_600).map(absent).collect(), 1),
        ("30,000 values", vec![not_in("app", 30_000)], 1),
        ("200 requirements on one key", (1..200).map(|values| not_in("app", values)).collect(), 1),
        ("1,000 selectors", vec![not_in("app", 3)], 1_000),
    ];
    for (what, requirements, selectors) in huge {
        let (counted, steps) = steps_of(&reader, &requirements, selectors);
        println!("{what}: {steps} comparisons; by one small requirement: {plain}");
        assert_eq!(counted, all, "{what}");
        // Binary searches for each of two labels. One by one it would be thousands of times as many.
        assert!(steps < plain * 30, "{what}: {steps} comparisons, {plain}");
    }
}

#[test]
fn a_count_stops_as_soon_as_it_may_not_go_on() {
    let (_writer, reader) = many_classes(2_000);
    let huge = CountKey { terminating: false, ..key("app-7") };
    for steps in 0..4 {
        let asked = Cell::new(0);
        let go_on = || asked.replace(asked.get() + 1) < steps;
        assert!(reader.snapshot().count_while(&huge, &go_on).is_none(), "after {steps} steps");
        assert_eq!(asked.get(), steps + 1);
    }
    assert_eq!(reader.snapshot().count_while(&huge, &|| true).unwrap().iter().sum::<u32>(), 1);
}
