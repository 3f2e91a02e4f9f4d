//! Namespaces whose pods have taken much processor time lately, for which calls have only the time of ordinary pods for now.
//!
//! A call about a large pod may take half a second of a core, and a pod that fails is set aside with its template only. Whoever may
//! create pods in one namespace can create as many templates as it likes, each of which would be tried. So long calls that fail, or are
//! about large pods, are a debt of the namespace. All debts together are paid off at [`THROTTLE_PART`] of a core's time, in equal shares.
//! Beyond [`THROTTLE_FREE`] the namespace is throttled: its ordinary pods are answered as ever, its large ones run out of time early, no
//! expression that is new is evaluated for its claims, and all of them are answered once it has paid enough. Long calls that are answered
//! are free where the pod is not large: what takes the time then are mostly objects of others.
//!
//! `Debts` is the state machine, which is told the time; start at [`Throttle::charge`]. [`Throttle::list`] names those that are throttled.

use std::cell::Cell;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use nodesift_sandbox::printable;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;

use crate::limits::{
    NAMESPACE_BYTES, THROTTLE_FREE, THROTTLE_FREE_TOTAL, THROTTLE_FROM, THROTTLE_MOST, THROTTLE_NAMESPACES,
    THROTTLE_PART,
};

thread_local! {
    /// A moment of this thread, and its processor time then.
    static MARK: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// Measures one call: its time, and its processor time if it is long. To read that of a thread takes as long as a short call, so at most
/// one call in a millisecond does.
#[derive(Debug)]
pub(crate) struct CallTimer(Instant);

impl CallTimer {
    /// A processor time that is read at most so long before a call counts as that at its beginning.
    const MARK_FOR: Duration = Duration::from_millis(1);

    /// A call begins on this thread.
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        if MARK.get().is_none_or(|(at, _)| now.saturating_duration_since(at) > Self::MARK_FOR) {
            MARK.set(Some((now, ThreadTime::now().as_duration())));
        }
        Self(now)
    }

    /// The time since then.
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// The processor time of the call, which has taken so long, to a millisecond; none for one that was short.
    pub(crate) fn processor(&self, elapsed: Duration) -> Option<Duration> {
        let (_, before) = MARK.get().filter(|_| elapsed >= THROTTLE_FROM)?;
        Some(ThreadTime::now().as_duration().saturating_sub(before).min(elapsed)).filter(|used| *used >= THROTTLE_FROM)
    }
}

/// The debts of namespaces, and the turn to make a call that may take longer than others.
#[derive(Debug, Default)]
pub struct Throttle {
    /// Whether there are any: where all calls are short, none takes a lock.
    is_used: AtomicBool,
    /// Keyed at random: nobody can choose a namespace that has the number of another.
    hashes: RandomState,
    debts: Mutex<Debts>,
    /// Locked while a call has more time than its pod's size gives it.
    turn: Mutex<()>,
}

/// Held while a call has more time or memory than others have.
pub(crate) type Turn<'a> = MutexGuard<'a, ()>;

impl Throttle {
    /// The turn to make a call with more time or memory than others have; none while another one is made. So such calls take one core at a
    /// time, and the memory of one, however many pods ask for them.
    pub(crate) fn turn(&self) -> Option<Turn<'_>> {
        self.turn.try_lock()
    }

    /// A long call about a pod of this namespace has taken so much processor time. Logs that the namespace is throttled from now on.
    pub(crate) fn charge(&self, namespace: &str, taken: Duration) {
        let (number, now) = (self.hashes.hash_one(namespace), Instant::now());
        let mut debts = self.debts.lock();
        let was_throttled = debts.throttles(number, now);
        debts.charge(number, namespace, taken, now);
        let begins = (!was_throttled).then(|| debts.throttled(number)).flatten();
        self.is_used.store(true, Ordering::Relaxed);
        drop(debts);
        if let Some(Throttled { namespace, debt, wait }) = begins {
            let (debt_ms, for_s) = (debt.as_millis(), wait.as_secs() + 1);
            tracing::warn!(
                namespace,
                debt_ms,
                for_s,
                "namespace throttled: calls about its large pods took too much processor time, and get that of ordinary pods for now"
            );
        }
    }

    /// The namespaces that are throttled now, those that wait longest first.
    #[must_use]
    pub fn list(&self) -> Vec<Throttled> {
        if !self.is_used.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut debts = self.debts.lock();
        debts.advance(Instant::now());
        let mut listed: Vec<Throttled> = debts.of.keys().filter_map(|number| debts.throttled(*number)).collect();
        drop(debts);
        listed.sort_unstable_by(|a, b| (b.wait, &a.namespace).cmp(&(a.wait, &b.namespace)));
        listed
    }

    /// Whether the namespace is throttled now.
    pub(crate) fn throttles(&self, namespace: &str) -> bool {
        if !self.is_used.load(Ordering::Relaxed) {
            return false;
        }
        let mut debts = self.debts.lock();
        let throttles = debts.throttles(self.hashes.hash_one(namespace), Instant::now());
        self.is_used.store(!debts.of.is_empty(), Ordering::Relaxed);
        throttles
    }
}

/// A namespace whose large pods get no more time than ordinary ones for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttled {
    /// Its name, shortened and escaped where no API server would take it.
    pub namespace: String,
    /// Processor time that it has yet to pay off.
    pub debt: Duration,
    /// Time until it is throttled no more, if nothing is charged meanwhile.
    pub wait: Duration,
}

/// Unpaid processor time of one namespace.
#[derive(Debug)]
struct Debt {
    namespace: Box<str>,
    /// The value of [`Debts::paid`] at which it is paid off.
    due: Duration,
}

/// Debts that are paid off in equal shares: what each namespace has paid since the start is one number for all of them, and a debt is what
/// that number has yet to reach.
#[derive(Debug, Default)]
struct Debts {
    /// Processor time that each namespace in debt has paid off since the start, at the time `at`.
    paid: Duration,
    at: Option<Instant>,
    /// By the number of the namespace.
    of: FxHashMap<u64, Debt>,
    /// The least of them.
    next: Duration,
    /// The most that was forgotten of others, as such a value: where there is no room for all, who comes next begins with as much.
    forgotten: Duration,
}

impl Debts {
    fn charge(&mut self, number: u64, namespace: &str, taken: Duration, now: Instant) {
        self.advance(now);
        if self.of.len() >= THROTTLE_NAMESPACES && !self.of.contains_key(&number) {
            // Whoever owes least.
            let least = self.of.iter().min_by_key(|(_, debt)| debt.due).map(|(number, _)| *number);
            let least = least.and_then(|least| self.of.remove(&least));
            self.forgotten = self.forgotten.max(least.map(|debt| debt.due).unwrap_or_default());
        }
        let begin = self.paid.max(self.forgotten);
        let named = || Debt { namespace: printable(namespace, NAMESPACE_BYTES).into(), due: begin };
        let debt = self.of.entry(number).or_insert_with(named);
        debt.due = (debt.due + taken).min(self.paid + THROTTLE_MOST);
        self.find_next();
    }

    fn throttles(&mut self, number: u64, now: Instant) -> bool {
        self.advance(now);
        self.of.get(&number).is_some_and(|debt| self.owed(debt) > self.free())
    }

    /// The namespace of this number, if it was throttled at the time of the last call of [`Self::advance`].
    fn throttled(&self, number: u64) -> Option<Throttled> {
        let known = self.of.get(&number)?;
        let debt = self.owed(known);
        let above = debt.checked_sub(self.free()).filter(|above| !above.is_zero())?;
        Some(Throttled { namespace: known.namespace.to_string(), debt, wait: self.wait(above) })
    }

    fn owed(&self, debt: &Debt) -> Duration {
        debt.due.saturating_sub(self.paid)
    }

    /// The debt that a namespace may have without being throttled.
    fn free(&self) -> Duration {
        THROTTLE_FREE.min(THROTTLE_FREE_TOTAL / self.number())
    }

    /// The time in which each of those in debt pays so much. It takes less where others have paid off before.
    fn wait(&self, debt: Duration) -> Duration {
        debt * THROTTLE_PART * self.number()
    }

    /// How many are in debt, as a number that a duration can be divided by.
    fn number(&self) -> u32 {
        u32::try_from(self.of.len()).unwrap_or(u32::MAX).max(1)
    }

    /// Lets time pass: those in debt pay less each, the more they are.
    fn advance(&mut self, now: Instant) {
        let Some(mut at) = self.at else {
            self.at = Some(now);
            return;
        };
        while !self.of.is_empty() {
            let shares = THROTTLE_PART * self.number();
            let step = (now.saturating_duration_since(at) / shares).min(self.next.saturating_sub(self.paid));
            // What is no whole nanosecond for each is paid the next time.
            at += step * shares;
            self.paid += step;
            if self.paid < self.next {
                self.at = Some(at);
                return;
            }
            self.of.retain(|_, debt| debt.due > self.paid);
            self.find_next();
        }
        self.at = Some(at.max(now));
    }

    fn find_next(&mut self) {
        self.next = self.of.values().map(|debt| debt.due).min().unwrap_or_default();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Model of [`Debts`] that advances millisecond by millisecond, with every debt as a number of its own, in nanoseconds.
    #[derive(Default)]
    struct Slow(BTreeMap<u64, f64>);

    impl Slow {
        fn pass(&mut self, time: Duration) {
            for _ in 0..time.as_millis() {
                let paid = 1e6 / f64::from(THROTTLE_PART) / self.0.len() as f64;
                self.0.values_mut().for_each(|debt| *debt -= paid);
                self.0.retain(|_, debt| *debt > 0.0);
            }
        }

        fn charge(&mut self, namespace: u64, taken: Duration) {
            let debt = self.0.entry(namespace).or_default();
            *debt = (*debt + taken.as_nanos() as f64).min(THROTTLE_MOST.as_nanos() as f64);
        }
    }

    #[test]
    fn debts_are_paid_as_millisecond_by_millisecond() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut debts, mut slow, mut now) = (Debts::default(), Slow::default(), Instant::now());
        let (mut throttled, mut free) = (0, 0);
        for _ in 0..3_000 {
            // Long pauses now and then, so that all of it is paid.
            let pause = MS * if random.u32(0..50) == 0 { random.u32(0..60_000) } else { random.u32(0..600) };
            (now, _) = (now + pause, slow.pass(pause));
            let namespace = random.u64(0..6);
            let owed = slow.0.get(&namespace).copied().unwrap_or_default();
            let most = THROTTLE_FREE_TOTAL.as_nanos() as f64 / slow.0.len().max(1) as f64;
            let share = most.min(THROTTLE_FREE.as_nanos() as f64);
            // The slow one is exact to a step of each of the six.
            debts.advance(now);
            if (owed - share).abs() > 2e6 && debts.of.len() == slow.0.len() {
                let expected = owed > share;
                assert_eq!(debts.throttles(namespace, now), expected, "{owed} ns owed");
                *if expected { &mut throttled } else { &mut free } += 1;
            }
            // About as much as is paid.
            if random.u32(0..3) == 0 {
                let taken = MS * random.u32(10..700);
                debts.charge(namespace, "", taken, now);
                slow.charge(namespace, taken);
            }
        }
        assert!(throttled > 100 && free > 100, "{throttled} throttled, {free} not");
    }

    #[test]
    fn one_namespace_in_debt_throttles_no_other_and_pays_off() {
        let (mut debts, now) = (Debts::default(), Instant::now());
        debts.charge(1, "", THROTTLE_FREE, now);
        assert!(!debts.throttles(1, now), "that much is free for one");
        debts.charge(1, "", THROTTLE_FREE * 1000, now);
        assert!(debts.throttles(1, now));
        assert!(!debts.throttles(2, now));
        // Debts have a most, so that the end can be foreseen.
        let end = now + (THROTTLE_MOST - THROTTLE_FREE) * THROTTLE_PART;
        assert!(debts.throttles(1, end - MS));
        assert!(!debts.throttles(1, end));
        debts.advance(end + THROTTLE_FREE * THROTTLE_PART);
        assert!(debts.of.is_empty());
    }

    #[test]
    fn who_owes_most_is_kept_where_there_is_no_room_and_who_comes_next_owes_what_was_forgotten() {
        let (mut debts, now) = (Debts::default(), Instant::now());
        debts.charge(0, "", THROTTLE_MOST, now);
        for namespace in 1..=4 * THROTTLE_NAMESPACES as u64 {
            debts.charge(namespace, "", THROTTLE_FROM, now);
        }
        assert_eq!(debts.of.len(), THROTTLE_NAMESPACES);
        assert!(debts.throttles(0, now));
        let owed: Duration = debts.of.values().map(|debt| debts.owed(debt)).sum();
        assert!(owed >= THROTTLE_FROM * 4 * debts.number(), "nothing is forgotten: {owed:?}");
    }

    #[test]
    fn many_namespaces_have_together_what_a_few_have() {
        let (mut debts, now) = (Debts::default(), Instant::now());
        for namespace in 0..1_000 {
            debts.charge(namespace, "", THROTTLE_FREE_TOTAL / 500, now);
        }
        assert!((0..1_000).all(|namespace| debts.throttles(namespace, now)));
        assert!(!debts.throttles(1_000, now), "who has no debts");
    }

    #[test]
    fn nothing_that_is_paid_is_lost_however_often_somebody_asks() {
        let (mut debts, start) = (Debts::default(), Instant::now());
        for namespace in 0..1_000 {
            debts.charge(namespace, "", THROTTLE_FREE, start);
        }
        let step = Duration::from_nanos(4_900);
        (1..=1_000_000).for_each(|step_of| debts.advance(start + step * step_of));
        let paid = step * 1_000_000 / THROTTLE_PART / 1_000;
        assert!(paid - debts.paid < Duration::from_nanos(10), "{:?} of {paid:?}", debts.paid);
    }

    #[test]
    fn a_throttle_knows_namespaces_by_name() {
        let throttle = Throttle::default();
        assert!(!throttle.throttles("a"));
        throttle.charge("a", THROTTLE_MOST);
        assert!(throttle.throttles("a") && !throttle.throttles("b"));
        throttle.charge("b", THROTTLE_FROM);
        // Names of requests may be of any length, and hold anything.
        throttle.charge(&"\n\u{1b}".repeat(NAMESPACE_BYTES), THROTTLE_MOST);
        let listed = throttle.list();
        let named: Vec<&str> = listed.iter().map(|one| &*one.namespace).collect();
        assert!(matches!(*named, [.., "a"] | ["a", ..]) && named.len() == 2, "{named:?}");
        let bytes: usize = named.iter().map(|name| name.len()).sum();
        assert!(bytes < 1_024 && !named.iter().any(|name| name.contains('\n')), "{named:?}");
    }

    #[test]
    fn one_call_at_a_time_has_more_than_others() {
        let throttle = Throttle::default();
        let turn = throttle.turn();
        assert!(turn.is_some() && throttle.turn().is_none());
        drop(turn);
        assert!(throttle.turn().is_some());
    }

    #[test]
    fn who_is_throttled_is_free_after_the_time_that_is_told() {
        let (mut debts, start) = (Debts::default(), Instant::now());
        debts.charge(0, "a", THROTTLE_MOST, start);
        debts.charge(1, "b", THROTTLE_FREE / 2, start);
        assert_eq!(debts.throttled(1), None);
        let told = debts.throttled(0).unwrap();
        assert_eq!((&*told.namespace, told.debt), ("a", THROTTLE_MOST));
        assert!(told.wait >= (THROTTLE_MOST - THROTTLE_FREE) * THROTTLE_PART, "{told:?}");
        debts.advance(start + told.wait);
        assert_eq!(debts.throttled(0), None);
    }

    #[test]
    fn only_long_calls_are_charged_and_only_for_their_processor_time() {
        let short = CallTimer::start();
        assert_eq!(short.processor(THROTTLE_FROM - MS), None);
        // One that has waited all the time.
        let waited = CallTimer::start();
        assert_eq!(waited.processor(10 * THROTTLE_FROM), None);
        let (long, began) = (CallTimer::start(), ThreadTime::now());
        while began.elapsed() < 2 * THROTTLE_FROM {
            std::hint::spin_loop();
        }
        let used = long.processor(long.elapsed()).unwrap();
        assert!(used >= 2 * THROTTLE_FROM && used < long.elapsed() + CallTimer::MARK_FOR, "{used:?}");
    }
}
