//! Row sets inside a component: those of the host.

use crate::bindings::nodesift::predicate::{node_annotations, node_labels, node_resources, node_taints, row_sets};
use crate::verdict::{Failure, Status};

pub(super) use node_annotations::rows_with as annotation_exists;
pub(super) use node_labels::rows_with as label_exists;
pub(super) use node_resources::rows_with_free as with_free;
pub(super) use node_taints::{rows_unschedulable as unschedulable, rows_untolerated as untolerated};
pub(super) use row_sets::{all, and, count, not, or};

pub(super) fn label_in(key: &str, values: &[&str]) -> u32 {
    node_labels::rows_in(key, &owned(values))
}

pub(super) fn annotation_in(key: &str, values: &[&str]) -> u32 {
    node_annotations::rows_in(key, &owned(values))
}

/// The form that generated code takes.
fn owned(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

pub(super) fn reject(set: u32, failure: &Failure) {
    let status = match failure.status {
        Status::Unschedulable => row_sets::Status::Unschedulable,
        Status::UnschedulableAndUnresolvable => row_sets::Status::UnschedulableAndUnresolvable,
        Status::Error => row_sets::Status::Error,
    };
    row_sets::reject(set, &row_sets::Failure { status, reasons: failure.reasons.clone() });
}
