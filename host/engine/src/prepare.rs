//! Preparing for a question: a pending pod is evaluated before anybody asks about it, so that the answer is kept.

use std::sync::Arc;

use super::context::{Batch, Context};
use super::evaluate::{self, Source};
use super::question::{Depth, Nodes, PodRef, Question};
use super::{Engine, Reuse};
use crate::policy::Phase;

/// What came of preparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    /// The next question about the pod finds every verdict.
    Whole,
    /// Who asked for it wanted no more.
    Interrupted,
    /// The pod is bound, or gone; or nothing is kept at all.
    NotPending,
}

impl Engine {
    /// Evaluates a pending pod against the newest snapshot and keeps what comes out, as a question about all nodes in the
    /// allocate phase would; the verdicts of the reserve phase are among them. Before each predicate `goes_on` is asked.
    pub fn prepare(&self, uid: &str, goes_on: &dyn Fn() -> bool) -> Prepared {
        let pod = PodRef::Uid(uid.to_owned());
        let Ok(subject) = self.subject(&pod) else { return Prepared::NotPending };
        if self.reuse == Reuse::Off || subject.node_name.is_some() {
            return Prepared::NotPending;
        }
        let running = self.running.load();
        let question =
            Question { pods: vec![pod], nodes: Nodes::All, phase: Phase::Allocate, depth: Depth::FirstFailure };
        let context = Context::new(self.snapshot(), subject.facts, subject.node_name, Batch::All);
        let context = Arc::new(context.named(&subject.pod, &subject.uid));
        // One by one first, so that it can be left off; then together, from what is kept by now.
        let mut all_rows = None;
        for (place, predicate) in evaluate::asked(&running, &question) {
            if !goes_on() {
                return Prepared::Interrupted;
            }
            // A predicate that fails to answer is asked again by the question itself.
            let _fault = evaluate::reused(&running, place, predicate, &context, &mut all_rows);
        }
        evaluate::pod(&running, &question, &context, Source::Store);
        Prepared::Whole
    }
}
