//! Scores of a trial, judged as an answer would judge it: a pod can be scored, and its scores are from 0 to 100 once they are
//! normalized. Start at [`Judge::try_scorer`].

use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::Interface;
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::wire::scoring::{NO_SCORE, Scores};

use super::tried;
use crate::evaluate::evaluator::Evaluator;
use crate::facts::{Batch, Context};
use crate::policy::{ActivePolicy, ActivePredicate, Phase};
use crate::scores::normalized;

/// Tries scorers with one pod of the sample.
pub(super) struct Judge<'a> {
    /// The policy that is tried, as one whose calls are not counted.
    policy: &'a ActivePolicy,
    /// The facts about the pod and the rows of the sample.
    context: &'a Arc<Context>,
    /// The rows of the sample.
    sample: &'a [Row],
    /// Rows that the pod fits by all predicates of the policy; known once some score needs it.
    fitting: Option<Vec<Row>>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(policy: &'a ActivePolicy, context: &'a Arc<Context>, sample: &'a [Row]) -> Self {
        Self { policy, context, sample, fitting: None }
    }

    /// Has a scorer score the pod, to which every node is feasible. What it says of nodes that the pod does not fit counts for nothing: which
    /// these are is asked only where some score is outside of its range, since cluster-wide predicates take long.
    ///
    /// # Errors
    ///
    /// The fault of the call; [`FaultKind::MalformedVerdict`] where a score is not from 0 to 100, [`FaultKind::Unsupported`] where the pod
    /// cannot be scored, [`FaultKind::RequestDeadline`] where the time for the trial is over.
    pub(super) fn try_scorer(&mut self, scorer: &ActivePredicate) -> Result<(), Fault> {
        let about = match scorer.module.is_cluster_wide() {
            true => Arc::new(self.context.over(Batch::All)),
            false => Arc::clone(self.context),
        };
        let scores = call(scorer, &about)?;
        match judge(scorer, &about, &scores, self.sample) {
            Err(fault) if fault.kind == FaultKind::MalformedVerdict => {}
            judged => return judged,
        }
        if !scorer.module.imports().contains(&Interface::ClusterCandidates) {
            return judge(scorer, &about, &scores, self.fitting()?);
        }
        // Its scores were about other nodes that fit.
        let fitting = fitting(self.policy, &about)?;
        if fitting.is_empty() {
            return Ok(());
        }
        let about = Arc::new(about.among(&fitting));
        judge(scorer, &about, &call(scorer, &about)?, &fitting)
    }

    /// The rows of the sample that the pod fits.
    fn fitting(&mut self) -> Result<&[Row], Fault> {
        let known = match self.fitting.take() {
            Some(known) => known,
            None => fitting(self.policy, self.context)?,
        };
        let known: &[Row] = self.fitting.insert(known);
        Ok(known)
    }
}

/// The rows of a context that its pod fits.
fn fitting(policy: &ActivePolicy, context: &Arc<Context>) -> Result<Vec<Row>, Fault> {
    let evaluation = Evaluator::new(policy, Phase::Allocate, None).evaluate(context);
    let is_over = |_| Fault::new(FaultKind::RequestDeadline, "the time for the trial is over");
    Ok(evaluation.map_err(is_over)?.conjunction.feasible().iter().collect())
}

fn call(scorer: &ActivePredicate, about: &Arc<Context>) -> Result<Scores, Fault> {
    tried(scorer, about, |facts, rows, until| scorer.module.score(facts, rows, until))
}

/// Judges what a scorer says of these rows.
fn judge(scorer: &ActivePredicate, about: &Context, scores: &Scores, rows: &[Row]) -> Result<(), Fault> {
    let scores = match scores {
        Scores::Skip => return Ok(()),
        Scores::Failed(text) => {
            return Err(Fault::new(FaultKind::Unsupported, &format!("the pod cannot be scored: {text}")));
        }
        Scores::ByRow(scores) => scores,
    };
    let place = |row: &Row| match about.batch() {
        Batch::All => Some(row.index()),
        Batch::Rows(batch) => batch.iter().position(|known| known == row),
    };
    let raw = rows.iter().map(|row| place(row).and_then(|place| scores.get(place)).copied().unwrap_or(NO_SCORE));
    normalized(&scorer.module, about.snapshot(), rows, &raw.collect::<Vec<_>>()).map(drop)
}
