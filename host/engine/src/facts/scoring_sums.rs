//! Terms of pods on nodes that match the pod and count in its scores, added up by topology key. Start at [`ScoringSums::of`].

use std::sync::Arc;

use nodesift_cache::MatchedScoringTerm;

/// Scoring terms of one topology key, added up: one entry per row of the cluster.
#[derive(Debug, Clone)]
pub(super) struct ScoringSums {
    /// How many preferred terms there are.
    pub(super) preferred: Arc<[u32]>,
    /// How many terms of required affinity there are.
    pub(super) required: Arc<[u32]>,
    /// The sum of the weights of the preferred terms.
    pub(super) weights: Arc<[i64]>,
}

impl ScoringSums {
    /// The sums of terms, which have one topology key, over a cluster of so many rows.
    pub(super) fn of<'a>(terms: impl Iterator<Item = &'a MatchedScoringTerm>, rows: usize) -> Self {
        let (mut preferred, mut required, mut weights) = (vec![0_u32; rows], vec![0_u32; rows], vec![0_i64; rows]);
        for (term, carriers) in terms {
            let counts = if term.weight.is_some() { &mut preferred } else { &mut required };
            for (row, count) in carriers.iter() {
                if let Some(sum) = counts.get_mut(row.index()) {
                    *sum = sum.saturating_add(*count);
                }
                if let (Some(sum), Some(weight)) = (weights.get_mut(row.index()), term.weight) {
                    *sum = sum.saturating_add(i64::from(weight) * i64::from(*count));
                }
            }
        }
        Self { preferred: preferred.into(), required: required.into(), weights: weights.into() }
    }
}
