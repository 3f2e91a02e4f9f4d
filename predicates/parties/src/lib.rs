//! Parties: rejects nodes that external parties do not want for the pod.
//!
//! kube-scheduler has no such plugin. Where parties are in a policy, and what they are asked, is in docs/src/api/negotiate.md; here is
//! what they have said. Preempting pods changes nothing of it.

use std::collections::BTreeMap;

use nodesift_sdk::columns::node_parties::{self, PartyColumn, UNKNOWN, UNSUITABLE};
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict, VerdictBuilder};

/// Rejects nodes that an external party of the policy has declared unsuitable for the pod, and nodes of which it has said nothing, unless
/// those fit by the policy.
#[derive(Debug)]
pub struct Parties;

impl Predicate for Parties {
    const NAME: &'static str = "Parties";
    const SUMMARY: &'static str = "rejects nodes that external parties of the policy do not want for the pod";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let parties = node_parties::unsuitable();
        if parties.is_empty() {
            return Verdict::FitsAll;
        }
        let mut verdict = VerdictBuilder::new(rows);
        // Many nodes share few rejections.
        let mut codes = BTreeMap::new();
        for row in 0..rows {
            let rejections: Vec<(usize, Option<u32>)> =
                parties.iter().enumerate().filter_map(|(at, party)| Some((at, rejection(party, row)?))).collect();
            if rejections.is_empty() {
                continue;
            }
            let code = *codes.entry(rejections).or_insert_with_key(|rejections| {
                let mut reasons = rejections.iter().filter_map(|(at, code)| Some(reason(parties.get(*at)?, *code)));
                let first = Failure::unresolvable(reasons.next().unwrap_or_default());
                verdict.code(reasons.fold(first, Failure::and))
            });
            verdict.reject_as(row, code);
        }
        verdict.finish()
    }
}

/// The code of the reason for which a party rejects a row, none where it is silent; `None` where it does not reject it.
fn rejection(party: &PartyColumn, row: usize) -> Option<Option<u32>> {
    match *party.states.get(row)? {
        UNSUITABLE => Some(Some(party.reasons.get(row).copied().unwrap_or(0))),
        UNKNOWN if !party.unknown_fits => Some(None),
        _ => None,
    }
}

fn reason(party: &PartyColumn, code: Option<u32>) -> String {
    let name = &party.party;
    match code.map(|code| party.texts.get(code as usize).map(String::as_str).unwrap_or_default()) {
        None => format!("waiting for party {name}"),
        Some("") => format!("node(s) didn't suit party {name}"),
        Some(text) => format!("node(s) didn't suit party {name}: {text}"),
    }
}

nodesift_sdk::export!(Parties);

#[cfg(test)]
mod tests {
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn cluster() -> Cluster {
        Cluster::new(Pod::new("default")).node(Node::new("a")).node(Node::new("b")).node(Node::new("c"))
    }

    #[test]
    fn a_pod_about_which_no_party_decides_fits_everywhere() {
        assert_eq!(cluster().verdict(&Parties), Verdict::FitsAll);
    }

    #[test]
    fn a_node_that_does_not_suit_is_rejected_with_party_and_reason() {
        let said = [Some("no free licence"), None, Some("")];
        let failures = cluster().party("licences", true, &said).failures(&Parties);
        let reason = "node(s) didn't suit party licences: no free licence";
        assert_eq!(failures, [Some(Failure::unresolvable(reason)), None, None]);
    }

    #[test]
    fn a_node_of_which_nothing_is_said_waits_unless_it_fits_by_the_policy() {
        let said = [None, Some(""), None];
        assert_eq!(cluster().party("p", true, &said).failures(&Parties), [None, None, None]);
        let silent = Some(Failure::unresolvable("waiting for party p"));
        assert_eq!(cluster().party("p", false, &said).failures(&Parties), [silent.clone(), None, silent]);
    }

    #[test]
    fn every_party_that_rejects_a_node_is_named() {
        let parties = cluster().party("p", true, &[Some("full"), Some("full"), Some("")]);
        let failures = parties.party("q", false, &[Some("broken"), Some(""), None]).failures(&Parties);
        let of_p = || Failure::unresolvable("node(s) didn't suit party p: full");
        let of_both = of_p().and("node(s) didn't suit party q: broken");
        let silent = Failure::unresolvable("waiting for party q");
        assert_eq!(failures, [Some(of_both), Some(of_p()), Some(silent)]);
    }
}
