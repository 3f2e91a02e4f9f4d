//! Row sets outside a component: lists of flags, made of columns. Start at [`merging`].

use std::cell::RefCell;

use crate::columns::{node_annotations, node_labels, node_resources, node_taints};
use crate::taints;
use crate::verdict::{Failure, MalformedVerdict, Verdict};

/// The sets of a call.
#[derive(Debug, Default)]
struct Sets {
    rows: usize,
    sets: Vec<Vec<bool>>,
    failures: Vec<Option<Failure>>,
}

thread_local! {
    /// Sets of the running calls, the innermost last.
    static SETS: RefCell<Vec<Sets>> = const { RefCell::new(Vec::new()) };
}

/// Runs a call over so many rows. The failures of its rows: that of the first rejection, or else that of the verdict.
pub(crate) fn merging(rows: usize, filter: impl FnOnce() -> Verdict) -> Result<Vec<Option<Failure>>, MalformedVerdict> {
    /// Removes the sets again, also where the call panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            SETS.with_borrow_mut(Vec::pop);
        }
    }
    SETS.with_borrow_mut(|calls| calls.push(Sets { rows, sets: Vec::new(), failures: vec![None; rows] }));
    let guard = Guard;
    let verdict = filter();
    let rejected = SETS.with_borrow_mut(|calls| calls.last_mut().map(|sets| std::mem::take(&mut sets.failures)));
    drop(guard);
    let of_verdict = verdict.failures(rows)?.into_iter().map(Option::<&Failure>::cloned);
    Ok(rejected.unwrap_or_default().into_iter().zip(of_verdict).map(|(own, other)| own.or(other)).collect())
}

#[allow(clippy::panic, reason = "fails the author's test, as a trap fails the call")]
fn with<T>(f: impl FnOnce(&mut Sets) -> T) -> T {
    SETS.with_borrow_mut(|calls| match calls.last_mut() {
        Some(sets) => f(sets),
        None => panic!("row sets can only be used while `filter` runs"),
    })
}

impl Sets {
    fn add(&mut self, set: Vec<bool>) -> u32 {
        self.sets.push(set);
        u32::try_from(self.sets.len() - 1).unwrap_or(u32::MAX)
    }

    #[allow(clippy::panic, reason = "fails the author's test, as a trap fails the call")]
    fn get(&self, set: u32) -> &[bool] {
        match self.sets.get(set as usize) {
            Some(set) => set,
            None => panic!("there is no row set {set} in this call: a set is of use only in the call that made it"),
        }
    }
}

fn add(set: Vec<bool>) -> u32 {
    with(|sets| sets.add(set))
}

pub(super) fn all() -> u32 {
    with(|sets| sets.add(vec![true; sets.rows]))
}

fn zipped(a: u32, b: u32, of: impl Fn(bool, bool) -> bool) -> u32 {
    with(|sets| {
        let set = sets.get(a).iter().zip(sets.get(b)).map(|(a, b)| of(*a, *b)).collect();
        sets.add(set)
    })
}

pub(super) fn and(a: u32, b: u32) -> u32 {
    zipped(a, b, |a, b| a && b)
}

pub(super) fn or(a: u32, b: u32) -> u32 {
    zipped(a, b, |a, b| a || b)
}

pub(super) fn not(a: u32) -> u32 {
    zipped(a, a, |a, _| !a)
}

pub(super) fn count(a: u32) -> u32 {
    with(|sets| u32::try_from(sets.get(a).iter().filter(|is_in| **is_in).count()).unwrap_or(u32::MAX))
}

pub(super) fn reject(a: u32, failure: &Failure) {
    with(|sets| {
        let set = sets.get(a).to_vec();
        for (known, _) in sets.failures.iter_mut().zip(set).filter(|(_, is_in)| *is_in) {
            known.get_or_insert_with(|| failure.clone());
        }
    });
}

/// The rows whose code stands for one of the values.
fn texts_in(codes: &[u32], dictionary: &[String], values: &[&str]) -> u32 {
    let text = |code: u32| dictionary.get(code as usize).filter(|_| code != 0);
    add(codes.iter().map(|code| text(*code).is_some_and(|text| values.contains(&text.as_str()))).collect())
}

fn present(codes: &[u32]) -> u32 {
    add(codes.iter().map(|code| *code != 0).collect())
}

pub(super) fn label_in(key: &str, values: &[&str]) -> u32 {
    texts_in(&node_labels::column(key), &node_labels::dictionary(key), values)
}

pub(super) fn label_exists(key: &str) -> u32 {
    present(&node_labels::column(key))
}

pub(super) fn annotation_in(key: &str, values: &[&str]) -> u32 {
    texts_in(&node_annotations::column(key), &node_annotations::dictionary(key), values)
}

pub(super) fn annotation_exists(key: &str) -> u32 {
    present(&node_annotations::column(key))
}

pub(super) fn unschedulable() -> u32 {
    add(node_taints::unschedulable().iter().map(|flag| *flag != 0).collect())
}

pub(super) fn untolerated() -> u32 {
    let mut marks = vec![0; with(|sets| sets.rows)];
    taints::mark_untolerated(&mut marks, 1);
    add(marks.into_iter().map(|mark| mark != 0).collect())
}

pub(super) fn with_free(resource: &str, amount: i64) -> u32 {
    add(node_resources::free(resource).iter().map(|free| *free >= amount).collect())
}
