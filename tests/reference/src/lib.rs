//! The reference implementation of all predicates and scorers: kube-scheduler 1.36's filters and scores over plain Kubernetes objects,
//! slow and simple.
//!
//! Nested loops over JSON values, written from kube-scheduler's sources. It shares no code with the host, so that a bug in
//! one of them shows as a difference. Its own test compares it with the verdicts of the real kube-scheduler; the suite
//! `differential` compares the engine with it on random clusters.
//!
//! Start with [`explain`], which evaluates one pod on a [`Cluster`] of plain objects. [`filters`] has one function per filter,
//! in kube-scheduler's order. They use [`quantity`], [`selector`], [`tolerations`] and [`volumes`], and read fields with
//! [`nodesift_fixtures::json`]. [`nominated`] adds nominated pods to their nodes. Clusters come from `tests/data` or from
//! [`nodesift_fixtures::random`]. [`claims`] is DynamicResources, and says
//! which devices a pod would get as well. [`scores`] says how good each feasible node is. [`kubernetes`] has the switches by which versions differ.

pub mod claims;
pub mod filters;
pub mod go_text;
pub mod kubernetes;
pub mod nominated;
pub mod outcome;
mod pod_terms;
pub mod quantity;
pub mod requests;
pub mod scores;
pub mod selector;
mod spread_constraint;
pub mod tolerations;
pub mod volumes;

use std::sync::LazyLock;

use nodesift_fixtures::{Cluster, json};
use serde_json::Value;

pub use filters::{FILTERS, Filter};
pub use kubernetes::Switches;
pub use outcome::{Code, Conjunction, Cycle, Explanation, Failure, Outcome};

/// Evaluates one pod as [`explain_under`], by 1.36 with its quirks mended.
pub fn explain(cluster: &Cluster, pod: &Value, filters: &[Filter]) -> Explanation {
    explain_under(cluster, pod, filters, &Switches::documented())
}

/// Evaluates one pod as [`explain_under`], by the default filters of the newest version as released: as a sidecar does whose policy follows
/// files, or a server of that version.
pub fn explain_newest(cluster: &Cluster, pod: &Value) -> Explanation {
    static NEWEST: LazyLock<(Vec<Filter>, Switches)> = LazyLock::new(|| {
        let newest = kubernetes::newest();
        (filters::default_of(newest), Switches::from_version(newest))
    });
    let (filters, switches) = &*NEWEST;
    explain_under(cluster, pod, filters, switches)
}

/// Evaluates one pod on every node of the cluster, by these switches: each of the `filters` alone, and their conjunction. A node with
/// nominated pods is evaluated with these pods on it, and then without them.
pub fn explain_under(cluster: &Cluster, pod: &Value, filters: &[Filter], switches: &Switches) -> Explanation {
    let judge = |cluster: &Cluster| -> Vec<(&'static str, Outcome)> {
        filters.iter().map(|filter| (filter.name, (filter.judge)(cluster, pod, switches))).collect()
    };
    let with_nominated = cluster.nodes().filter_map(|node| {
        let with_nominated = judge(&nominated::bound(cluster, pod, node)?);
        let failures = with_nominated.into_iter().map(|(_, mut outcome)| outcome.failures.remove(json::name(node)));
        Some((json::name(node).to_owned(), failures.collect()))
    });
    Explanation::new(json::key(pod), cluster.nodes().map(json::name), judge(cluster), &with_nominated.collect())
}
