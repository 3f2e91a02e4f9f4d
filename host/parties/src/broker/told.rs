//! Events that cores are told: those of negotiations, on the streams of their calls, and words of parties about pods that wait. Start at
//! [`Broker::tell`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift_api::Error;
use nodesift_api::parties::Outbox;
use nodesift_negotiation::{Event, Failure, NegotiationId, Owner, Progress, Refusal};
use tonic::Status;

use super::{Broker, Follower};
use crate::message;
use crate::refusal::refused;

impl Broker {
    /// Tells the streams of a negotiation what has happened, and ends those for which that is the last.
    pub(super) fn tell(&mut self, id: NegotiationId, round: u32, progress: Progress) {
        if let Progress::Refused(refused) = progress {
            if let Some(live) = self.live.get_mut(&id) {
                live.refused = refused;
            }
            return;
        }
        self.metrics.told(&progress, self.live.get(&id).map(|live| live.began.elapsed()));
        let allocation = match &progress {
            Progress::Asked { parties, .. } => Some(self.allocation_time(parties)),
            _ => None,
        };
        let Some(live) = self.live.get_mut(&id) else { return };
        let is_agreed = matches!(progress, Progress::Ended(nodesift_negotiation::End::Viable));
        let ends_negotiate = matches!(progress, Progress::Selected(_) | Progress::Failed(_) | Progress::Ended(_));
        let ends_select = matches!(progress, Progress::Allocated(_) | Progress::Failed(_) | Progress::Ended(_));
        let is_over = matches!(progress, Progress::Failed(_) | Progress::Ended(_)) && !is_agreed;
        live.allocation = allocation.unwrap_or(live.allocation);
        let event =
            message::event(id.0, round, live.version.clone(), progress, (live.refused.as_slice(), live.allocation));
        let mut is_cut = false;
        for (stream, ends) in [(&mut live.negotiate, ends_negotiate), (&mut live.select, ends_select)] {
            let Some(outbox) = stream else { continue };
            let is_pushed = outbox.push(&event);
            is_cut |= !is_pushed;
            if ends {
                outbox.end(Status::ok(""));
            }
            if ends || !is_pushed {
                *stream = None;
            }
        }
        if is_over {
            self.forget(id);
        } else if is_cut && self.live.get(&id).is_some_and(|live| live.select.is_none() && !live.is_assumed) {
            // Nobody is there any more for whom to negotiate.
            self.followers.push_back(Follower::Release(id));
        }
    }

    /// Tells that all parties have allocated for a pod, once nothing of that is left to record.
    pub(super) fn tell_allocated(&mut self, pod: &Arc<str>) {
        if self.works.is_busy(pod) {
            return;
        }
        if let Some((id, round, progress)) = self.allocated.remove(pod) {
            self.tell(id, round, progress);
        }
    }

    /// Another sidecar gives back what is held for a pod: its core is told that before it binds, and everything else is given back.
    pub(super) fn lose(&mut self, pod: Arc<str>) {
        if let Some((id, round, _)) = self.allocated.remove(&pod) {
            let reason = "another sidecar gives back what the parties have allocated".into();
            self.tell(id, round, Progress::Failed(Failure { party: None, claim: None, reason }));
        }
        self.step(Event::PodGone(pod));
    }

    /// Time that these parties may take to allocate by the policy: the longest of theirs; zero where it does not say.
    fn allocation_time(&self, parties: &[Arc<str>]) -> Duration {
        let policy = self.service.engine().policy();
        let deciding = policy.settings.parties.iter().filter(|known| parties.contains(&known.party.name));
        deciding.filter_map(|known| known.deadline).max().unwrap_or_default()
    }

    /// Ends the streams of a negotiation as one that begins would be refused.
    pub(super) fn refuse(&mut self, id: NegotiationId, refusal: &Refusal) {
        if let Some(live) = self.live.get(&id) {
            for stream in live.negotiate.iter().chain(&live.select) {
                stream.end(Status::resource_exhausted(refusal.to_string()));
            }
        }
        self.forget(id);
    }

    /// Tells whoever follows what parties say of pods that a party may say something else about them.
    pub(super) fn wake(&mut self, party: &Arc<str>, owner: &Owner, pods: &[Arc<str>]) {
        let word = message::word(party, pods);
        self.listeners.tell(owner, &word, Instant::now());
    }

    /// Follows what parties say of pods that wait for them.
    pub(super) fn follow(&mut self, number: u64, owner: Owner, events: Outbox) -> Result<(), Error> {
        if !self.listeners.add(number, owner, events) {
            return Err(refused(Refusal::Full("the number of streams of what parties say")));
        }
        Ok(())
    }
}
