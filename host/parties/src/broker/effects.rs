//! Effects of the state machine, carried out in their order, and what follows from them. Start at [`Broker::carry_out`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use nodesift_negotiation::{Call, Defect, Effect, Evaluate, Event, NegotiationId, Progress};
use tonic::Status;

use super::{Broker, Follower};
use crate::message;

impl Broker {
    /// Carries out effects, and what follows from them.
    pub(super) fn carry_out(&mut self, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        loop {
            while let Some(effect) = waiting.pop_front() {
                self.act(effect);
            }
            let Some(follower) = self.followers.pop_front() else { break };
            waiting.extend(match follower {
                Follower::Event(event) => self.core.step(event, Instant::now()),
                // One that has ended meanwhile need not be released.
                Follower::Release(id) => {
                    let owner = self.live.get(&id).map(|live| live.owner.clone()).unwrap_or_default();
                    self.core.release(id, &owner, Instant::now()).unwrap_or_default()
                }
                Follower::Allocated(pod) => {
                    self.tell_allocated(&pod);
                    Vec::new()
                }
            });
        }
        let usage = self.core.usage();
        self.metrics.show(&usage, self.attending.len());
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Call(party, call) => {
                let of = match &call {
                    Call::Ask(ask) => Some(ask.negotiation),
                    Call::Allocate(allocate) => Some(allocate.negotiation),
                    _ => None,
                };
                let live = of.and_then(|id| self.live.get(&id));
                let claims = live.map(|live| live.claims.as_slice()).unwrap_or_default();
                let record = match &call {
                    Call::Bound(bound) => self.service.reader().pods().by_uid(&bound.pod),
                    _ => live.map(|live| Arc::clone(&live.subject.record)),
                };
                let call = message::call(call, record.as_deref(), claims);
                let Some(attending) = self.attending.get(&party) else { return };
                self.metrics.called(&party, &call);
                attending.called.note();
                if !attending.calls.push(&call) {
                    let session = attending.session;
                    tracing::warn!(party = &*party, session, "party does not read its calls: its stream is cut off");
                    self.attending.remove(&party);
                    self.followers.push_back(Follower::Event(Event::Left { party, session }));
                }
            }
            Effect::Tell { negotiation, round, progress: progress @ Progress::Allocated(_) } => {
                if let Some(live) = self.live.get(&negotiation) {
                    let pod = &live.subject.record.uid;
                    self.allocated.insert(Arc::clone(pod), (negotiation, round, progress));
                    // After the effects that follow: it may be that there is nothing to record.
                    self.followers.push_back(Follower::Allocated(Arc::clone(pod)));
                }
            }
            Effect::Tell { negotiation, round, progress } => self.tell(negotiation, round, progress),
            Effect::Evaluate(asked) => self.evaluate(asked),
            Effect::Rows { party, subject, changes } => self.works.set_rows(party, subject, changes),
            Effect::Assume { negotiation, node, claims, decision, .. } => {
                if let Some(live) = self.live.get(&negotiation) {
                    let decision = self.decided.assume(&live.subject.record, &node, decision);
                    self.works.assume(negotiation, &live.subject, (node, claims), decision, &live.scope);
                }
            }
            Effect::Decide(decision) => {
                self.ends.note(&decision);
                if let Some(recorded) = self.decided.decide(&decision) {
                    self.works.decide(decision.pod, recorded);
                }
            }
            Effect::Forget { pod } => self.works.forget(pod),
            Effect::Woken { party, owner, pods } => self.wake(&party, &owner, &pods),
            Effect::Refuse(id, refusal) => self.refuse(id, &refusal),
            Effect::Over(id) => self.forget(id),
            Effect::Defect(party, defect) => self.note_defect(&party, &defect),
        }
    }

    fn evaluate(&mut self, asked: Evaluate) {
        let Some(live) = self.live.get_mut(&asked.negotiation) else { return };
        let evaluating = self.works.evaluate(live.subject.clone(), asked, &live.scope);
        if let Some(before) = live.evaluating.replace(evaluating) {
            before.abort();
        }
    }

    /// A negotiation has ended.
    pub(super) fn forget(&mut self, id: NegotiationId) {
        let Some(live) = self.live.remove(&id) else { return };
        let pod = &live.subject.record.uid;
        if self.allocated.get(pod).is_some_and(|(of, ..)| *of == id) {
            self.allocated.remove(pod);
        }
        if let Some(evaluating) = live.evaluating {
            evaluating.abort();
        }
        for stream in live.negotiate.iter().chain(&live.select) {
            stream.end(Status::ok(""));
        }
    }

    fn note_defect(&self, party: &Arc<str>, defect: &Defect) {
        self.metrics.note_defect(party, defect);
        match defect {
            Defect::Malformed(error) => tracing::warn!(party = &**party, %error, "party said what counts for nothing"),
            Defect::Silent => tracing::debug!(party = &**party, "party is silent"),
            Defect::Quarantined => {
                tracing::warn!(party = &**party, "party is silent too often: it is not asked for a while")
            }
        }
    }
}
