//! Taints that the pod being filtered does not tolerate. Each distinct taint set is tested once, and a row takes the
//! result of its set.

use crate::columns::node_taints::{self, Effect, Taint};
use crate::columns::pod_tolerations::{self, Operator, Toleration};
use crate::kernels;

impl Taint {
    /// Whether the taint prevents scheduling: its effect is NoSchedule or NoExecute. `DoNotScheduleTaintsFilterFunc` of
    /// kube-scheduler.
    #[must_use]
    pub fn prevents_scheduling(&self) -> bool {
        matches!(self.effect, Effect::NoSchedule | Effect::NoExecute)
    }
}

/// Effect, key and value of a toleration: any effect or value where there is none, any key where it is empty.
type Entry<'a> = (Option<Effect>, &'a str, Option<&'a str>);

/// The taints that a list of tolerations tolerates. A pod may have thousands of tolerations, and a node thousands of taints: a taint takes a
/// few searches here, however many tolerations there are, and the answer is that of [`Toleration::tolerates`] of each.
#[derive(Debug)]
pub struct Tolerated<'a> {
    /// Tolerations that may tolerate a taint, sorted.
    entries: Vec<Entry<'a>>,
    /// By number of a form, whether there are entries of it: most pods have one form or two.
    has_form: [bool; 8],
}

impl<'a> Tolerated<'a> {
    /// The taints that these tolerations tolerate.
    #[must_use]
    pub fn new(tolerations: &'a [Toleration]) -> Self {
        let entry = |toleration: &'a Toleration| {
            let value = match toleration.operator {
                Operator::Equal => Some(&*toleration.value),
                Operator::Exists => None,
                Operator::Other => return None,
            };
            // The contract does not distinguish unknown effects.
            let is_known = toleration.effect != Some(Effect::Other);
            is_known.then_some((toleration.effect, &*toleration.key, value))
        };
        let mut entries: Vec<Entry<'a>> = tolerations.iter().filter_map(entry).collect();
        entries.sort_unstable();
        entries.dedup();
        let mut has_form = [false; 8];
        for entry in &entries {
            if let Some(has_form) = has_form.get_mut(form(entry)) {
                *has_form = true;
            }
        }
        Self { entries, has_form }
    }

    /// Whether one of the tolerations tolerates a taint.
    #[must_use]
    pub fn contains(&self, taint: &Taint) -> bool {
        let has = |entry: Entry<'_>| {
            self.has_form.get(form(&entry)).is_some_and(|has_form| *has_form)
                && self.entries.binary_search(&entry).is_ok()
        };
        let values = [None, Some(&*taint.value)];
        [None, Some(taint.effect)].into_iter().any(|effect| {
            ["", &*taint.key].into_iter().any(|key| values.into_iter().any(|value| has((effect, key, value))))
        })
    }
}

/// The number of the form of an entry: which of its parts stand for any.
fn form((effect, key, value): &Entry<'_>) -> usize {
    usize::from(effect.is_some()) + 2 * usize::from(key.is_empty()) + 4 * usize::from(value.is_some())
}

/// Whether every taint of a set that prevents scheduling is tolerated. For many sets, [`Tolerated`] sorts the tolerations once.
#[must_use]
pub fn tolerated(set: &[Taint], tolerations: &[Toleration]) -> bool {
    !set.iter().any(Taint::prevents_scheduling) || tolerates_all(&Tolerated::new(tolerations), set)
}

fn tolerates_all(tolerated: &Tolerated<'_>, set: &[Taint]) -> bool {
    set.iter().filter(|taint| taint.prevents_scheduling()).all(|taint| tolerated.contains(taint))
}

/// `bit` where the pod being filtered does not tolerate the set, else 0; one entry per taint set of the cluster, not
/// per row. None where the pod tolerates every set. Tolerations are read only where a taint prevents scheduling.
#[must_use]
pub fn untolerated_sets(bit: u8) -> Option<Vec<u8>> {
    let sets = node_taints::sets();
    if !sets.iter().flatten().any(Taint::prevents_scheduling) {
        return None;
    }
    let tolerations = pod_tolerations::tolerations();
    let tolerated = Tolerated::new(&tolerations);
    let table: Vec<u8> = sets.iter().map(|set| if tolerates_all(&tolerated, set) { 0 } else { bit }).collect();
    (kernels::union(&table) != 0).then_some(table)
}

/// Sets `bit` in the rows with a taint that prevents scheduling and that the pod being filtered does not tolerate.
pub fn mark_untolerated(patterns: &mut [u8], bit: u8) {
    if let Some(table) = untolerated_sets(bit) {
        kernels::mark_by_table(patterns, &node_taints::column(), &table, bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::pod_tolerations::Operator;
    use crate::native::{Cluster, Node, Pod};

    fn patterns(pod: Pod) -> Vec<u8> {
        let cluster = Cluster::new(pod)
            .node(Node::new("plain"))
            .node(Node::new("tainted").taint("a", "1", Effect::NoSchedule))
            .node(Node::new("soft").taint("b", "2", Effect::PreferNoSchedule));
        cluster.run(|rows| {
            let mut patterns = vec![1; rows];
            mark_untolerated(&mut patterns, 2);
            patterns
        })
    }

    #[test]
    fn rows_of_untolerated_sets_are_marked_and_keep_their_other_bits() {
        assert_eq!(patterns(Pod::new("default")), [1, 3, 1]);
    }

    #[test]
    #[allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a test of random lists")]
    fn a_list_tolerates_what_one_of_its_tolerations_does() {
        const EFFECTS: [Effect; 4] = [Effect::NoSchedule, Effect::PreferNoSchedule, Effect::NoExecute, Effect::Other];
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let mut count = [0; 2];
        for _ in 0..20_000 {
            let toleration = |random: &mut fastrand::Rng| Toleration {
                key: ["", "a", "b", "c"][random.usize(0..4)].into(),
                operator: [Operator::Equal, Operator::Exists, Operator::Other][random.usize(0..3)],
                value: ["", "x", "y"][random.usize(0..3)].into(),
                effect: random.bool().then(|| EFFECTS[random.usize(0..4)]),
            };
            let tolerations: Vec<Toleration> = (0..random.usize(0..4)).map(|_| toleration(&mut random)).collect();
            let taint = Taint {
                key: ["", "a", "b", "d"][random.usize(0..4)].into(),
                value: ["", "x", "z"][random.usize(0..3)].into(),
                effect: EFFECTS[random.usize(0..4)],
            };
            let expected = tolerations.iter().any(|one| one.tolerates(&taint));
            assert_eq!(Tolerated::new(&tolerations).contains(&taint), expected, "{tolerations:?} {taint:?}");
            count[usize::from(expected)] += 1;
        }
        assert!(count.iter().all(|count| *count > 1_000), "{count:?}");
    }

    #[test]
    fn a_set_that_no_node_has_marks_no_row() {
        assert_eq!(patterns(Pod::new("default").toleration("a", Operator::Exists, "", None)), [1, 1, 1]);
    }
}
