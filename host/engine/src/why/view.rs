//! The rejections beside the facts of the pod and the modules of the policy: what evidence is derived from. Start at [`View`].

use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::{PodIndex, Row};
use nodesift_sandbox::Interface;

use super::rejections::Rejections;
use super::words::Words;
use crate::Error;
use crate::answer::PodAnswer;
use crate::facts::Context;
use crate::policy::{ActivePolicy, ActivePredicate};

/// Rows between two looks at the clock.
pub(super) const CHECKED_ROWS: usize = 1_024;

/// One pod, what rejects its nodes, and what it and they are.
pub(super) struct View<'a> {
    pub(super) context: &'a Context,
    pub(super) answer: &'a PodAnswer,
    pub(super) rejections: &'a Rejections,
    /// Pods by name, which may be newer than the snapshot.
    pub(super) pods: &'a PodIndex,
    deadline: Option<Instant>,
    /// By index in the funnel; `None` where the predicate had a fault, or where no module made the verdict.
    modules: Vec<Option<&'a ActivePredicate>>,
}

/// Predicates that import an interface and reject some row.
pub(super) struct Importers {
    pub(super) predicates: Vec<Arc<str>>,
    /// Rows that some of them rejects.
    pub(super) rows: Words,
}

impl<'a> View<'a> {
    pub(super) fn new(
        context: &'a Context,
        answer: &'a PodAnswer,
        rejections: &'a Rejections,
        policy: &'a ActivePolicy,
        pods: &'a PodIndex,
        deadline: Option<Instant>,
    ) -> Self {
        let module = |name: &Arc<str>| {
            let is_faulty = answer.faults.iter().any(|report| report.predicate == *name);
            policy.predicates.iter().find(|predicate| !is_faulty && predicate.name == *name)
        };
        let modules = rejections.predicates.iter().map(module).collect();
        Self { context, answer, rejections, pods, deadline, modules }
    }

    /// Whether there is time left.
    pub(super) fn goes_on(&self) -> bool {
        self.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }

    /// Fails where the time is up. Between facts, since one walk over all rows takes about a millisecond.
    ///
    /// # Errors
    ///
    /// [`Error::DeadlineExceeded`].
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.goes_on() { Ok(()) } else { Err(Error::DeadlineExceeded) }
    }

    /// The evaluated rows for which a test holds that may take microseconds.
    ///
    /// # Errors
    ///
    /// [`Error::DeadlineExceeded`], looked for every [`CHECKED_ROWS`] rows.
    pub(super) fn rows_with(&self, test: impl Fn(Row) -> bool) -> Result<Words, Error> {
        let mut rows = Words::none(self.rejections.rows);
        for (at, row) in self.rejections.batch.iter().enumerate() {
            if at.is_multiple_of(CHECKED_ROWS) {
                self.check()?;
            }
            if test(row) {
                rows.insert(row);
            }
        }
        Ok(rows)
    }

    /// Whether the predicate at an index of the funnel imports an interface, and had no fault.
    pub(super) fn imports(&self, at: usize, interface: Interface) -> bool {
        let module = self.modules.get(at).copied().flatten();
        module.is_some_and(|predicate| predicate.module.imports().contains(&interface))
    }

    /// The predicates that import an interface and reject some row; `None` where there are none.
    pub(super) fn importers(&self, interface: Interface) -> Option<Importers> {
        let mut importers = Importers { predicates: Vec::new(), rows: Words::none(self.rejections.rows) };
        for (at, (predicate, rows)) in self.rejections.predicates.iter().zip(&self.rejections.alone).enumerate() {
            if self.imports(at, interface) && !rows.is_empty() {
                importers.predicates.push(Arc::clone(predicate));
                importers.rows.add(rows);
            }
        }
        (!importers.predicates.is_empty()).then_some(importers)
    }

    /// Evaluated rows that no predicate rejects but those that import an interface.
    pub(super) fn free_of_others(&self, interface: Interface) -> Words {
        let mut others = Words::none(self.rejections.rows);
        for (at, rows) in self.rejections.alone.iter().enumerate() {
            if !self.imports(at, interface) {
                others.add(rows);
            }
        }
        self.rejections.batch.less(&others)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;

    use nodesift_cache::metadata;
    use nodesift_object::{Node, Pod};
    use nodesift_sandbox::Runtime;
    use serde_json::json;

    use super::*;
    use crate::facts::Batch;
    use crate::{Depth, Engine, Options, PodRef, Query};

    #[test]
    fn nothing_is_walked_once_the_time_is_up() {
        let (mut writer, reader) = nodesift_cache::new();
        let nodes = 2 * CHECKED_ROWS;
        for number in 0..nodes {
            let node: Node = serde_json::from_value(json!({"metadata": {"name": format!("n{number}")}})).unwrap();
            writer.apply(metadata::node(&node));
        }
        writer.publish();
        let policy = ActivePolicy::new(vec!["default-scheduler".to_owned()], Vec::new());
        let engine = Engine::new(reader, policy, Runtime::start(None).unwrap());
        let (snapshot, policy) = (engine.snapshot(), engine.policy());
        let metadata = json!({"name": "p", "namespace": "ns", "uid": "u"});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": {}})).unwrap();
        let context = Context::for_pod(&pod, &policy, 0, &snapshot, Batch::All);
        let query = Query::new([PodRef::Whole(Box::new(pod))]).with_depth(Depth::Each);
        let answer = engine.answer(&query, Options::on(&snapshot)).unwrap().pods.pop().unwrap();
        let rejections = Rejections::new(&answer, snapshot.node_count());
        let view = |deadline| View::new(&context, &answer, &rejections, &policy, engine.cache.pods(), deadline);
        let walked = Cell::new(0);
        let count = |_| {
            walked.set(walked.get() + 1);
            true
        };
        assert_eq!(view(None).rows_with(count).unwrap().count(), nodes);
        assert_eq!(walked.take(), nodes);
        let late = view(Some(Instant::now()));
        assert!(matches!(late.check(), Err(Error::DeadlineExceeded)));
        assert!(matches!(late.rows_with(count), Err(Error::DeadlineExceeded)));
        assert_eq!(walked.get(), 0);
    }
}
