//! Requirements on labels, prepared for matching many sets of labels: however many requirements there are and however many
//! values they list, a set costs a binary search per label or per key, whichever are fewer. Start at [`LabelTest`].

use std::borrow::Cow;
use std::sync::Arc;

use super::labels::{Labels, value_of};
use super::selector::{LabelRequirement, Test, is_in, step};

/// Requirements that must all hold, one entry per key.
#[derive(Debug)]
pub(crate) struct LabelTest<'a> {
    /// Tests sorted by key, each key once.
    keys: Vec<KeyTest<'a>>,
    /// How many of the keys must be present.
    present: usize,
}

/// All requirements on one label key, combined.
#[derive(Debug)]
struct KeyTest<'a> {
    key: &'a str,
    must_exist: bool,
    must_be_absent: bool,
    /// Values that are allowed, sorted; `None` for every value.
    allowed: Option<Cow<'a, [Arc<str>]>>,
    /// Values that are not allowed, sorted.
    denied: Cow<'a, [Arc<str>]>,
}

impl<'a> LabelTest<'a> {
    pub(crate) fn new(requirements: impl Iterator<Item = &'a LabelRequirement>) -> Self {
        let mut requirements: Vec<&LabelRequirement> = requirements.collect();
        requirements.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        let mut keys: Vec<KeyTest<'a>> = Vec::new();
        for same_key in requirements.chunk_by(|a, b| a.key() == b.key()) {
            keys.extend(same_key.first().map(|requirement| KeyTest::new(requirement.key(), same_key)));
        }
        let present = keys.iter().filter(|key| key.must_exist).count();
        Self { keys, present }
    }

    /// Whether labels meet every requirement.
    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        if self.present > labels.len() {
            return false;
        }
        if self.keys.len() <= labels.len() {
            return self.keys.iter().all(|key| key.holds(value_of(labels, key.key)));
        }
        let mut present = 0;
        for (label, value) in labels.iter() {
            let compared = |key: &KeyTest<'_>| {
                step();
                key.key.cmp(label)
            };
            let Ok(at) = self.keys.binary_search_by(compared) else { continue };
            let Some(key) = self.keys.get(at) else { continue };
            if !key.holds(Some(value)) {
                return false;
            }
            present += usize::from(key.must_exist);
        }
        // What must not be there, or must not have a value, holds for every key that is absent.
        present == self.present
    }
}

impl<'a> KeyTest<'a> {
    fn new(key: &'a str, requirements: &[&'a LabelRequirement]) -> Self {
        let mut test = Self { key, must_exist: false, must_be_absent: false, allowed: None, denied: Cow::default() };
        for requirement in requirements {
            match requirement.test() {
                Test::Exists => test.must_exist = true,
                Test::DoesNotExist => test.must_be_absent = true,
                Test::In(values) => {
                    test.must_exist = true;
                    test.allowed = Some(match test.allowed {
                        None => Cow::Borrowed(values.as_slice()),
                        Some(allowed) => allowed.iter().filter(|value| is_in(values, value)).cloned().collect(),
                    });
                }
                Test::NotIn(values) if test.denied.is_empty() => test.denied = Cow::Borrowed(values.as_slice()),
                Test::NotIn(values) => test.denied.to_mut().extend(values.iter().cloned()),
            }
        }
        if let Cow::Owned(denied) = &mut test.denied {
            denied.sort_unstable();
            denied.dedup();
        }
        test
    }

    fn holds(&self, value: Option<&Arc<str>>) -> bool {
        step();
        match value {
            None => !self.must_exist,
            Some(value) => {
                !self.must_be_absent
                    && self.allowed.as_ref().is_none_or(|allowed| is_in(allowed, value))
                    && !is_in(&self.denied, value)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use nodesift_object::selector::Operator;

    fn text(random: &mut fastrand::Rng, of: &[&str]) -> Arc<str> {
        Arc::from(of[random.usize(0..of.len())])
    }

    #[test]
    fn prepared_requirements_match_as_one_by_one() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let (keys, values) = (["a", "b", "c", "d"], ["x", "y", "z"]);
        let (mut matched, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let operators = [Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist];
            let requirements: Vec<LabelRequirement> = (0..random.usize(0..7))
                .map(|_| {
                    let listed: Vec<Arc<str>> = (0..random.usize(0..4)).map(|_| text(&mut random, &values)).collect();
                    let operator = operators[random.usize(0..4)];
                    LabelRequirement::new(&text(&mut random, &keys), operator, listed).unwrap()
                })
                .collect();
            let mut labels: Vec<(Arc<str>, Arc<str>)> = Vec::new();
            for key in keys {
                if random.bool() {
                    labels.push((Arc::from(key), text(&mut random, &values)));
                }
            }
            let labels: Labels = labels.into();
            let one_by_one = requirements.iter().all(|requirement| requirement.matches(&labels));
            let prepared = LabelTest::new(requirements.iter()).matches(&labels);
            assert_eq!(prepared, one_by_one, "{requirements:?} {labels:?}");
            if one_by_one { matched += 1 } else { refused += 1 }
        }
        assert!(matched > 1_000 && refused > 1_000, "{matched} matched, {refused} refused");
    }
}
