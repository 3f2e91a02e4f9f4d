//! The slow, obvious twin of all predicates: kube-scheduler 1.36's filters over plain Kubernetes objects.
//!
//! Nested loops over JSON values, written from kube-scheduler's sources and from nothing of nodesift, with which it
//! shares no code, so that a mistake would have to be made twice to go unnoticed. Its own test holds it to the verdicts
//! that the real kube-scheduler gave; the suite `twin` then holds the engine to it on random clusters.
//!
//! Start with [`Cluster`], which holds objects, and [`explain`], which judges one pod. [`filters`] has one function a
//! filter, in kube-scheduler's order; [`json`], [`quantity`], [`selector`] and [`tolerations`] are what they are written
//! in; [`volumes`] is what is known of claims and volumes. [`random`] makes clusters and histories up.

pub mod cluster;
pub mod filters;
pub mod json;
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

/// Judges one pod against every node of the cluster: each of the `filters` alone, and all of them together.
pub fn explain(cluster: &Cluster, pod: &Value, filters: &[Filter]) -> Explanation {
    let alone = filters.iter().map(|filter| (filter.name, (filter.judge)(cluster, pod))).collect();
    Explanation::new(json::key(pod), cluster.nodes().map(json::name), alone)
}
