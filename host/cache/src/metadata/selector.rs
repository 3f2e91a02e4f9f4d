//! Label selectors over pods and namespaces, compiled: what `cluster-pods` counts by, and the affinity terms that pods on nodes
//! carry.

use std::sync::Arc;

use super::labels::{Labels, value_of};
use nodesift_object::affinity::{Affinity, PodAffinity, PodAffinityTerm};
use nodesift_object::selector::{LabelSelector, Operator};

/// One requirement on a label. The order of values does not matter and is fixed, so that equal selectors are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    key: Arc<str>,
    test: Test,
}

/// Test of a label's value by one requirement. Lists of values are sorted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Test {
    In(Vec<Arc<str>>),
    NotIn(Vec<Arc<str>>),
    Exists,
    DoesNotExist,
}

impl LabelRequirement {
    /// A requirement; `None` for operators that label selectors do not have.
    pub fn new(key: &str, operator: Operator, values: impl IntoIterator<Item = Arc<str>>) -> Option<Self> {
        let sorted = |values: &mut dyn Iterator<Item = Arc<str>>| {
            let mut values: Vec<Arc<str>> = values.collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let mut values = values.into_iter();
        let test = match operator {
            Operator::In => Test::In(sorted(&mut values)),
            Operator::NotIn => Test::NotIn(sorted(&mut values)),
            Operator::Exists => Test::Exists,
            Operator::DoesNotExist => Test::DoesNotExist,
            Operator::Gt | Operator::Lt | Operator::Unknown => return None,
        };
        Some(Self { key: Arc::from(key), test })
    }

    /// Bytes of memory, texts included.
    fn bytes(&self) -> usize {
        let values = match &self.test {
            Test::In(values) | Test::NotIn(values) => values.as_slice(),
            Test::Exists | Test::DoesNotExist => &[],
        };
        size_of::<Self>() + self.key.len() + bytes_of(values)
    }

    /// The number of values.
    pub(crate) fn listed(&self) -> usize {
        match &self.test {
            Test::In(values) | Test::NotIn(values) => values.len(),
            Test::Exists | Test::DoesNotExist => 0,
        }
    }

    /// The key and the values.
    pub fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        let values: &[Arc<str>] = match &self.test {
            Test::In(values) | Test::NotIn(values) => values,
            Test::Exists | Test::DoesNotExist => &[],
        };
        std::iter::once(&self.key).chain(values)
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn test(&self) -> &Test {
        &self.test
    }

    pub(super) fn matches(&self, labels: &Labels) -> bool {
        step();
        let value = value_of(labels, &self.key);
        match &self.test {
            Test::In(values) => value.is_some_and(|value| is_in(values, value)),
            Test::NotIn(values) => value.is_none_or(|value| !is_in(values, value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
        }
    }
}

/// Pods of some namespaces that carry some labels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PodSelector {
    /// Namespaces whose pods match, sorted, each once.
    pub namespaces: Vec<Arc<str>>,
    /// Requirements on the labels of further namespaces whose pods match; empty for every namespace, `None` for no further one.
    pub namespace_requirements: Option<Vec<LabelRequirement>>,
    /// Requirements that the pod's labels must all meet.
    pub requirements: Vec<LabelRequirement>,
}

impl PodSelector {
    /// The pods of every namespace that a label selector matches; `None` where an operator is unknown.
    pub fn everywhere(selector: &LabelSelector) -> Option<Self> {
        let requirements = requirements(selector)?;
        Some(Self { namespaces: Vec::new(), namespace_requirements: Some(Vec::new()), requirements })
    }

    /// Whether a pod matches. `namespace_labels` gives the labels of a namespace by name; a namespace for which it gives
    /// `None` matches only a selector of every namespace.
    pub fn matches(&self, namespace: &str, labels: &Labels, namespace_labels: impl Fn(&str) -> Option<Labels>) -> bool {
        self.is_in_namespace(namespace, namespace_labels)
            && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether pods of a namespace can match.
    pub(crate) fn is_in_namespace(&self, namespace: &str, namespace_labels: impl Fn(&str) -> Option<Labels>) -> bool {
        step();
        self.namespaces.binary_search_by(|known| (**known).cmp(namespace)).is_ok()
            || self.namespace_requirements.as_ref().is_some_and(|requirements| {
                requirements.is_empty()
                    || namespace_labels(namespace)
                        .is_some_and(|labels| requirements.iter().all(|requirement| requirement.matches(&labels)))
            })
    }

    /// Selector and requirements: what a pod is compared with.
    pub(crate) fn parts(&self) -> usize {
        1 + self.namespace_requirements.as_ref().map_or(0, Vec::len) + self.requirements.len()
    }

    /// Bytes of memory, texts included.
    pub fn bytes(&self) -> usize {
        let requirements = self.namespace_requirements.iter().flatten().chain(&self.requirements);
        size_of::<Self>() + bytes_of(&self.namespaces) + requirements.map(LabelRequirement::bytes).sum::<usize>()
    }

    /// Whether the labels of namespaces can change what matches.
    pub fn reads_namespace_labels(&self) -> bool {
        self.namespace_requirements.as_ref().is_some_and(|requirements| !requirements.is_empty())
    }
}

fn bytes_of(texts: &[Arc<str>]) -> usize {
    texts.iter().map(|text| size_of::<Arc<str>>() + text.len()).sum()
}

/// Property that labels have if they meet requirements: entries that are filed by clues are found without a look at those whose
/// requirements cannot be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Clue<'a> {
    /// No property: all labels have it.
    Nothing,
    /// A key, whatever its value.
    Key(&'a str),
    /// A key and its value.
    Label(&'a str, &'a str),
}

impl<'a> Clue<'a> {
    /// Clues of which labels have one at least if they meet all requirements: the values of the requirement that lists the fewest of
    /// them, at most `most`, or else one clue. None at all where the requirements cannot be met.
    pub(crate) fn needed(requirements: &'a [LabelRequirement], most: usize) -> Vec<Self> {
        let listed = |requirement: &'a LabelRequirement| match &requirement.test {
            Test::In(values) if values.len() <= most => Some((&*requirement.key, values)),
            Test::In(_) | Test::NotIn(_) | Test::Exists | Test::DoesNotExist => None,
        };
        let fewest = requirements.iter().filter_map(listed).min_by_key(|(_, values)| values.len());
        if let Some((key, values)) = fewest {
            return values.iter().map(|value| Self::Label(key, value)).collect();
        }
        let needs_key = |requirement: &&LabelRequirement| matches!(requirement.test, Test::In(_) | Test::Exists);
        let key = requirements.iter().find(needs_key).map(|requirement| &*requirement.key);
        vec![key.map_or(Self::Nothing, Self::Key)]
    }

    /// All clues that labels have.
    pub(crate) fn all_of(labels: &'a [(Arc<str>, Arc<str>)]) -> impl Iterator<Item = Self> {
        let of_label = |(key, value): &'a (Arc<str>, Arc<str>)| [Self::Key(key), Self::Label(key, value)];
        std::iter::once(Self::Nothing).chain(labels.iter().flat_map(of_label))
    }
}

/// A required anti-affinity term of a pod on a node. Terms are sorted by their topology key first, so that those with one key
/// are next to each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AntiAffinityTerm {
    /// The label key whose equal values make nodes near each other.
    pub topology_key: Arc<str>,
    /// The pods that it excludes.
    pub selector: PodSelector,
}

/// A term of a pod on a node that counts in the scores of other pods. Terms are sorted by their topology key first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ScoringTerm {
    /// The label key whose equal values make nodes near each other.
    pub topology_key: Arc<str>,
    /// Weight of a preferred term, negative of anti-affinity. None of a required affinity term, whose weight the policy says.
    pub weight: Option<i32>,
    /// The pods in whose scores it counts.
    pub selector: PodSelector,
}

/// The required anti-affinity terms of a pod in `namespace`, sorted.
pub(super) fn anti_affinity_terms(namespace: &Arc<str>, terms: &[PodAffinityTerm]) -> Vec<AntiAffinityTerm> {
    let are_valid = terms.iter().all(PodAffinityTerm::is_valid);
    let compiled = terms.iter().filter(|_| are_valid).filter_map(|term| compiled_term(namespace, term));
    let mut compiled: Vec<AntiAffinityTerm> =
        compiled.map(|(topology_key, selector)| AntiAffinityTerm { topology_key, selector }).collect();
    compiled.sort_unstable();
    compiled
}

/// The terms of a pod in `namespace` that count in scores, sorted.
pub(super) fn scoring_terms(namespace: &Arc<str>, affinity: &Affinity) -> Vec<ScoringTerm> {
    let required = affinity.pod_affinity.required.iter().map(|term| (None, term)).collect();
    let lists: [Vec<(Option<i32>, &PodAffinityTerm)>; 3] =
        [required, weighted(&affinity.pod_affinity, 1), weighted(&affinity.pod_anti_affinity, -1)];
    let mut compiled = Vec::new();
    for terms in lists.iter().filter(|terms| terms.iter().all(|(_, term)| term.is_valid())) {
        compiled.extend(terms.iter().filter_map(|(weight, term)| {
            let (topology_key, selector) = compiled_term(namespace, term)?;
            Some(ScoringTerm { topology_key, weight: *weight, selector })
        }));
    }
    compiled.sort_unstable();
    compiled
}

/// The preferred terms of one kind, each with its weight times `sign`.
fn weighted(affinity: &PodAffinity, sign: i32) -> Vec<(Option<i32>, &PodAffinityTerm)> {
    let terms = affinity.preferred.iter();
    terms.map(|one| (Some(one.weight.saturating_mul(sign)), &one.pod_affinity_term)).collect()
}

/// The topology key and the selector of a term of a pod in `namespace`; none without a selector, which matches no pod. A selector of a
/// list that does not parse voids the whole list, see the callers. Source: `newAffinityTerm` and `PodInfo.Update` in
/// pkg/scheduler/framework/types.go.
fn compiled_term(namespace: &Arc<str>, term: &PodAffinityTerm) -> Option<(Arc<str>, PodSelector)> {
    let requirements = requirements(term.label_selector.as_ref()?)?;
    let namespace_requirements = match &term.namespace_selector {
        Some(selector) => Some(self::requirements(selector)?),
        None => None,
    };
    let mut namespaces: Vec<Arc<str>> = term.namespaces.iter().map(|name| Arc::from(name.as_str())).collect();
    if namespaces.is_empty() && term.namespace_selector.is_none() {
        namespaces.push(Arc::clone(namespace));
    }
    namespaces.sort_unstable();
    namespaces.dedup();
    let selector = PodSelector { namespaces, namespace_requirements, requirements };
    Some((Arc::from(term.topology_key.as_str()), selector))
}

/// The requirements of a label selector; none where an operator is unknown.
fn requirements(selector: &LabelSelector) -> Option<Vec<LabelRequirement>> {
    let mut requirements = Vec::new();
    for (key, value) in selector.match_labels.iter() {
        requirements.push(LabelRequirement::new(key, Operator::In, [Arc::from(value.as_str())])?);
    }
    for requirement in &selector.match_expressions {
        let values = requirement.values.iter().map(|value| Arc::from(value.as_str()));
        requirements.push(LabelRequirement::new(&requirement.key, requirement.operator(), values)?);
    }
    requirements.sort_unstable();
    requirements.dedup();
    Some(requirements)
}

/// Whether a sorted list has a value.
pub(super) fn is_in(sorted: &[Arc<str>], value: &Arc<str>) -> bool {
    let compared = |known: &Arc<str>| {
        step();
        known.cmp(value)
    };
    sorted.binary_search_by(compared).is_ok()
}

/// One comparison of the work that matching takes; tests count them.
#[inline]
pub(super) fn step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

#[cfg(test)]
thread_local! {
    /// Comparisons of this thread.
    pub(crate) static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests;
