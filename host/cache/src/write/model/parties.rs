//! Answers of parties in the model: by node, whether there is such a node or not.

use nodesift_negotiation::Subject;

use super::*;

/// A party and a subject.
pub(super) type Key = (Arc<str>, Subject);

/// Every key that random answers are about.
fn keys() -> Vec<Key> {
    let subjects = || {
        [Subject::Pod(text("p1")), Subject::Template(text("t")), Subject::Claims([text("c1"), text("c2")].into())]
            .into_iter()
    };
    ["a", "b"].into_iter().flat_map(|party| subjects().map(move |subject| (text(party), subject))).collect()
}

impl Model {
    /// Has a party say something of some nodes, in the model and in a cache.
    pub(super) fn answer(&mut self, random: &mut fastrand::Rng, writer: &mut Writer) {
        let (party, subject) = random.choice(keys()).unwrap();
        let mut answers = Vec::new();
        for number in 0..12 {
            let said = match random.u8(0..9) {
                0 => Suitability::Suitable,
                1 => Suitability::Unsuitable(text(["full", "broken"][random.usize(0..2)])),
                2..4 => Suitability::Unknown,
                _ => continue,
            };
            let node = format!("n{number}");
            let of_node = self.answers.entry(node.clone()).or_default();
            match said {
                Suitability::Unknown => drop(of_node.remove(&(party.clone(), subject.clone()))),
                _ => drop(of_node.insert((party.clone(), subject.clone()), said.clone())),
            }
            answers.push((text(&node), said));
        }
        assert!(writer.set_party_answers(&party, &subject, &answers));
    }
}

/// Returns the answers about a node that a snapshot shows.
pub(super) fn answers_of(snapshot: &Snapshot, node: &str) -> BTreeMap<Key, Suitability> {
    let said = |key: &Key| snapshot.parties().get(&key.0, &key.1)?.get(node).cloned();
    keys().into_iter().filter_map(|key| Some((key.clone(), said(&key)?))).collect()
}
