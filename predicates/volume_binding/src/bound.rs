//! Bound claims: their volumes must exist, and be mountable on the node.

use nodesift_sdk::columns::cluster_storage::{self, Claim, Volume};
use nodesift_sdk::columns::pod_placement::{Operator, Requirement, Term};
use nodesift_sdk::kernels;
use nodesift_sdk::node_selector::{Matcher, NodeSelector};

use crate::migration;
use crate::rows::{MISSING, NODE, Rows};

/// Looks at the volumes of bound claims: `checkBoundClaims` of the plugin. The first claim that fails decides a row.
pub(crate) fn check(rows: &mut Rows, claims: &[Claim]) {
    let mut matcher = Matcher::new(rows.len());
    // 1 where all claims so far are in order.
    let mut undecided = vec![1_u8; rows.len()];
    for claim in claims {
        let Some(volume) = cluster_storage::volume_named(&claim.volume_name) else {
            rows.mark(&undecided, MISSING);
            return;
        };
        let mut elsewhere = unreachable(&mut matcher, rows.len(), volume.node_terms.as_deref());
        if !volume.in_tree_plugin.is_empty() {
            translate(rows, &mut undecided, &mut matcher, &volume, &mut elsewhere);
        }
        kernels::update(&mut elsewhere, &undecided, |elsewhere, undecided| elsewhere & undecided);
        rows.mark(&elsewhere, NODE);
        kernels::update(&mut undecided, &elsewhere, |undecided, elsewhere| undecided & !elsewhere);
    }
}

/// Where a CSI driver replaces the volume's in-tree plugin the volume is as the driver sees it.
fn translate(rows: &mut Rows, undecided: &mut [u8], matcher: &mut Matcher, volume: &Volume, elsewhere: &mut [u8]) {
    let mut migrated = cluster_storage::migrated(&volume.in_tree_plugin);
    kernels::update(&mut migrated, undecided, |migrated, undecided| migrated & undecided);
    if kernels::union(&migrated) == 0 {
        return;
    }
    if let Err(reason) = &volume.handle {
        rows.break_rows(&migrated, &format!("could not translate pv: {reason}"));
        kernels::update(undecided, &migrated, |undecided, migrated| undecided & !migrated);
        return;
    }
    let terms = migration::translate(volume);
    let as_driver = unreachable(matcher, rows.len(), terms.as_deref());
    for ((elsewhere, as_driver), migrated) in elsewhere.iter_mut().zip(as_driver).zip(migrated) {
        if migrated != 0 {
            *elsewhere = as_driver;
        }
    }
}

/// 1 per row whose labels the node affinity of a volume does not match; without any it matches everywhere.
/// `CheckNodeAffinity` in k8s.io/component-helpers/storage/volume compares labels only: what a term says of fields is
/// read but not compared.
pub(crate) fn unreachable(matcher: &mut Matcher, rows: usize, terms: Option<&[Term]>) -> Vec<u8> {
    let mut elsewhere = vec![0; rows];
    let Some(terms) = terms else { return elsewhere };
    let readable = |term: &&Term| term.fields.iter().all(is_readable);
    let mut by_labels = Vec::new();
    for term in terms.iter().filter(readable) {
        match (term.expressions.is_empty(), term.fields.is_empty()) {
            (true, true) => {}
            (true, false) => return elsewhere,
            (false, _) => by_labels.push(Term { expressions: term.expressions.clone(), fields: Vec::new() }),
        }
    }
    matcher.mark_unmatched_node_selector(&mut elsewhere, &NodeSelector::lenient(by_labels), 1);
    elsewhere
}

/// Whether Kubernetes can read a requirement on a field.
fn is_readable(field: &Requirement) -> bool {
    matches!(field.operator, Operator::In | Operator::NotIn) && field.values.len() == 1
}
