//! When cores last asked about pods. Every answer to a core is noted, on the threads that answer from the cache too, so noting takes no
//! lock, no allocation and no clock: a hash of the pod's name leads to eight words, one of which is written.
//!
//! Pods are kept by `namespace/name`, which a core always knows, and not by UID: a pod that takes the place of another within
//! [`NOT_ASKED_AFTER`](crate::limits::NOT_ASKED_AFTER) counts as asked about, and is younger than what "not asked" needs. A full set gives up
//! its oldest entry, and the time of the youngest that was given up is remembered: it may have been any pod's, so that nobody is told that
//! a core has not asked for longer than that. Start at [`AskedPods::note`].

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use super::cause::LastAsked;
use crate::limits::{ASKED_SETS, ASKED_WAYS, ASKERS};

/// Whoever asks about pods, as a number; see [`AskedPods::asker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker(u8);

impl Asker {
    /// Everybody beyond [`ASKERS`] names.
    pub const OTHERS: Self = Self(ASKERS);
}

/// The result of a question of a core about a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskResult {
    /// The pod fits some node.
    Fits,
    /// No node of those that it asked about fits.
    Unschedulable,
    /// There was no answer.
    Error,
}

impl AskResult {
    /// All results, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Fits, Self::Unschedulable, Self::Error];

    fn number(self) -> u64 {
        match self {
            Self::Fits => 0,
            Self::Unschedulable => 1,
            Self::Error => 2,
        }
    }

    /// The name in documents and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

/// The last question of a core about a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastQuestion {
    /// How long ago it was, in whole seconds.
    pub ago: Duration,
    /// Name of whoever asked.
    pub by: Arc<str>,
    /// The result that it was answered.
    pub result: AskResult,
    /// How often cores have asked since the pod is kept here; some that come at the same moment may be missing.
    pub count: u32,
}

/// The last questions about pods, of [`ASKED_SETS`] times [`ASKED_WAYS`] pods at most, in 1 MiB.
#[derive(Debug)]
pub struct AskedPods {
    began: Instant,
    /// Whole seconds since then, and one more; 0 as long as nobody advances it: then nothing is noted.
    tick: AtomicU32,
    /// The latest tick of an entry that gave way; 0 where none has.
    forgotten: AtomicU32,
    /// Keyed at random: nobody can choose names that share a set, or a set and a tag. A seed beside the words of a fast hash would not do:
    /// names that collide in it collide with each seed.
    hasher: RandomState,
    sets: Box<[Set]>,
    names: RwLock<Vec<Arc<str>>>,
}

/// Entries for pods whose hashes agree in some bits: one line of a processor's cache, and the counts beside it.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Set {
    words: [AtomicU64; ASKED_WAYS],
    counts: [AtomicU32; ASKED_WAYS],
}

/// An entry: 24 bits of the hash, 32 of the tick, 6 of the asker, 2 of the result. An empty one is 0, which no entry is: its tick is not.
#[derive(Debug, Clone, Copy)]
struct Word(u64);

impl Word {
    fn new(tag: u64, tick: u32, Asker(asker): Asker, result: AskResult) -> Self {
        Self((tag << 40) | (u64::from(tick) << 8) | (u64::from(asker) << 2) | result.number())
    }

    fn tag(self) -> u64 {
        self.0 >> 40
    }

    fn tick(self) -> u32 {
        u32::try_from((self.0 >> 8) & u64::from(u32::MAX)).unwrap_or(u32::MAX)
    }

    fn asker(self) -> usize {
        usize::try_from((self.0 >> 2) & 0x3f).unwrap_or(usize::MAX)
    }

    fn result(self) -> AskResult {
        match self.0 & 3 {
            0 => AskResult::Fits,
            1 => AskResult::Unschedulable,
            _ => AskResult::Error,
        }
    }
}

impl Default for AskedPods {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            tick: AtomicU32::new(0),
            forgotten: AtomicU32::new(0),
            hasher: RandomState::new(),
            sets: std::iter::repeat_with(Set::default).take(ASKED_SETS).collect(),
            names: RwLock::default(),
        }
    }
}

impl AskedPods {
    /// Notes the time. Called about once a second: the time of a question is that of the last call.
    pub fn advance(&self) {
        self.advance_to(self.began.elapsed());
    }

    pub(super) fn advance_to(&self, since_began: Duration) {
        let seconds = u32::try_from(since_began.as_secs()).unwrap_or(u32::MAX);
        self.tick.fetch_max(seconds.saturating_add(1), Ordering::Relaxed);
    }

    /// The number of whoever goes by a name. Takes a lock, so that callers keep what it returns.
    pub fn asker(&self, name: &str) -> Asker {
        let mut names = self.names.write();
        let at = names.iter().position(|known| **known == *name).or_else(|| {
            (names.len() < usize::from(ASKERS)).then(|| {
                names.push(Arc::from(name));
                names.len() - 1
            })
        });
        at.and_then(|at| u8::try_from(at).ok()).map_or(Asker::OTHERS, Asker)
    }

    /// Notes an answer to a core about the pod `namespace/name`.
    pub fn note(&self, pod: &str, asker: Asker, result: AskResult) {
        let tick = self.tick.load(Ordering::Relaxed);
        if tick == 0 {
            return;
        }
        let (Some(set), tag) = self.place(pod) else { return };
        let new = Word::new(tag, tick, asker, result).0;
        let mut oldest: Option<(&AtomicU64, &AtomicU32, Word)> = None;
        for (slot, count) in set.words.iter().zip(&set.counts) {
            let known = Word(slot.load(Ordering::Relaxed));
            if known.0 != 0 && known.tag() == tag {
                slot.store(new, Ordering::Relaxed);
                // Not one step: a lock of the bus for the sake of a count is not worth it.
                count.store(count.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
                return;
            }
            if oldest.is_none_or(|(_, _, least)| known.tick() < least.tick()) {
                oldest = Some((slot, count, known));
            }
        }
        let Some((slot, count, given_up)) = oldest else { return };
        if given_up.0 != 0 {
            self.forgotten.fetch_max(given_up.tick(), Ordering::Relaxed);
        }
        count.store(1, Ordering::Relaxed);
        slot.store(new, Ordering::Relaxed);
    }

    /// The last question about the pod `namespace/name`; `None` where nothing is kept of it.
    pub fn last(&self, pod: &str) -> Option<LastQuestion> {
        let tick = self.tick.load(Ordering::Relaxed);
        let (set, tag) = self.place(pod);
        let entries = set?.words.iter().zip(&set?.counts);
        let found = entries.map(|(slot, count)| (Word(slot.load(Ordering::Relaxed)), count));
        // Two threads may have made two entries of one pod.
        let (word, count) =
            found.filter(|(word, _)| word.0 != 0 && word.tag() == tag).max_by_key(|(word, _)| word.tick())?;
        let by = self.names.read().get(word.asker()).cloned().unwrap_or_else(|| Arc::from("others"));
        let ago = Duration::from_secs(u64::from(tick.saturating_sub(word.tick())));
        Some(LastQuestion { ago, by, result: word.result(), count: count.load(Ordering::Relaxed) })
    }

    /// When a core last asked about the pod `namespace/name`, which has been watched for so long.
    pub fn last_asked(&self, pod: &str, watched_for: Duration) -> LastAsked {
        let tick = self.tick.load(Ordering::Relaxed);
        if tick == 0 {
            return LastAsked::Unknown;
        }
        let forgotten = self.forgotten.load(Ordering::Relaxed);
        match self.last(pod) {
            Some(question) => LastAsked::Ago(question.ago),
            None if forgotten != 0 => {
                let since = Duration::from_secs(u64::from(tick.saturating_sub(forgotten)));
                LastAsked::Never(watched_for.min(since))
            }
            None => LastAsked::Never(watched_for),
        }
    }

    /// The set of a pod, and its tag in it.
    fn place(&self, pod: &str) -> (Option<&Set>, u64) {
        let hash = self.hasher.hash_one(pod);
        let at = usize::try_from(hash & 0xffff_ffff).unwrap_or(0) % ASKED_SETS;
        (self.sets.get(at), hash >> 40)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn at(asked: &AskedPods, seconds: u64) {
        asked.advance_to(Duration::from_secs(seconds));
    }

    #[test]
    fn nothing_is_noted_before_somebody_tells_the_time() {
        let asked = AskedPods::default();
        let asker = asked.asker("core");
        asked.note("a/b", asker, AskResult::Fits);
        assert_eq!(asked.last("a/b"), None);
        assert_eq!(asked.last_asked("a/b", Duration::from_secs(999)), LastAsked::Unknown);
    }

    #[test]
    fn the_last_questions_are_those_of_a_map() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let asked = AskedPods::default();
        let askers = ["unix", "tcp", "core"].map(|name| (asked.asker(name), name));
        let mut model: BTreeMap<String, (u64, &str, AskResult, u32)> = BTreeMap::new();
        let mut now = 0;
        for _ in 0..20_000 {
            now += u64::from(random.u8(0..3) == 0);
            at(&asked, now);
            let pod = format!("ns{}/pod-{}", random.u8(0..5), random.u16(0..400));
            let (asker, name) = askers[random.usize(0..3)];
            let result = AskResult::ALL[random.usize(0..3)];
            asked.note(&pod, asker, result);
            let count = model.get(&pod).map_or(0, |known| known.3) + 1;
            model.insert(pod, (now, name, result, count));
        }
        // 2,000 pods in 8,192 sets of eight: none had to give way.
        for (pod, (when, name, result, count)) in &model {
            let ago = Duration::from_secs(now - when);
            let expected = LastQuestion { ago, by: (*name).into(), result: *result, count: *count };
            assert_eq!(asked.last(pod), Some(expected), "{pod}");
            assert_eq!(asked.last_asked(pod, Duration::ZERO), LastAsked::Ago(ago));
        }
        assert_eq!(asked.last_asked("x/y", Duration::from_secs(7)), LastAsked::Never(Duration::from_secs(7)));
    }

    #[test]
    fn names_that_collide_in_one_process_do_not_in_another() {
        let (one, other) = (AskedPods::default(), AskedPods::default());
        let names = (0..32 << 10).map(|number| format!("ns/pod-{number}"));
        let mut names: Vec<(u64, String)> = names.map(|name| (one.place(&name).1, name)).collect();
        names.sort_unstable();
        // Some 30 pairs share one of 16 Mi tags.
        let alike: Vec<(&str, &str)> = names
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| (pair[0].1.as_str(), pair[1].1.as_str()))
            .collect();
        assert!(!alike.is_empty());
        let again = alike.iter().filter(|(a, b)| other.place(a).1 == other.place(b).1).count();
        assert!(again * 4 < alike.len(), "{again} of {}", alike.len());
    }

    #[test]
    fn what_had_to_give_way_is_never_said_not_to_be_asked_about_for_longer() {
        let asked = AskedPods::default();
        let asker = asked.asker("core");
        at(&asked, 1);
        let pods = 2 * ASKED_SETS * ASKED_WAYS;
        for pod in 0..pods {
            asked.note(&format!("ns/{pod}"), asker, AskResult::Fits);
        }
        let lost = (0..pods).filter(|pod| asked.last(&format!("ns/{pod}")).is_none());
        let lost: Vec<String> = lost.map(|pod| format!("ns/{pod}")).collect();
        assert!(lost.len() >= pods / 2, "{}", lost.len());
        for pod in &lost {
            assert_eq!(asked.last_asked(pod, Duration::from_secs(3600)), LastAsked::Never(Duration::ZERO));
        }
        // Since then nothing has given way: what is not kept has not been asked about.
        at(&asked, 1 + 61);
        for (watched_for, never) in [(3600, 61), (7, 7)] {
            let never = LastAsked::Never(Duration::from_secs(never));
            assert_eq!(asked.last_asked(&lost[0], Duration::from_secs(watched_for)), never);
        }
    }

    #[test]
    fn askers_are_bounded() {
        let asked = AskedPods::default();
        at(&asked, 1);
        let askers: Vec<Asker> = (0..200).map(|number| asked.asker(&format!("core-{number}"))).collect();
        assert_eq!(askers[0], asked.asker("core-0"));
        asked.note("a/b", askers[1], AskResult::Error);
        asked.note("a/c", askers[199], AskResult::Fits);
        assert_eq!(&*asked.last("a/b").unwrap().by, "core-1");
        assert_eq!(&*asked.last("a/c").unwrap().by, "others");
    }
}
