//! The reference implementation of all predicates: kube-scheduler 1.36's filters over plain Kubernetes objects, slow and
//! obvious.
//!
//! Nested loops over JSON values, written from kube-scheduler's sources. It shares no code with the host, so a mistake must
//! be made twice to go unnoticed. Its own test compares it with the verdicts of the real kube-scheduler; the suite
//! `differential` compares the engine with it on random clusters.
//!
//! Start with [`explain`], which judges one pod against a [`Cluster`] of plain objects. [`filters`] has one function per
//! filter, in kube-scheduler's order. They are written with [`quantity`], [`selector`], [`tolerations`] and [`volumes`], and
//! read fields by [`nodesift_fixtures::json`]. [`nominated`] says for which pods a node must have room as well. Clusters come
//! from elsewhere: from `tests/data`, or from [`nodesift_fixtures::random`].

pub mod filters;
pub mod nominated;
pub mod outcome;
pub mod quantity;
pub mod requests;
pub mod selector;
pub mod tolerations;
pub mod volumes;

use nodesift_fixtures::{Cluster, json};
use serde_json::Value;

pub use filters::{FILTERS, Filter};
pub use outcome::{Code, Conjunction, Cycle, Explanation, Failure, Outcome};

/// Judges one pod against every node of the cluster: each of the `filters` alone, and all of them together. A node for
/// which other pods are nominated is judged in a cluster in which they are on it, and then as it is.
pub fn explain(cluster: &Cluster, pod: &Value, filters: &[Filter]) -> Explanation {
    let judge = |cluster: &Cluster| -> Vec<(&'static str, Outcome)> {
        filters.iter().map(|filter| (filter.name, (filter.judge)(cluster, pod))).collect()
    };
    let with_nominated = cluster.nodes().filter_map(|node| {
        let with_nominated = judge(&nominated::bound(cluster, pod, node)?);
        let failures = with_nominated.into_iter().map(|(_, mut outcome)| outcome.failures.remove(json::name(node)));
        Some((json::name(node).to_owned(), failures.collect()))
    });
    Explanation::new(json::key(pod), cluster.nodes().map(json::name), judge(cluster), &with_nominated.collect())
}
