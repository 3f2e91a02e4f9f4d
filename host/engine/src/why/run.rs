//! The answer to why a pod is pending: one evaluation of each predicate, and what follows from it. Start at [`Engine::why`].

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use nodesift_cache::Snapshot;
use nodesift_cache::metadata::PodRecord;

use super::answer::{HelpfulEdit, WhyAnswer, WhyOptions};
use super::rejections::Rejections;
use super::view::View;
use super::words::Words;
use super::{evidence, help, nearest};
use crate::answer::PodAnswer;
use crate::evaluate::query_run::QueryRun;
use crate::facts::Batch;
use crate::limits::WHY_NEAREST;
use crate::pending::{Cause, LastAsked, Reason};
use crate::policy::ActivePolicy;
use crate::policy::running::Running;
use crate::query::{Depth, Nodes, PodRef, Query, Unknown};
use crate::subject::Subject;
use crate::{Engine, Error};

/// One pod to explain, with what is known of it beside the answer.
struct Asked<'a> {
    query: &'a Query,
    pod: PodRef,
    record: Arc<PodRecord>,
}

impl Engine {
    /// Why the only pod of a query is pending, on a snapshot that may be one with an overlay. Each predicate is evaluated, whatever the
    /// depth of the query.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnePod`] where the query has not one pod, [`Error::AlreadyPlaced`] where the cache has it bound,
    /// [`Error::UnknownPod`] where the cache does not have it, and those of [`Engine::answer`].
    pub fn why(&self, query: &Query, snapshot: &Arc<Snapshot>, wanted: &WhyOptions) -> Result<WhyAnswer, Error> {
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) {
            return Err(Error::OlderThanPolicy);
        }
        let asked = self.asked_about(query)?;
        let each = asked.query(Depth::Each);
        let mut answers = self.answer_by(&running, None, &each, snapshot, Unknown::AreNamed)?;
        let mut answer = answers.pods.pop().ok_or(Error::NotOnePod)?;
        if let Some(error) = answer.error.take() {
            return Err(*error);
        }
        let (batch, _) = query.nodes.batch(snapshot, Unknown::AreNamed)?;
        let subject = self.subject(&asked.pod, &running.policy)?;
        let subject = Subject { is_negotiated: query.is_negotiated, ..subject };
        let context = subject.context(snapshot, batch.clone());
        let rejections = Rejections::new(&answer, snapshot.node_count());
        let view = View::new(&context, &answer, &rejections, &running.policy, self.cache.pods(), query.deadline);
        let evidence::Found { evidence, contradicted } = evidence::find(&view)?;
        if contradicted > 0 {
            self.metrics.contradicted_facts.inc_by(u64::try_from(contradicted).unwrap_or(u64::MAX));
            tracing::debug!(pod = %answer.pod, contradicted, "verdicts contradict facts of an explanation, which are left out");
        }
        let nearest = nearest::find(&view, wanted.nearest.min(WHY_NEAREST))?;
        view.check()?;
        let (funnel, alone) = (rejections.funnel(&answer.failures), rejections.each());
        let groups = wanted.by.as_deref().map(|by| rejections.groups(by, snapshot));
        let edits = match wanted.help {
            true => help::edits(&subject.facts, &evidence, subject.account.is_some()),
            false => (Vec::new(), 0),
        };
        let (help, help_unevaluated) =
            self.evaluated_edits(&asked, &running, snapshot, &batch, &subject, &answer, edits);
        let (reason, since, last_asked) = self.reason_of(&asked, snapshot, &answer, &running);
        let Rejections { cells, .. } = rejections;
        Ok(WhyAnswer {
            snapshot: Arc::clone(snapshot),
            policy_generation: running.policy.generation,
            pod: answer,
            unknown_nodes: answers.unknown_nodes,
            reason,
            since,
            asked: last_asked,
            funnel,
            alone,
            groups,
            evidence,
            contradicted,
            nearest,
            cells,
            help,
            help_unevaluated,
        })
    }

    /// The pod of a query, looked up once: a later look might find another state of it.
    fn asked_about<'a>(&self, query: &'a Query) -> Result<Asked<'a>, Error> {
        let [pod] = query.pods.as_slice() else { return Err(Error::NotOnePod) };
        let record = self.record(pod)?;
        if let PodRef::Whole(_) = pod {
            return Ok(Asked { query, pod: pod.clone(), record });
        }
        if let Some(node) = &record.node_name
            && !self.cache.pods().is_assumed(&record.uid)
        {
            return Err(Error::AlreadyPlaced { pod: pod.to_string(), node: node.to_string() });
        }
        Ok(Asked { query, pod: PodRef::Known(Arc::clone(&record)), record })
    }

    /// The cause of the pod, since when it has it, and when a core last asked about it.
    fn reason_of(
        &self,
        asked: &Asked<'_>,
        snapshot: &Snapshot,
        answer: &PodAnswer,
        running: &Running,
    ) -> (Reason, Option<SystemTime>, LastAsked) {
        let record = &*asked.record;
        let listed = self.pending().listed();
        let listed = listed.as_ref().and_then(|listed| listed.pod(&record.namespace, &record.name));
        let is_whole = matches!(asked.pod, PodRef::Whole(_));
        let listed = listed.filter(|listed| listed.record.uid == record.uid && !is_whole);
        // The list may be older than the assumption.
        let since = |cause: Cause| listed.filter(|listed| listed.reason.cause == cause).map(|listed| listed.since());
        if let Some(node) = record.node_name.as_ref().filter(|_| !is_whole) {
            return (Reason::assumed_on(node), since(Cause::Assumed), LastAsked::Unknown);
        }
        // What supposes another cluster, another pod or fewer predicates says nothing about when cores ask.
        let is_real = asked.query.nodes == Nodes::All
            && asked.query.skip.is_empty()
            && snapshot.overlaid_rows().is_none()
            && listed.is_some();
        let last_asked = match listed.filter(|_| is_real) {
            Some(listed) => self.asked().last_asked(&answer.pod, listed.first.elapsed()),
            None => LastAsked::Unknown,
        };
        let reason = Reason::find(record, answer, &running.policy, last_asked);
        let since = since(reason.cause);
        (reason, since, last_asked)
    }

    /// Evaluates edits in half of the time that is left, so that the other half is for the answer. Returns those that make more nodes fit,
    /// those that gain most first, and of how many it is not known what they would do, with those that were left out before. That is all of
    /// them where a predicate had a fault, since without that nodes may fit as well.
    ///
    /// The predicates are called beside the active policy, with a store of their own: what nobody submits puts none of them in quarantine,
    /// is no debt of the pod's namespace, and pushes out no verdict that cores find. All edits share what they leave as it is.
    #[allow(clippy::too_many_arguments, reason = "all of one evaluation")]
    fn evaluated_edits(
        &self,
        asked: &Asked<'_>,
        running: &Running,
        snapshot: &Arc<Snapshot>,
        batch: &Batch,
        subject: &Subject,
        answer: &PodAnswer,
        (edits, left_out): (Vec<help::Edit>, usize),
    ) -> (Vec<HelpfulEdit>, usize) {
        if edits.is_empty() || !answer.faults.is_empty() {
            return (Vec::new(), edits.len() + left_out);
        }
        let until = asked.query.deadline.map(|deadline| {
            let now = Instant::now();
            now + deadline.saturating_duration_since(now) / 2
        });
        let beside = self.alternative(ActivePolicy { throttle: Arc::default(), ..(*running.policy).clone() });
        let rows = snapshot.node_count();
        let fits = Words::from_set(&answer.feasible, rows);
        let query = asked.query(Depth::FirstFailure);
        let (mut helpful, mut unevaluated, all) = (Vec::new(), left_out, edits.len());
        for (at, edit) in edits.into_iter().enumerate() {
            let facts = Arc::new(edit.apply(&subject.facts));
            let edited = Subject { facts, throttle: Arc::clone(&beside.policy().throttle), ..subject.clone() };
            let mut run = QueryRun::new(self, beside.running(), &query, snapshot, batch.clone());
            let answer = match run.answer(edited, until) {
                // A fault that is ignored lets nodes fit, and must not look like help.
                Ok(answer) if answer.faults.is_empty() => answer,
                Err(Error::DeadlineExceeded) => {
                    unevaluated += all - at;
                    break;
                }
                Ok(_) | Err(_) => {
                    unevaluated += 1;
                    continue;
                }
            };
            let gained = Words::from_set(&answer.feasible, rows).less(&fits).count();
            if gained > 0 {
                let (feasible, caveat) = (answer.feasible.len(), edit.caveat());
                helpful.push(HelpfulEdit { edit: edit.to_string(), gained, feasible, caveat });
            }
        }
        helpful.sort_by_key(|edit| std::cmp::Reverse(edit.gained));
        (helpful, unevaluated)
    }
}

impl Asked<'_> {
    /// The query about this state of the pod alone. It is nobody's question who is to place it.
    fn query(&self, depth: Depth) -> Query {
        let Query { nodes, phase, deadline, skip, is_negotiated, .. } = self.query;
        let query = Query::new([self.pod.clone()]).with_nodes(nodes.clone()).with_phase(*phase).with_depth(depth);
        query.with_deadline(*deadline).with_skip(skip.clone()).with_negotiated(*is_negotiated)
    }
}
