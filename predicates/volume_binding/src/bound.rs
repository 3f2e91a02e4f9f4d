//! Checks the volumes of bound claims: they must exist, and their node affinity must match the node.

use nodesift_sdk::columns::cluster_storage::{self, Claim, Volume};
use nodesift_sdk::columns::pod_placement::{Operator, Requirement, Term};
use nodesift_sdk::kernels;
use nodesift_sdk::node_selector::{Matcher, NodeSelector};

use crate::migration;
use crate::rows::{MISSING, NODE, Rows};

/// Marks the rows that cannot use the volumes of bound claims: `checkBoundClaims` of the plugin. The first claim that
/// fails determines the reason of a row.
pub(crate) fn check(rows: &mut Rows, claims: &[Claim]) {
    let mut matcher = Matcher::new(rows.len());
    // 1 in the rows where no claim has failed so far.
    let mut undecided = vec![1_u8; rows.len()];
    for claim in claims {
        let Some(volume) = cluster_storage::volume_named(&claim.volume_name) else {
            rows.mark(&undecided, MISSING);
            return;
        };
        let mut mismatch = affinity_mismatch(&mut matcher, rows.len(), volume.node_terms.as_deref());
        if !volume.in_tree_plugin.is_empty() {
            translate(rows, &mut undecided, &mut matcher, &volume, &mut mismatch);
        }
        kernels::update(&mut mismatch, &undecided, |mismatch, undecided| mismatch & undecided);
        rows.mark(&mismatch, NODE);
        kernels::update(&mut undecided, &mismatch, |undecided, mismatch| undecided & !mismatch);
    }
}

/// Replaces `mismatch` in the rows where a CSI driver replaces the volume's in-tree plugin: there the node affinity of
/// the translated volume counts.
fn translate(rows: &mut Rows, undecided: &mut [u8], matcher: &mut Matcher, volume: &Volume, mismatch: &mut [u8]) {
    let mut migrated = cluster_storage::migrated(&volume.in_tree_plugin);
    kernels::update(&mut migrated, undecided, |migrated, undecided| migrated & undecided);
    if kernels::union(&migrated) == 0 {
        return;
    }
    if let Err(reason) = &volume.handle {
        rows.set_error(&migrated, &format!("could not translate pv: {reason}"));
        kernels::update(undecided, &migrated, |undecided, migrated| undecided & !migrated);
        return;
    }
    let terms = migration::translate(volume);
    let translated = affinity_mismatch(matcher, rows.len(), terms.as_deref());
    for ((mismatch, translated), migrated) in mismatch.iter_mut().zip(translated).zip(migrated) {
        if migrated != 0 {
            *mismatch = translated;
        }
    }
}

/// 1 in the rows whose labels the node affinity of a volume does not match, else 0; one entry per row.
fn affinity_mismatch(matcher: &mut Matcher, rows: usize, terms: Option<&[Term]>) -> Vec<u8> {
    let mut mismatch = vec![0; rows];
    if let Some(selector) = affinity(terms) {
        matcher.mark_unmatched_node_selector(&mut mismatch, &selector, 1);
    }
    mismatch
}

/// The node affinity of a volume; none where it matches every row, as without terms. `CheckNodeAffinity` in
/// k8s.io/component-helpers/storage/volume compares labels only: requirements on fields are validated but not compared.
pub(crate) fn affinity(terms: Option<&[Term]>) -> Option<NodeSelector> {
    let has_valid_fields = |term: &&Term| term.fields.iter().all(is_valid);
    let mut by_labels = Vec::new();
    for term in terms?.iter().filter(has_valid_fields) {
        match (term.expressions.is_empty(), term.fields.is_empty()) {
            (true, true) => {}
            (true, false) => return None,
            (false, _) => by_labels.push(Term { expressions: term.expressions.clone(), fields: Vec::new() }),
        }
    }
    Some(NodeSelector::lenient(by_labels))
}

/// Whether Kubernetes accepts a requirement on a field.
fn is_valid(field: &Requirement) -> bool {
    matches!(field.operator, Operator::In | Operator::NotIn) && field.values.len() == 1
}
