//! The standing of a party: whether it attends, and whether it may be asked now. Pure: the clock is an argument.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::limits::{BACKOFF_FIRST, BACKOFF_JITTER, BACKOFF_MOST, QUARANTINE, QUARANTINE_SILENCES, QUARANTINE_WINDOW};
use crate::message::CallId;
use crate::request::{Owner, Party};

/// Connection state and back-off of one party.
#[derive(Debug)]
pub(crate) struct Standing {
    /// The party, as the policy has it.
    pub(crate) party: Party,
    /// Number of the party's stream; `None` where it does not attend.
    session: Option<u64>,
    /// Who attends for it, or has done so last.
    peer: Option<Owner>,
    /// Questions that are open on it, and when they were sent.
    open: BTreeMap<CallId, Instant>,
    /// Silences in a row.
    failures: u32,
    /// When it may be asked again.
    rests_until: Option<Instant>,
    /// The silences of the last [`QUARANTINE_WINDOW`], at most [`QUARANTINE_SILENCES`].
    silences: VecDeque<Instant>,
    quarantined_until: Option<Instant>,
}

impl Standing {
    pub(crate) fn new(party: Party) -> Self {
        Self {
            party,
            session: None,
            peer: None,
            open: BTreeMap::new(),
            failures: 0,
            rests_until: None,
            silences: VecDeque::new(),
            quarantined_until: None,
        }
    }

    /// A stream has begun. It takes the place of another; how its peer has behaved stays, and is forgotten with that of any other.
    pub(crate) fn attend(&mut self, session: u64, peer: &Owner) {
        self.session = Some(session);
        if self.peer.as_ref() != Some(peer) {
            self.peer = Some(peer.clone());
            self.answered();
            self.silences.clear();
            self.quarantined_until = None;
        }
    }

    /// A stream has ended. Returns whether the party is gone by that.
    pub(crate) fn leave(&mut self, session: u64) -> bool {
        let is_gone = self.session == Some(session);
        if is_gone {
            self.session = None;
        }
        is_gone
    }

    /// It has been asked something.
    pub(crate) fn asked(&mut self, id: CallId, now: Instant) {
        self.open.insert(id, now);
    }

    /// A question to it is open no more.
    pub(crate) fn closed(&mut self, id: CallId) {
        self.open.remove(&id);
    }

    /// Nothing is open any more. Returns when the last question was sent that was.
    pub(crate) fn close_all(&mut self) -> Option<Instant> {
        std::mem::take(&mut self.open).into_values().max()
    }

    pub(crate) fn attends(&self) -> bool {
        self.session.is_some()
    }

    pub(crate) fn is_quarantined(&self, now: Instant) -> bool {
        self.quarantined_until.is_some_and(|until| now < until)
    }

    /// Whether it may be asked.
    pub(crate) fn may_be_asked(&self, now: Instant) -> bool {
        self.attends() && !self.is_quarantined(now) && self.rests_until.is_none_or(|until| now >= until)
    }

    /// It has answered, early or late.
    pub(crate) fn answered(&mut self) {
        self.failures = 0;
        self.rests_until = None;
    }

    /// It has not answered, in time or at all, what was sent at `sent`. Questions that were sent before the last silence are part
    /// of that, and count for nothing: `None`. Otherwise whether it is in quarantine by this silence.
    pub(crate) fn silent(&mut self, sent: Instant, now: Instant, random: &mut fastrand::Rng) -> Option<bool> {
        if self.is_quarantined(now) || self.silences.back().is_some_and(|last| sent < *last) {
            return None;
        }
        // 2^10 times the first rest is longer than the longest.
        let rest = (BACKOFF_FIRST * 2_u32.pow(self.failures.min(10))).min(BACKOFF_MOST);
        self.failures = self.failures.saturating_add(1);
        self.rests_until = Some(now + jittered(rest, random));
        self.silences.retain(|at| now.saturating_duration_since(*at) < QUARANTINE_WINDOW);
        self.silences.push_back(now);
        let is_quarantined = self.silences.len() >= QUARANTINE_SILENCES;
        if is_quarantined {
            self.silences.clear();
            self.quarantined_until = Some(now + jittered(QUARANTINE, random));
        }
        Some(is_quarantined)
    }

    /// When a rest or a quarantine ends that has not ended by now.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        self.rests_until.max(self.quarantined_until).filter(|until| *until > now)
    }
}

fn jittered(rest: Duration, random: &mut fastrand::Rng) -> Duration {
    rest.mul_f64(1.0 - BACKOFF_JITTER * random.f64())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::request::{Concern, OnSilence, Scope};

    fn standing() -> Standing {
        let party = Party { name: "p".into(), concern: Concern::Pods, scope: Scope::Pod, on_silence: OnSilence::Wait };
        let mut standing = Standing::new(party);
        standing.attend(1, &Owner::default());
        standing
    }

    /// The rests after silences that are so far apart that none leads to a quarantine.
    fn rests(seed: u64) -> Vec<Duration> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut standing = standing();
        let mut now = Instant::now();
        let mut rests = Vec::new();
        for _ in 0..12 {
            now += QUARANTINE_WINDOW;
            assert!(standing.may_be_asked(now));
            assert_eq!(standing.silent(now, now, &mut random), Some(false));
            rests.push(standing.next(now).unwrap() - now);
            assert!(!standing.may_be_asked(now));
        }
        rests
    }

    #[test]
    fn r13_rests_double_from_100_ms_to_60_s_and_are_jittered() {
        let seconds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0];
        for (rest, most) in rests(1).into_iter().zip(seconds) {
            let rest = rest.as_secs_f64();
            assert!((most * (1.0 - BACKOFF_JITTER)..=most + 1e-6).contains(&rest), "{rest}, expected about {most} s");
        }
        assert_eq!(rests(1), rests(1));
        assert_ne!(rests(1), rests(2));
    }

    #[test]
    fn r13_an_answer_ends_the_rest_and_the_next_is_short() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut standing = standing();
        let now = Instant::now();
        for second in 0..3 {
            let now = now + Duration::from_secs(second);
            standing.silent(now, now, &mut random);
        }
        let now = now + Duration::from_secs(2);
        standing.answered();
        assert!(standing.may_be_asked(now));
        standing.silent(now, now, &mut random);
        assert!(standing.next(now).unwrap() - now <= BACKOFF_FIRST);
    }

    #[test]
    fn r13_five_silences_in_a_minute_are_a_quarantine_and_four_are_none() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut standing = standing();
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        for second in [0, 20, 40, 59] {
            assert_eq!(standing.silent(at(second), at(second), &mut random), Some(false));
        }
        // The first is a minute old.
        assert_eq!(standing.silent(at(60), at(60), &mut random), Some(false));
        assert_eq!(standing.silent(at(61), at(61), &mut random), Some(true));
        standing.answered();
        assert!(standing.is_quarantined(at(61)) && !standing.may_be_asked(at(61)));
        assert_eq!(standing.silent(at(62), at(62), &mut random), None);
        assert!(standing.may_be_asked(at(61) + QUARANTINE));
        assert_eq!(standing.silent(at(122), at(122), &mut random), Some(false));
    }

    #[test]
    fn r13_questions_of_one_outage_are_one_silence() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut standing = standing();
        let start = Instant::now();
        let late = start + Duration::from_secs(2);
        assert_eq!(standing.silent(start, late, &mut random), Some(false));
        for _ in 0..1_000 {
            assert_eq!(standing.silent(start + Duration::from_secs(1), late, &mut random), None);
        }
    }

    #[test]
    fn another_peer_of_the_party_begins_without_the_silences_of_the_last() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut standing = standing();
        let now = Instant::now();
        for second in 1..=5 {
            let now = now + Duration::from_secs(second);
            standing.silent(now, now, &mut random);
        }
        let now = now + Duration::from_secs(6);
        assert!(standing.is_quarantined(now));
        standing.attend(2, &Owner::default());
        assert!(standing.is_quarantined(now));
        standing.attend(3, &Owner { identity: "uid:1".into(), ..Owner::default() });
        assert!(standing.may_be_asked(now) && standing.next(now).is_none());
    }

    #[test]
    fn a_stream_that_was_replaced_does_not_take_the_party_away() {
        let mut standing = standing();
        standing.attend(2, &Owner::default());
        assert!(!standing.leave(1));
        assert!(standing.attends());
        assert!(standing.leave(2));
        assert!(!standing.attends());
    }
}
