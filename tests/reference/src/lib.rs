//! The reference implementation of all predicates: kube-scheduler 1.36's filters over plain Kubernetes objects, slow and
//! obvious.
//!
//! Nested loops over JSON values, written from kube-scheduler's sources and from nothing of nodesift, with which it
//! shares no code, so that a mistake would have to be made twice to go unnoticed. Its own test holds it to the verdicts
//! that the real kube-scheduler gave; the suite `differential` then holds the engine to it on random clusters.
//!
//! Start with [`Cluster`], which holds objects, and [`explain`], which judges one pod. [`filters`] has one function a
//! filter, in kube-scheduler's order; [`json`], [`quantity`], [`selector`] and [`tolerations`] are what they are written
//! in; [`volumes`] is what is known of claims and volumes. [`nominated`] is which pods are to be left room for, [`random`]
//! makes clusters and histories up.

pub mod cluster;
pub mod filters;
pub mod json;
pub mod nominated;
pub mod outcome;
pub mod quantity;
pub mod random;
pub mod requests;
pub mod selector;
pub mod tolerations;
pub mod volumes;

use serde_json::Value;

pub use cluster::Cluster;
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
