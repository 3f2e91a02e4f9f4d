//! Steps of a question about terms, which may end before they are all taken. Start at [`Steps::take`].

use crate::limits::TERM_STRIDE_STEPS;
use crate::metadata::{LabelRequirement, PodSelector};

/// Counts steps, and asks every [`TERM_STRIDE_STEPS`] of them whether there is time left. A question with fewer steps never asks.
pub(crate) struct Steps<'a> {
    go_on: &'a dyn Fn() -> bool,
    /// Steps since the last time that it was asked.
    taken: usize,
}

impl<'a> Steps<'a> {
    /// Steps that end once `go_on` returns false.
    pub(crate) fn new(go_on: &'a dyn Fn() -> bool) -> Self {
        Self { go_on, taken: 0 }
    }

    /// Takes so many steps; `None` once there is no time left.
    pub(crate) fn take(&mut self, steps: usize) -> Option<()> {
        self.taken = self.taken.saturating_add(steps);
        if self.taken < TERM_STRIDE_STEPS {
            return Some(());
        }
        self.taken = 0;
        (self.go_on)().then_some(())
    }

    /// Takes the steps of comparing a pod with a selector.
    pub(super) fn take_match(&mut self, selector: &PodSelector) -> Option<()> {
        self.take(Self::of_match(selector))
    }

    /// Takes the steps of sorting so many things.
    pub(super) fn take_sort(&mut self, things: usize) -> Option<()> {
        let comparisons = things.checked_ilog2().map_or(0, |of_each| things.saturating_mul(of_each as usize));
        self.take(comparisons)
    }

    /// Takes the steps of hashing a term with a selector, which goes through all that it lists: a step for every eight values, which take
    /// as long as to look at a term.
    pub(super) fn take_hash(&mut self, selector: &PodSelector) -> Option<()> {
        let of_namespaces = selector.namespace_requirements.iter().flatten();
        let values: usize = of_namespaces.chain(&selector.requirements).map(LabelRequirement::listed).sum();
        self.take((selector.namespaces.len() + values) / 8)
    }

    /// The steps of comparing a pod with a selector: one, and one more for each thing that the selector lists.
    pub(super) fn of_match(selector: &PodSelector) -> usize {
        let of_namespaces = selector.namespace_requirements.as_ref().map_or(0, Vec::len);
        1 + of_namespaces + selector.requirements.len()
    }
}
