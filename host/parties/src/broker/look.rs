//! Changes that the broker finds by itself: another policy, pods and claims that change; and its state for operators. Start at
//! [`Broker::look`].

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use nodesift_engine::ExplainedParties;
use nodesift_negotiation::{Event, NegotiationId, Party, Refusal};
use nodesift_proto::v1;

use super::{Broker, Follower};
use crate::limits::{FOLLOWER_SILENCE, RECORD_LOOK};
use crate::record::Decision;
use crate::refusal::refused;
use crate::view::{self, Counts, NegotiationState, Overview, PartyState};
use crate::watch::{self, Fate, Watched};
use crate::works::Done;

impl Broker {
    /// Goes on from decisions that were made before.
    pub(super) fn restore(&mut self, recorded: Vec<Decision>) {
        let pods = self.service.reader().clone();
        let is_bound = |uid: &str| pods.pods().by_uid(uid).is_some_and(|pod| pod.node_name.is_some());
        let decisions = recorded.into_iter().map(|recorded| {
            let is_bound = is_bound(&recorded.pod.uid);
            self.decided.restore(recorded, is_bound)
        });
        let decisions = decisions.collect();
        let effects = self.core.restore(decisions, Instant::now());
        self.carry_out(effects);
    }

    /// Takes the parties of the policy, where it is another one.
    pub(super) fn follow_policy(&mut self) {
        let policy = self.service.engine().policy();
        if self.policy.replace(policy.generation) == Some(policy.generation) {
            return;
        }
        let parties: Vec<Party> = policy.settings.parties.iter().map(|known| known.party.clone()).collect();
        let is_party = |name: &Arc<str>| parties.iter().any(|party| party.name == *name);
        let gone: Vec<Arc<str>> = self.attending.keys().filter(|name| !is_party(name)).cloned().collect();
        for name in gone {
            if let Some(attending) = self.attending.remove(&name) {
                let refusal = Refusal::UnknownParty(Arc::clone(&name));
                attending.calls.end(refused(refusal).into());
                self.followers.push_back(Follower::Event(Event::Left { party: name, session: attending.session }));
            }
        }
        match self.core.set_parties(parties, Instant::now()) {
            Ok(effects) => self.carry_out(effects),
            // A policy with such parties does not become active.
            Err(error) => tracing::error!(%error, "the parties of the policy are not taken"),
        }
    }

    /// Looks at what has changed without being told.
    pub(super) fn look(&mut self) {
        self.look_for_changes();
        // Last: pods that are bound are told before.
        self.give_up_lost();
    }

    fn look_for_changes(&mut self) {
        let pods = self.service.reader().clone();
        let snapshot = pods.snapshot();
        for (pod, shared) in self.ends.find(pods.pods(), &snapshot) {
            self.step(Event::Ended { pod, shared });
        }
        self.orders.prune();
        if self.looked_for_left.elapsed() >= RECORD_LOOK && !self.looks_for_left {
            self.looked_for_left = Instant::now();
            self.looks_for_left = true;
            self.works.find_left();
        }
        if self.live.is_empty() && self.attending.is_empty() {
            return;
        }
        self.follow_policy();
        if !self.watch.is_news(&snapshot) {
            return;
        }
        let claims =
            self.live.values().flat_map(|live| live.claims.iter().map(|claim| (&live.subject.record.uid, claim)));
        for (uid, facts) in self.watch.changed_claims(&snapshot, claims) {
            let (state, shared) = facts.map_or((None, false), |(state, shared)| (Some(state), shared));
            self.step(Event::Claim { uid, state, shared });
        }
        let watched = self.live.iter().map(|(id, live)| Watched {
            negotiation: *id,
            pod: Arc::clone(&live.subject.record.uid),
            is_assumed: live.is_assumed,
            is_known: live.subject.is_known,
        });
        // What is being done about a pod may show halfway.
        let (busy, idle): (Vec<_>, Vec<_>) = watched.partition(|watched| self.works.is_busy(&watched.pod));
        if !busy.is_empty() {
            self.watch.look_again();
        }
        let (assumed, others): (Vec<_>, Vec<_>) = idle.into_iter().partition(|watched| watched.is_assumed);
        for other in others {
            if let Some(fate) = watch::fate(pods.pods(), &other) {
                self.tell_fate(other.negotiation, fate, false);
            }
        }
        if !assumed.is_empty() {
            self.works.look(move |service| Done::Watched(watch::fates_of_assumed(service, &assumed)));
        }
    }

    /// Gives back what cores have selected that followed and are lost. What they have bound has to be seen before: nobody is lost while pods
    /// are not heard of, and their grace begins once they are.
    fn give_up_lost(&mut self) {
        if !self.listeners.misses_any() {
            return;
        }
        let now = Instant::now();
        let silence = self.service.staleness().silence_of_pods();
        if self.service.check().is_err() || silence.is_some_and(|silence| silence >= FOLLOWER_SILENCE) {
            return self.listeners.wait_anew(now);
        }
        for owner in self.listeners.take_lost(now) {
            tracing::info!(
                client = &*owner.identity,
                "a core that followed is gone: what it has selected is given back"
            );
            self.step(Event::Lost(owner));
        }
    }

    /// Tells what became of a pod, unless that was seen before it was assumed, or forgotten.
    pub(super) fn tell_fate(&mut self, id: NegotiationId, fate: Fate, was_assumed: bool) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let pod = Arc::clone(&live.subject.record.uid);
        if live.is_assumed != was_assumed || self.works.is_busy(&pod) {
            return self.watch.look_again();
        }
        if fate == Fate::Bound {
            live.is_assumed = false;
        }
        self.step(match fate {
            Fate::Bound => Event::Bound(pod),
            Fate::Gone => Event::PodGone(pod),
        });
    }

    pub(super) fn stances(&self, parties: &ExplainedParties) -> Vec<v1::PartyStance> {
        let seats = parties.seats.iter().map(|seat| (Arc::clone(&seat.party), seat.subject.clone()));
        #[allow(clippy::disallowed_methods, reason = "shown to people and never compared")]
        let (now, clock) = (Instant::now(), SystemTime::now());
        let stances = self.core.stances(&parties.pod, &seats.collect::<Vec<_>>(), now).into_iter();
        stances.map(|stance| view::stance(stance, now, clock)).collect()
    }

    pub(super) fn overview(&self) -> Overview {
        let now = Instant::now();
        let pod = |id: &NegotiationId| {
            let record = self.live.get(id).map(|live| &live.subject.record);
            record.map(|record| format!("{}/{}", record.namespace, record.name)).unwrap_or_default()
        };
        let negotiations = self.core.views().into_iter().map(|view| {
            let pod = pod(&view.id);
            NegotiationState::new(view, pod, now)
        });
        Overview {
            usage: Counts::new(self.core.usage()),
            parties: self.core.parties(now).iter().map(|view| PartyState::new(view, now)).collect(),
            negotiations: negotiations.collect(),
        }
    }
}
