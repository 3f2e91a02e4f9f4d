//! Measures over the pods that match selectors: their number, or their usage of a resource. Start at [`Measure`].

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use super::classes::{Namespaces, PodClass, PodCode, Population};
use crate::columns::{Column, Delta};
use crate::limits::{
    COUNT_KEY_BYTES, COUNT_KEY_PARTS, COUNT_STRIDE_CLASSES, COUNT_STRIDE_PODS, COUNTS, COUNTS_BYTES,
    SUM_RESOURCE_BYTES, SUMS, SUMS_BYTES,
};
use crate::metadata::{Amounts, LabelTest, PodSelector, amount_of};

/// Key of a count: pods that match all selectors at once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CountKey {
    /// Selectors, sorted, each once.
    pub selectors: Vec<PodSelector>,
    /// Whether pods that are being deleted count.
    pub terminating: bool,
}

impl CountKey {
    /// Whether a pod of a class counts.
    pub fn matches(&self, class: &PodClass, namespaces: &Namespaces) -> bool {
        let labels_of = |namespace: &str| namespaces.get(namespace).cloned();
        (self.terminating || !class.terminating)
            && self.selectors.iter().all(|selector| selector.matches(&class.namespace, &class.labels, labels_of))
    }

    /// By code of a class, whether its pods count; `None` once `go_on` returns false. The work is that of the classes, a binary search per
    /// label of each, and of the selectors once per namespace, however large the selectors are.
    pub(super) fn counted(&self, population: &Population, go_on: &dyn Fn() -> bool) -> Option<Vec<bool>> {
        let labels = LabelTest::new(self.selectors.iter().flat_map(|selector| &selector.requirements));
        let namespaces = population.namespaces();
        let labels_of = |namespace: &str| namespaces.get(namespace).cloned();
        let mut known: HashMap<&str, bool> = HashMap::new();
        let mut counted = Vec::new();
        for class in population.classes() {
            if counted.len().is_multiple_of(COUNT_STRIDE_CLASSES) && !go_on() {
                return None;
            }
            let in_namespaces = match known.get(&*class.namespace) {
                Some(known) => *known,
                None => {
                    if !go_on() {
                        return None;
                    }
                    let is_in = |selector: &PodSelector| selector.is_in_namespace(&class.namespace, labels_of);
                    let in_namespaces = self.selectors.iter().all(is_in);
                    known.insert(&class.namespace, in_namespaces);
                    in_namespaces
                }
            };
            counted.push(in_namespaces && (self.terminating || !class.terminating) && labels.matches(&class.labels));
        }
        Some(counted)
    }

    /// Whether a count by it may be kept beyond the read that needs it.
    pub fn is_kept(&self) -> bool {
        self.selectors.iter().map(PodSelector::parts).sum::<usize>() <= COUNT_KEY_PARTS
            && self.selectors.iter().map(PodSelector::bytes).sum::<usize>() <= COUNT_KEY_BYTES
    }
}

/// Key of a sum: usage of a resource by the pods of a count, in the units of [`Amounts`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SumKey {
    /// Pods whose usage is summed up.
    pub pods: CountKey,
    /// Name of the resource.
    pub resource: Arc<str>,
}

impl SumKey {
    /// Whether a sum by it may be kept beyond the read that needs it.
    pub fn is_kept(&self) -> bool {
        self.pods.is_kept() && self.resource.len() <= SUM_RESOURCE_BYTES
    }
}

/// A total per row over the pods that match selectors.
pub(crate) trait Measure: Clone + Debug + Eq + Hash {
    /// Type of one row's total.
    type Total: Copy + Debug + Default + PartialEq;

    /// Limits on the totals that are kept: their number, and their bytes.
    const MOST: (usize, usize);

    /// Name of the total in drift reports.
    const NAME: &'static str;

    /// Returns the key of the pods that are measured.
    fn pods(&self) -> &CountKey;

    /// Whether a total by it may be kept beyond the read that needs it.
    fn may_be_kept(&self) -> bool;

    /// Adds a pod that uses this to a total, or removes it.
    fn change(&self, delta: Delta, total: &mut Self::Total, usage: &Amounts);

    /// Per code of what a pod uses, what it adds; empty where every pod adds the same.
    fn by_usage(&self, usages: &Column<Arc<Amounts>>) -> Vec<Self::Total>;

    /// The total of pods whose class is marked in `counted`.
    fn total(pods: &[PodCode], counted: &[bool], by_usage: &[Self::Total]) -> Self::Total;

    /// Per row the total over pods whose class is marked in `counted`; `None` once `go_on` returns false.
    fn totals(
        &self,
        population: &Population,
        counted: &[bool],
        go_on: &dyn Fn() -> bool,
    ) -> Option<Column<Self::Total>> {
        let by_usage = self.by_usage(population.usages());
        let mut rows = Column::default();
        let mut unasked = 0;
        for pods in population.rows() {
            unasked += pods.len();
            if unasked >= COUNT_STRIDE_PODS {
                unasked = 0;
                if !go_on() {
                    return None;
                }
            }
            rows.push(Self::total(pods, counted, &by_usage));
        }
        Some(rows)
    }

    /// How many of them are kept at most where there are so many rows.
    fn most(rows: usize) -> usize {
        let (most, bytes) = Self::MOST;
        (bytes / (rows * size_of::<Self::Total>()).max(1)).clamp(1, most)
    }
}

fn is_counted(counted: &[bool], pod: PodCode) -> bool {
    counted.get(pod.class as usize) == Some(&true)
}

impl Measure for CountKey {
    type Total = u32;
    const MOST: (usize, usize) = (COUNTS, COUNTS_BYTES);
    const NAME: &'static str = "pods that match a selector";

    fn pods(&self) -> &CountKey {
        self
    }

    fn may_be_kept(&self) -> bool {
        self.is_kept()
    }

    fn change(&self, delta: Delta, total: &mut u32, _: &Amounts) {
        delta.apply_to(total);
    }

    fn by_usage(&self, _: &Column<Arc<Amounts>>) -> Vec<u32> {
        Vec::new()
    }

    fn total(pods: &[PodCode], counted: &[bool], _: &[u32]) -> u32 {
        // A node never comes near 2^32 pods.
        u32::try_from(pods.iter().filter(|pod| is_counted(counted, **pod)).count()).unwrap_or(u32::MAX)
    }
}

impl Measure for SumKey {
    type Total = i64;
    const MOST: (usize, usize) = (SUMS, SUMS_BYTES);
    const NAME: &'static str = "what pods that match a selector use";

    fn pods(&self) -> &CountKey {
        &self.pods
    }

    fn may_be_kept(&self) -> bool {
        self.is_kept()
    }

    fn change(&self, delta: Delta, total: &mut i64, usage: &Amounts) {
        // Sums of resources wrap, as in Go.
        *total = total.wrapping_add(delta.sign().wrapping_mul(amount_of(usage, &self.resource)));
    }

    fn by_usage(&self, usages: &Column<Arc<Amounts>>) -> Vec<i64> {
        usages.iter().map(|usage| amount_of(usage, &self.resource)).collect()
    }

    fn total(pods: &[PodCode], counted: &[bool], by_usage: &[i64]) -> i64 {
        let amounts = pods.iter().filter(|pod| is_counted(counted, **pod));
        let amounts = amounts.map(|pod| by_usage.get(pod.usage as usize).copied().unwrap_or(0));
        amounts.fold(0, i64::wrapping_add)
    }
}
