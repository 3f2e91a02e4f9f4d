//! Row sets from columns: the rows with one of some values, and those with a taint that the pod does not tolerate. Start at
//! [`Context::rows_in`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use nodesift_cache::LabelColumn;
use nodesift_object::node::{Taint, TaintEffect};
use nodesift_object::pod::{Toleration, TolerationOperator};
use nodesift_sandbox::Rows;

use super::context::Context;
use crate::limits::{FEW_CODES, FEW_TOLERATIONS};

impl Context {
    /// The rows whose code in a column stands for one of these values; none without a column.
    pub(super) fn rows_in(&self, column: Option<Arc<LabelColumn>>, values: &[Cow<'_, str>]) -> Rows {
        let Some(column) = column else { return Rows::none(self.rows() as usize) };
        let dictionary = column.dictionary();
        let mut wanted: Vec<u32> = values.iter().filter_map(|value| dictionary.code(value)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        rows_of_codes(&self.column(&column.codes), &wanted)
    }

    /// The rows that have a value in a column; none without a column.
    pub(super) fn rows_with(&self, column: Option<Arc<LabelColumn>>) -> Rows {
        match column {
            Some(column) => Rows::from_column(&self.column(&column.codes), |code| code != 0),
            None => Rows::none(self.rows() as usize),
        }
    }

    /// The rows with a taint that keeps pods away and that the pod does not tolerate. Each distinct list of taints is judged
    /// once.
    pub(super) fn rows_with_untolerated_taint(&self) -> Rows {
        let tolerated = Tolerated::new(&self.pod.tolerations);
        let is_wrong = |set: &Arc<Vec<Taint>>| set.iter().any(|taint| keeps_away(taint) && !tolerated.contains(taint));
        let sets = (0_u32..).zip(self.snapshot.taint_sets().iter());
        let wrong: Vec<u32> = sets.filter(|(_, set)| is_wrong(set)).map(|(code, _)| code).collect();
        rows_of_codes(&self.column(self.snapshot.taint_codes()), &wrong)
    }
}

/// The rows with one of these codes, which are sorted.
fn rows_of_codes(codes: &[u32], wanted: &[u32]) -> Rows {
    match *wanted {
        [] => Rows::none(codes.len()),
        [one] => Rows::from_column(codes, |code| code == one),
        [.., last] if wanted.len() > FEW_CODES => {
            let mut is_wanted = vec![false; last as usize + 1];
            wanted.iter().filter_map(|code| is_wanted.get_mut(*code as usize).map(|flag| *flag = true)).for_each(drop);
            Rows::from_column(codes, |code| is_wanted.get(code as usize).copied().unwrap_or(false))
        }
        // As many comparisons for every row, so that the loop is vectorised; a code that is there twice changes nothing.
        [first, ..] => {
            let mut few = [first; FEW_CODES];
            few.iter_mut().zip(wanted).for_each(|(slot, code)| *slot = *code);
            Rows::from_column(codes, |code| few.iter().fold(false, |found, wanted| found | (code == *wanted)))
        }
    }
}

/// Whether a taint keeps pods away that do not tolerate it.
pub(crate) fn keeps_away(taint: &Taint) -> bool {
    matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}

/// Whether a toleration tolerates a taint: `ToleratesTaint` in k8s.io/api/core/v1/toleration.go. An empty key matches every key,
/// with any operator.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let value = match toleration.operator {
        TolerationOperator::Equal => toleration.value == taint.value,
        TolerationOperator::Exists => true,
        TolerationOperator::Other => false,
    };
    value
        && toleration.effect.is_none_or(|effect| effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
}

/// Taints that a pod tolerates. It may have thousands of tolerations, and the nodes thousands of lists of taints.
pub(crate) enum Tolerated<'a> {
    /// Compared one by one.
    Few(&'a [Toleration]),
    /// Key, value, effect of each; none for any.
    Many(HashSet<(Option<&'a str>, Option<&'a str>, Option<TaintEffect>)>),
}

impl<'a> Tolerated<'a> {
    pub(crate) fn new(tolerations: &'a [Toleration]) -> Self {
        if tolerations.len() <= FEW_TOLERATIONS {
            return Self::Few(tolerations);
        }
        let entry = |toleration: &'a Toleration| {
            let value = match toleration.operator {
                TolerationOperator::Equal => Some(&*toleration.value),
                TolerationOperator::Exists => None,
                TolerationOperator::Other => return None,
            };
            let key = Some(&*toleration.key).filter(|key| !key.is_empty());
            Some((key, value, toleration.effect))
        };
        Self::Many(tolerations.iter().filter_map(entry).collect())
    }

    pub(crate) fn contains(&self, taint: &Taint) -> bool {
        match self {
            Self::Few(tolerations) => tolerations.iter().any(|toleration| tolerates(toleration, taint)),
            Self::Many(known) => [None, Some(&*taint.key)].into_iter().any(|key| {
                let values = [None, Some(&*taint.value)];
                values.into_iter().any(|value| {
                    [None, Some(taint.effect)].into_iter().any(|effect| known.contains(&(key, value, effect)))
                })
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded() -> fastrand::Rng {
        let seed = nodesift_seed::seed();
        fastrand::Rng::with_seed(seed)
    }

    const EFFECTS: [TaintEffect; 4] =
        [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute, TaintEffect::Other];

    fn toleration(random: &mut fastrand::Rng) -> Toleration {
        let operators = [TolerationOperator::Equal, TolerationOperator::Exists, TolerationOperator::Other];
        Toleration {
            key: ["", "a", "b", "c"][random.usize(0..4)].to_owned(),
            operator: operators[random.usize(0..3)],
            value: ["", "x", "y"][random.usize(0..3)].to_owned(),
            effect: random.bool().then(|| EFFECTS[random.usize(0..4)]),
        }
    }

    #[test]
    fn many_tolerations_tolerate_as_one_by_one() {
        let mut random = seeded();
        for _ in 0..2_000 {
            // Each alone, so that most taints are not tolerated by chance.
            let one = toleration(&mut random);
            let many = vec![one.clone(); FEW_TOLERATIONS + 1];
            let taint = Taint {
                key: ["", "a", "b", "d"][random.usize(0..4)].to_owned(),
                value: ["", "x", "z"][random.usize(0..3)].to_owned(),
                effect: EFFECTS[random.usize(0..4)],
            };
            let (few, many) = (Tolerated::new(std::slice::from_ref(&one)), Tolerated::new(&many));
            assert!(matches!(many, Tolerated::Many(_)));
            assert_eq!(many.contains(&taint), few.contains(&taint), "{one:?} {taint:?}");
        }
    }

    #[test]
    fn rows_have_one_of_the_codes_however_many_there_are() {
        let mut random = seeded();
        for wanted in 0..3 * FEW_CODES {
            let codes: Vec<u32> = (0..random.usize(0..300)).map(|_| random.u32(0..30)).collect();
            let mut wanted: Vec<u32> = (0..wanted).map(|_| random.u32(1..25)).collect();
            wanted.sort_unstable();
            wanted.dedup();
            let mut rows = Vec::new();
            rows_of_codes(&codes, &wanted).for_each(|row| rows.push(row));
            let expected: Vec<usize> = (0..codes.len()).filter(|row| wanted.contains(&codes[*row])).collect();
            assert_eq!(rows, expected, "{wanted:?}");
        }
    }
}
