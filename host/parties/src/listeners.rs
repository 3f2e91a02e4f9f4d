//! Cores that follow what parties say of pods that wait, and those of them that are lost. Start at [`Listeners`].

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nodesift_api::parties::Outbox;
use nodesift_negotiation::{Class, Owner};
use nodesift_proto::v1;

use crate::limits::FOLLOWERS;

/// Open streams of cores that follow, by number, and clients whose last one has ended a short while ago.
#[derive(Debug)]
pub(crate) struct Listeners {
    streams: BTreeMap<u64, (Owner, Outbox)>,
    /// Since when. Of [`FOLLOWERS`] clients at most: what others have selected ends by its own time.
    away: BTreeMap<Owner, Instant>,
    /// For how long a client may be away until it is lost.
    grace: Duration,
}

impl Listeners {
    pub(crate) fn new(grace: Duration) -> Self {
        Self { streams: BTreeMap::new(), away: BTreeMap::new(), grace }
    }

    /// A client follows, on the stream of this number. False where there are [`FOLLOWERS`] already; it is there in any case.
    pub(crate) fn add(&mut self, number: u64, owner: Owner, events: Outbox) -> bool {
        self.away.remove(&owner);
        let has_room = self.streams.len() < FOLLOWERS;
        if has_room {
            self.streams.insert(number, (owner, events));
        }
        has_room
    }

    /// A stream has ended.
    pub(crate) fn remove(&mut self, number: u64, now: Instant) {
        let Some((owner, _)) = self.streams.remove(&number) else { return };
        let follows = self.streams.values().any(|(of, _)| *of == owner);
        // Clients without a name cannot be told apart: one that leaves says nothing of the others.
        let is_named = owner.class == Class::Local || !owner.identity.is_empty();
        if is_named && !follows && self.away.len() < FOLLOWERS {
            self.away.insert(owner, now);
        }
    }

    /// Tells a client, on all of its streams. One that is not read ends.
    pub(crate) fn tell(&mut self, owner: &Owner, word: &v1::PartyWord, now: Instant) {
        let of_owner = self.streams.iter().filter(|(_, (of, _))| of == owner);
        let unread: Vec<u64> =
            of_owner.filter(|(_, (_, events))| !events.push(word)).map(|(number, _)| *number).collect();
        for number in unread {
            self.remove(number, now);
        }
    }

    /// Whether any client is away.
    pub(crate) fn misses_any(&self) -> bool {
        !self.away.is_empty()
    }

    /// Begins the grace of all clients that are away anew, while what they have bound is not seen.
    pub(crate) fn wait_anew(&mut self, now: Instant) {
        self.away.values_mut().for_each(|since| *since = now);
    }

    /// Takes the clients that have been away for so long that they are lost.
    pub(crate) fn take_lost(&mut self, now: Instant) -> Vec<Owner> {
        let grace = self.grace;
        let lost = self.away.extract_if(.., |_, since| now.saturating_duration_since(*since) >= grace);
        lost.map(|(owner, _)| owner).collect()
    }

    /// Returns all streams that are open.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &Outbox> {
        self.streams.values().map(|(_, events)| events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(30);

    fn owner(class: Class, identity: &str) -> Owner {
        Owner { class, identity: identity.into() }
    }

    fn follow(listeners: &mut Listeners, owner: &Owner) -> u64 {
        let number = listeners.streams.keys().last().map_or(0, |last| last + 1);
        assert!(listeners.add(number, owner.clone(), Outbox::closed()));
        number
    }

    #[test]
    fn a_client_is_lost_once_its_last_stream_has_been_away_for_the_grace() {
        let (mut listeners, begin) = (Listeners::new(GRACE), Instant::now());
        let core = owner(Class::Local, "uid:1");
        let (first, second) = (follow(&mut listeners, &core), follow(&mut listeners, &core));
        listeners.remove(first, begin);
        assert!(
            !listeners.misses_any() && listeners.take_lost(begin + GRACE).is_empty(),
            "another stream of it goes on"
        );
        listeners.remove(second, begin + GRACE);
        listeners.remove(second, begin);
        let almost = begin + 2 * GRACE - Duration::from_millis(1);
        assert!(listeners.misses_any() && listeners.take_lost(almost).is_empty());
        assert_eq!(listeners.take_lost(begin + 2 * GRACE), [core]);
        assert!(listeners.take_lost(begin + 9 * GRACE).is_empty(), "it is lost once");
    }

    #[test]
    fn a_client_that_comes_again_in_time_is_not_lost_and_another_is_not_it() {
        let (mut listeners, begin) = (Listeners::new(GRACE), Instant::now());
        let (back, gone) = (owner(Class::Local, "uid:1"), owner(Class::Remote, "uid:1"));
        for of in [&back, &gone] {
            let number = follow(&mut listeners, of);
            listeners.remove(number, begin);
        }
        follow(&mut listeners, &back);
        assert_eq!(listeners.take_lost(begin + GRACE), [gone]);
    }

    #[test]
    fn a_client_without_a_name_is_never_lost_and_one_that_reads_nothing_is() {
        let (mut listeners, begin) = (Listeners::new(GRACE), Instant::now());
        let (nobody, slow) = (owner(Class::Remote, ""), owner(Class::Remote, "slow"));
        for of in [&nobody, &slow] {
            follow(&mut listeners, of);
            // Its reader has left.
            listeners.tell(of, &v1::PartyWord { party: "a".to_owned(), pods: vec!["p".to_owned()] }, begin);
            listeners.tell(of, &v1::PartyWord { party: "a".to_owned(), pods: vec!["p".to_owned()] }, begin);
        }
        assert_eq!(listeners.streams().count(), 0);
        assert_eq!(listeners.take_lost(begin + GRACE), [slow]);
    }

    #[test]
    fn a_client_has_its_whole_grace_once_what_it_has_bound_is_seen_again() {
        let (mut listeners, begin) = (Listeners::new(GRACE), Instant::now());
        let core = owner(Class::Local, "uid:1");
        let number = follow(&mut listeners, &core);
        listeners.remove(number, begin);
        listeners.wait_anew(begin + GRACE);
        assert!(listeners.take_lost(begin + 2 * GRACE - Duration::from_millis(1)).is_empty());
        assert_eq!(listeners.take_lost(begin + 2 * GRACE), [core]);
    }

    #[test]
    fn so_many_streams_are_open_and_so_many_clients_are_away() {
        let (mut listeners, begin) = (Listeners::new(GRACE), Instant::now());
        for round in 0..2 {
            let client = |at: usize| owner(Class::Remote, &format!("{round}-{at}"));
            let numbers: Vec<u64> = (0..FOLLOWERS).map(|at| follow(&mut listeners, &client(at))).collect();
            assert!(!listeners.add(u64::MAX, client(FOLLOWERS), Outbox::closed()));
            numbers.into_iter().for_each(|number| listeners.remove(number, begin));
        }
        assert_eq!(listeners.take_lost(begin + GRACE).len(), FOLLOWERS);
    }

    #[test]
    fn a_client_that_finds_no_place_to_follow_is_not_lost() {
        let (mut listeners, begin) = (Listeners::new(GRACE), Instant::now());
        let (core, other) = (owner(Class::Local, "uid:1"), owner(Class::Local, "uid:2"));
        let number = follow(&mut listeners, &core);
        listeners.remove(number, begin);
        for _ in 0..FOLLOWERS {
            follow(&mut listeners, &other);
        }
        assert!(!listeners.add(u64::MAX, core, Outbox::closed()));
        assert!(listeners.take_lost(begin + GRACE).is_empty());
    }
}
