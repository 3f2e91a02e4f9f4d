//! Cached verdicts compared with fresh ones after random changes; lookups by the facts read about the pod.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_possible_truncation
)]

mod reads;

use std::sync::Arc;

use nodesift_cache::metadata;
use nodesift_cache::{Generation, Row, Snapshot};
use nodesift_object::{Node, Pod};
use nodesift_sandbox::{Code, Codes, Facts as _, Failure, RowVerdict, Verdict};

use super::cached::{CachedVerdict, Lineage, Validity};
use super::fact_read::{FactKey, FactRead, PodField};
use super::recorder::{Recorder, Trace};
use super::tree::Tree;
use crate::facts::{Batch, Context};
use crate::limits::{REUSE_KEY_BYTES, REUSE_READS, REUSE_VARIANTS};

fn node(name: &str, labels: &str) -> metadata::NodeFacts {
    let json =
        format!(r#"{{"metadata":{{"name":"{name}","labels":{labels}}},"status":{{"allocatable":{{"cpu":"4"}}}}}}"#);
    metadata::node(&serde_json::from_str::<Node>(&json).unwrap())
}

fn pod(labels: &str) -> Arc<metadata::PodFacts> {
    let json = format!(r#"{{"metadata":{{"name":"a","namespace":"ns","labels":{labels}}},"spec":{{}}}}"#);
    Arc::new(metadata::pod(&serde_json::from_str::<Pod>(&json).unwrap()))
}

fn context(snapshot: &Arc<Snapshot>, labels: &str) -> Arc<Context> {
    Arc::new(Context::new(Arc::clone(snapshot), pod(labels), None, Batch::All))
}

/// A cluster of two nodes; one of them has a label.
fn cluster() -> Arc<Snapshot> {
    let (mut writer, reader) = nodesift_cache::new();
    writer.apply(node("n1", r#"{"zone":"a"}"#));
    writer.apply(node("n2", "{}"));
    writer.publish();
    reader.snapshot()
}

/// The failure of each row, independent of how the verdict numbers its failures.
fn failures(verdict: &Verdict, rows: usize) -> Vec<Option<Failure>> {
    (0..rows).map(|row| verdict.failure_at(row).cloned()).collect()
}

#[test]
fn patched_verdicts_equal_fresh_ones() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let reason = |number: u8| Failure { code: Code::Unschedulable, reasons: [format!("reason {number}")].into() };
    let by_row = |rows: &[Option<u8>]| {
        let failures: Vec<Failure> = (0..4).map(reason).collect();
        let codes: Vec<u16> = rows.iter().map(|row| row.map_or(0, |number| u16::from(number) + 1)).collect();
        Verdict::ByRow(RowVerdict::new(Codes::from(codes), failures.into(), None))
    };
    for _ in 0..300 {
        let mut rows: Vec<Option<u8>> =
            (0..random.usize(1..50)).map(|_| random.bool().then(|| random.u8(..4))).collect();
        let start = if random.bool() { by_row(&rows) } else { Verdict::FitsAll };
        if start == Verdict::FitsAll {
            rows.fill(None);
        }
        let mut cached = CachedVerdict::new(Lineage(1), start, rows.len(), Trace::default(), Generation(1));
        for generation in 2..8 {
            // Rows are added, removed and changed.
            let len = (rows.len() + random.usize(..3)).saturating_sub(random.usize(..3));
            let mut changed: Vec<Row> = (rows.len()..len).map(|row| Row(row as u32)).collect();
            rows.resize(len, None);
            changed.extend((0..len).filter(|_| random.u8(..10) == 0).map(|row| Row(row as u32)));
            changed.sort_unstable();
            changed.dedup();
            for row in &changed {
                rows[row.index()] = random.bool().then(|| random.u8(..4));
            }
            let again: Vec<Option<u8>> = changed.iter().map(|row| rows[row.index()]).collect();
            let again = (!changed.is_empty()).then(|| (by_row(&again), Trace::default()));
            cached = cached.patched(again, &changed, len, Generation(generation)).unwrap();
            assert_eq!(failures(cached.verdict(), len), failures(&by_row(&rows), len));
        }
    }
}

#[test]
fn a_verdict_is_found_by_what_was_read_about_the_pod_and_by_nothing_else() {
    let snapshot = cluster();
    let blue = context(&snapshot, r#"{"color":"blue","name":"a-1"}"#);
    let recorder = Recorder::new(Arc::clone(&blue), true);
    assert_eq!(recorder.label("color").as_deref(), Some("blue"));
    let cached = CachedVerdict::new(Lineage(1), Verdict::FitsAll, 2, recorder.take(), snapshot.generation());
    let mut tree = Tree::default();
    tree.place(cached.reads_about_pod(), &blue).insert(&Arc::new(cached));
    let is_found = |labels: &str| tree.find(&context(&snapshot, labels)).is_some();
    assert!(is_found(r#"{"color":"blue","name":"a-2"}"#));
    assert!(!is_found(r#"{"color":"red","name":"a-1"}"#));
    assert!(!is_found("{}"));
}

#[test]
fn a_leaf_keeps_the_newest_verdict_of_a_lineage_and_few_lineages() {
    let snapshot = cluster();
    let context = context(&snapshot, "{}");
    let verdict = |lineage: u64, generation: u64| {
        Arc::new(CachedVerdict::new(Lineage(lineage), Verdict::FitsAll, 2, Trace::default(), Generation(generation)))
    };
    let mut tree = Tree::default();
    let slot = tree.place(std::iter::empty(), &context);
    let lineages = || -> Vec<u64> { slot.verdicts().into_iter().flatten().map(|cached| cached.lineage().0).collect() };
    slot.insert(&verdict(1, 5));
    slot.insert(&verdict(1, 4));
    assert_eq!(slot.verdicts()[0].as_ref().map(|cached| cached.valid_at()), Some(Generation(5)));
    for lineage in 2..=REUSE_VARIANTS as u64 + 1 {
        slot.insert(&verdict(lineage, 5));
    }
    assert_eq!(lineages().len(), REUSE_VARIANTS);
    assert!(!lineages().contains(&1), "the oldest is evicted");
}

#[test]
fn a_column_of_a_pointwise_predicate_is_valid_but_for_changed_rows() {
    let (mut writer, reader) = nodesift_cache::new();
    writer.apply(node("n1", r#"{"zone":"a"}"#));
    writer.apply(node("n2", "{}"));
    writer.publish();
    let before = reader.snapshot();
    let recorder = Recorder::new(context(&before, "{}"), true);
    recorder.label_column("zone");
    let codes = Codes::from(vec![0, 0]);
    let verdict = Verdict::ByRow(RowVerdict::new(codes, Arc::default(), None));
    let cached = CachedVerdict::new(Lineage(1), verdict, 2, recorder.take(), before.generation());
    assert!(matches!(cached.validity(&context(&before, "{}"), false), Validity::Valid));
    writer.apply(node("n2", r#"{"zone":"b"}"#));
    writer.publish();
    let after = reader.snapshot();
    let row = after.node_row("n2").unwrap();
    match cached.validity(&context(&after, "{}"), false) {
        Validity::StaleRows(rows) => assert_eq!(rows, [row]),
        other => panic!("{other:?}"),
    }
    assert!(matches!(cached.validity(&context(&before, "{}"), false), Validity::Valid), "valid for the older snapshot");
}

#[test]
fn reads_of_the_same_fact_are_one_and_too_many_are_no_record() {
    let snapshot = cluster();
    let recorder = Recorder::new(context(&snapshot, "{}"), false);
    recorder.namespace();
    recorder.namespace();
    assert_eq!(recorder.take().reads.len(), 1);
    for key in 0..=REUSE_READS {
        recorder.label(&format!("key-{key}"));
    }
    assert!(recorder.take().is_cut);
    recorder.label(&"k".repeat(REUSE_KEY_BYTES));
    assert!(recorder.take().is_cut);
}

#[test]
fn a_field_of_the_pod_holds_for_pods_that_share_it() {
    let snapshot = cluster();
    let read = FactRead::new(FactKey::PodField(PodField::Namespace), &context(&snapshot, "{}"));
    assert!(read.holds(&context(&snapshot, r#"{"color":"red"}"#)));
    let labels = FactRead::new(FactKey::Label("color".into()), &context(&snapshot, r#"{"color":"red"}"#));
    assert!(!labels.holds(&context(&snapshot, "{}")));
}
