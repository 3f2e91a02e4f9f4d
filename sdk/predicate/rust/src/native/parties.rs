//! Parties of the fixture, which decide about its pod: per node what they say.

use super::cluster::Cluster;
use crate::columns::node_parties::{PartyColumn, SUITABLE, UNKNOWN, UNSUITABLE};

impl Cluster {
    /// Adds a party. `says` has an entry per node, in the order in which nodes are added: nothing where that is none, that the node
    /// suits where it is empty, otherwise why it does not suit. `unknown_fits`: whether a node fits of which it says nothing.
    #[must_use]
    pub fn party(mut self, name: &str, unknown_fits: bool, says: &[Option<&str>]) -> Self {
        // As for other dictionaries, one entry is unused and the order is not that of nodes.
        let mut texts = vec![String::new(), "unused".to_owned()];
        let mut reasons: Vec<&str> = says.iter().flatten().copied().filter(|reason| !reason.is_empty()).collect();
        reasons.sort_unstable_by(|a, b| b.cmp(a));
        reasons.dedup();
        texts.extend(reasons.into_iter().map(str::to_owned));
        let state = |said: &Option<&str>| match said {
            None => UNKNOWN,
            Some("") => SUITABLE,
            Some(_) => UNSUITABLE,
        };
        let code = |said: &Option<&str>| texts.iter().position(|text| Some(text.as_str()) == *said).unwrap_or(0);
        let column = PartyColumn {
            party: name.into(),
            states: says.iter().map(state).collect(),
            reasons: says.iter().map(|said| u32::try_from(code(said)).unwrap_or(0)).collect(),
            texts: texts.clone(),
            unknown_fits,
        };
        self.parties.push(column);
        self
    }
}

/// `node-parties.unsuitable` for a batch.
pub(super) fn unsuitable(cluster: &Cluster, rows: &[usize]) -> Vec<PartyColumn> {
    let of_batch = |party: &PartyColumn| PartyColumn {
        states: rows.iter().map(|row| party.states.get(*row).copied().unwrap_or(UNKNOWN)).collect(),
        reasons: rows.iter().map(|row| party.reasons.get(*row).copied().unwrap_or(0)).collect(),
        ..party.clone()
    };
    cluster.parties.iter().map(of_batch).collect()
}
