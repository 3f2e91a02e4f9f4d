//! Two processes over one record of decisions, with random pods and parties: each is killed and started again in any state, writes come late,
//! fail, or are done without anybody hearing of it. Parties are late, silent, away, and lie. Whoever is first wins, and nothing that a party gives
//! is lost.
//!
//! The parties have so many seats each, and remember who has one. The first seed is printed, and the one of each violation: `NODESIFT_SEED`
//! begins with another.

mod parties;
mod store;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::super::*;
use super::world::*;
use OnSilence::Wait;
use store::{Store, Stored, Write};

/// Parties, and how many seats each has.
const PARTIES: [(&str, usize); 2] = [("licences", 3), ("network", 4)];

/// Nodes of the cluster, all of which take every pod.
const NODES: usize = 3;

/// Pods at a time.
const PODS: usize = 12;

/// Random steps of a run.
const STEPS: usize = 6_000;

/// Seeds of one test, unless `NODESIFT_NEGOTIATION_CASES` says otherwise.
const CASES: u64 = 6;

/// Steps that a run is given to come to rest, half a second each: longer than any deadline of a negotiation.
const REST: usize = 200;

/// Records that are not what they should be, to see that this is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defective {
    Nothing,
    /// It shows nothing to a process that starts.
    Forgets,
    /// It writes without comparing.
    Blind,
}

/// One process, with what is on its way to the parties and back.
struct Process {
    core: Negotiations,
    /// Number of this start.
    number: u64,
    /// Versions of decisions that it has read or written last.
    seen: BTreeMap<Arc<str>, u64>,
    writes: VecDeque<Write>,
    /// Negotiations that are not over, with their pods, and those for which everything is allocated.
    live: BTreeMap<NegotiationId, Arc<str>>,
    ready: BTreeSet<NegotiationId>,
    /// Pods that hold something until they end.
    held: BTreeSet<Arc<str>>,
    /// Pods that it has seen bound.
    seen_bound: BTreeSet<Arc<str>>,
    streams: [u64; 2],
    calls: [VecDeque<Call>; 2],
    said: [VecDeque<Event>; 2],
}

/// A seat that a party has given.
#[derive(Debug, Clone)]
struct Seat {
    pod: Arc<str>,
    /// The process that asked for it, and the number of its start.
    process: (usize, u64),
}

struct Sidecars {
    now: Instant,
    random: fastrand::Rng,
    store: Store,
    defective: Defective,
    processes: [Option<Process>; 2],
    numbers: u64,
    attends: [bool; 2],
    seats: [BTreeMap<CallId, Seat>; 2],
    /// Pods of the cluster; those that are bound with the calls by which they have what they have.
    pods: BTreeMap<Arc<str>, Option<BTreeSet<CallId>>>,
    made: usize,
    /// Whether everybody does what they are told, and says so.
    is_resting: bool,
    counts: BTreeMap<&'static str, usize>,
    violations: Vec<String>,
}

impl Sidecars {
    fn new(seed: u64, defective: Defective) -> Self {
        let is_blind = defective == Defective::Blind;
        let mut sidecars = Self {
            now: Instant::now(),
            random: fastrand::Rng::with_seed(seed),
            store: Store::new(is_blind),
            defective,
            processes: [None, None],
            numbers: 0,
            attends: [true, true],
            seats: [BTreeMap::new(), BTreeMap::new()],
            pods: BTreeMap::new(),
            made: 0,
            is_resting: false,
            counts: BTreeMap::new(),
            violations: Vec::new(),
        };
        sidecars.start(0);
        sidecars.start(1);
        sidecars
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn process(&mut self, at: usize) -> &mut Process {
        self.processes[at].as_mut().unwrap()
    }

    /// Starts a process, which goes on from the record: not from what another one that runs is about to have allocated or given back. What
    /// that one has told a party to allocate may not have arrived, and would come after the end of what this one takes back.
    fn start(&mut self, at: usize) {
        let is_other_there = self.processes[1 - at].is_some();
        let (mut seen, mut decisions) = (BTreeMap::new(), Vec::new());
        for Stored { version, holder, decision } in self.store.stored.values() {
            let is_left_to_it = *holder != at && is_other_there && decision.stage != Stage::Bound;
            if self.defective == Defective::Forgets || is_left_to_it {
                continue;
            }
            let is_bound = matches!(self.pods.get(&decision.pod), Some(Some(_)));
            let stage = match decision.stage {
                Stage::Bound => Stage::Bound,
                Stage::Allocating | Stage::Allocated if is_bound => Stage::Bound,
                _ => Stage::Deallocating,
            };
            seen.insert(decision.pod.clone(), *version);
            decisions.push(Decision { stage, ..decision.clone() });
        }
        if !decisions.is_empty() {
            self.count("gone on from");
        }
        self.numbers += 1;
        let mut core = Negotiations::new(self.random.u64(..));
        let parties = PARTIES.map(|(name, _)| Party { concern: Concern::Pods, ..party(name, Wait) });
        let mut effects = core.set_parties(parties.to_vec(), self.now).unwrap();
        effects.extend(core.restore(decisions, self.now));
        self.processes[at] = Some(Process {
            core,
            number: self.numbers,
            seen,
            writes: VecDeque::new(),
            live: BTreeMap::new(),
            ready: BTreeSet::new(),
            held: BTreeSet::new(),
            seen_bound: BTreeSet::new(),
            streams: [0; 2],
            calls: [VecDeque::new(), VecDeque::new()],
            said: [VecDeque::new(), VecDeque::new()],
        });
        self.act(at, effects);
        for party in 0..PARTIES.len() {
            if self.attends[party] {
                self.attend(at, party);
            }
        }
    }

    fn step(&mut self, at: usize, event: Event) {
        let now = self.now;
        let effects = self.process(at).core.step(event, now);
        self.act(at, effects);
    }

    /// Carries out effects in their order, and what follows from them after all of them.
    fn act(&mut self, at: usize, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            let following = self.carry_out(at, effect);
            waiting.extend(following);
        }
    }

    fn carry_out(&mut self, at: usize, effect: Effect) -> Vec<Effect> {
        let now = self.now;
        match effect {
            Effect::Call(party, call) => {
                if let Call::Allocate(allocate) = &call {
                    self.check_recorded(allocate);
                }
                let party = PARTIES.iter().position(|(name, _)| **name == *party).unwrap();
                self.process(at).calls[party].push_back(call);
            }
            Effect::Evaluate(asked) => {
                let evaluated = evaluate(&asked);
                return self.process(at).core.step(Event::Evaluated(evaluated), now);
            }
            Effect::Assume { negotiation, decision: Some(decision), .. } => {
                self.process(at).writes.push_back(Write::Claim(negotiation, decision));
            }
            Effect::Assume { negotiation, decision: None, .. } => {
                return self.process(at).core.step(Event::Assumed(negotiation, Ok(())), now);
            }
            Effect::Decide(decision) => {
                let is_held = decision.stage == Stage::Bound && decision.held.iter().any(|held| !held.gives_back);
                let process = self.process(at);
                if is_held {
                    process.held.insert(decision.pod.clone());
                } else {
                    process.held.remove(&decision.pod);
                }
                process.writes.push_back(Write::Decide(decision));
            }
            Effect::Tell { negotiation, progress, .. } => return self.tell(at, negotiation, progress),
            Effect::Over(id) | Effect::Refuse(id, _) => self.over(at, id),
            Effect::Rows { .. } | Effect::Forget { .. } | Effect::Woken { .. } | Effect::Defect(..) => {}
        }
        Vec::new()
    }

    /// Whoever crashes now knows of it afterwards.
    fn check_recorded(&mut self, allocate: &Allocate) {
        let stored = self.store.stored.get(&allocate.pod);
        let is_recorded = stored
            .is_some_and(|stored| stored.decision.held.iter().any(|held| held.call == allocate.id && !held.gives_back));
        if !is_recorded {
            self.violations.push(format!("{allocate:?} is not in the record: {stored:?}"));
        }
    }

    /// The core of a process hears of a negotiation, and selects all nodes that were agreed on.
    fn tell(&mut self, at: usize, negotiation: NegotiationId, progress: Progress) -> Vec<Effect> {
        let now = self.now;
        match progress {
            Progress::Viable(nodes) => {
                let select = Select { negotiation, nodes, optimistic: false, deadline: Duration::ZERO };
                return self.process(at).core.select(select, &Owner::default(), now).unwrap_or_default();
            }
            Progress::Allocated(_) => {
                self.process(at).ready.insert(negotiation);
            }
            Progress::Failed(_) => {
                self.count("failed");
                self.over(at, negotiation);
            }
            Progress::Ended(end) if end != End::Viable => self.over(at, negotiation),
            Progress::Asked { .. } | Progress::Refused(_) | Progress::Selected(_) | Progress::Ended(_) => {}
        }
        Vec::new()
    }

    fn over(&mut self, at: usize, id: NegotiationId) {
        let process = self.process(at);
        process.live.remove(&id);
        process.ready.remove(&id);
    }

    /// A process negotiates about a pod that waits, unless it does so already.
    fn negotiate(&mut self, at: usize) {
        let waiting: Vec<Arc<str>> =
            self.pods.iter().filter(|(_, bound)| bound.is_none()).map(|(pod, _)| pod.clone()).collect();
        let Some(pod) = self.random.choice(waiting) else { return };
        let now = self.now;
        let process = self.process(at);
        if process.live.values().any(|live| *live == pod) {
            return;
        }
        let mut asked = request(&pod, Vec::new(), 0..NODES);
        asked.selected_by.push(text("licences"));
        if pod.ends_with(['0', '2', '4', '6', '8']) {
            asked.selected_by.push(text("network"));
        }
        if let Ok((id, effects)) = process.core.negotiate(asked, now) {
            process.live.insert(id, pod);
            self.act(at, effects);
        }
    }

    /// The record takes the next write of a process, or not yet; or the process does not hear that it has.
    fn write(&mut self, at: usize, is_away: bool, is_unheard: bool) {
        let process = self.processes[at].as_mut().unwrap();
        let Some(write) = process.writes.pop_front() else { return };
        let pod = write.decision().pod.clone();
        let seen = process.seen.get(&pod).copied();
        let written = if is_away { None } else { Some(self.store.write(at, seen, write.decision())) };
        let heard = written.filter(|_| !is_unheard);
        if let Some(Ok(Some(version))) = heard {
            process.seen.insert(pod, version);
        } else if heard.is_some() {
            process.seen.remove(&pod);
        }
        match (write, heard) {
            (Write::Claim(negotiation, _), outcome) => {
                if outcome == Some(Err(())) {
                    self.count("not the first");
                }
                let outcome = outcome.is_some_and(|outcome| outcome.is_ok());
                let outcome = if outcome { Ok(()) } else { Err(text("the record")) };
                self.step(at, Event::Assumed(negotiation, outcome));
            }
            // It is written again.
            (write @ Write::Decide(_), None) => process.writes.push_front(write),
            (Write::Decide(_), Some(_)) => {}
        }
    }

    /// A scheduler binds a pod for which a process has said that everything is allocated.
    fn bind(&mut self, at: usize) {
        let process = self.process(at);
        let Some(id) = process.ready.pop_first() else { return };
        let Some(pod) = process.live.get(&id).cloned() else { return };
        if self.pods.get(&pod) != Some(&None) {
            return;
        }
        self.count("bound");
        let mut calls = BTreeSet::new();
        let stored = self.store.stored.get(&pod);
        let held = stored.into_iter().flat_map(|stored| &stored.decision.held).filter(|held| !held.gives_back);
        for held in held {
            let party = PARTIES.iter().position(|(name, _)| **name == *held.party).unwrap();
            if self.seats[party].get(&held.call).is_none_or(|seat| seat.pod != pod) {
                self.violations.push(format!("{pod} is bound, and {} has nothing for it: {stored:?}", held.party));
            }
            calls.insert(held.call);
        }
        if calls.is_empty() {
            self.violations.push(format!("{pod} is bound, and the record has nothing of it"));
        }
        self.pods.insert(pod, Some(calls));
    }

    /// A process sees what has become of pods, but for those about which it writes.
    fn look(&mut self, at: usize) {
        let process = self.process(at);
        let busy: BTreeSet<Arc<str>> = process.writes.iter().map(|write| write.decision().pod.clone()).collect();
        let live: BTreeSet<Arc<str>> = process.live.values().filter(|pod| !busy.contains(*pod)).cloned().collect();
        let held: Vec<Arc<str>> = process.held.iter().cloned().collect();
        for pod in live {
            match self.pods.get(&pod) {
                None => self.step(at, Event::PodGone(pod)),
                Some(Some(_)) => {
                    self.process(at).seen_bound.insert(pod.clone());
                    self.step(at, Event::Bound(pod));
                }
                Some(None) => {}
            }
        }
        for pod in held {
            if !self.pods.contains_key(&pod) {
                self.step(at, Event::Ended { pod, shared: Vec::new() });
            }
        }
    }

    /// Time passes for all processes, with every tick that is due.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        for at in 0..self.processes.len() {
            while let Some(due) = self.processes[at].as_ref().and_then(|process| process.core.next_tick())
                && due <= end
            {
                self.now = self.now.max(due);
                self.step(at, Event::Tick);
            }
        }
        self.now = end;
    }

    /// The scheduler of a process is gone for longer than it may be away: by then, what it has bound is seen, whatever parties still do.
    fn lose(&mut self, at: usize) {
        let is_seen = |process: &Process| {
            let mut live = process.live.values();
            live.all(|pod| self.pods.get(pod) == Some(&None) || process.seen_bound.contains(pod))
        };
        if self.processes[at].iter().all(is_seen) {
            self.count("lost");
            self.step(at, Event::Lost(Owner::default()));
        }
    }

    /// Takes one step that is chosen at random.
    fn stir(&mut self) {
        let (at, party) = (self.random.usize(..2), self.random.usize(..2));
        let choice = self.random.u8(..64);
        if self.processes[at].is_none() {
            if choice < 16 {
                self.start(at);
            }
            return;
        }
        match choice {
            0..4 if self.pods.len() < PODS => {
                self.made += 1;
                self.pods.insert(format!("p{}", self.made).into(), None);
            }
            4..12 => self.negotiate(at),
            12..24 => self.hear(at, party),
            24..36 => {
                if let Some(event) = self.process(at).said[party].pop_front() {
                    self.step(at, event);
                }
            }
            36..46 => {
                let (is_away, is_unheard) = (self.random.u8(..8) == 0, self.random.u8(..16) == 0);
                self.write(at, is_away, is_unheard);
            }
            46..50 => self.bind(at),
            50..54 => self.look(at),
            54..56 => {
                let pods: Vec<Arc<str>> = self.pods.keys().cloned().collect();
                if let Some(pod) = self.random.choice(pods) {
                    self.pods.remove(&pod);
                }
            }
            56 if self.random.u8(..8) == 0 => {
                let is_idle = self.process(at).writes.is_empty();
                self.count(if is_idle { "killed" } else { "killed while it writes" });
                self.processes[at] = None;
            }
            57 if !self.attends[party] || self.random.u8(..8) == 0 => self.toggle(party),
            58 => {
                // No scheduler gives up a pod that it has bound.
                let pods = &self.pods;
                let live = self.processes[at].iter().flat_map(|process| &process.live);
                let live = live.filter(|(_, pod)| pods.get(*pod) == Some(&None)).map(|(id, _)| *id);
                let live: Vec<NegotiationId> = live.collect();
                if let Some(id) = self.random.choice(live) {
                    let now = self.now;
                    let released = self.process(at).core.release(id, &Owner::default(), now);
                    self.act(at, released.unwrap_or_default());
                }
            }
            59 if self.random.u8(..8) == 0 => self.lose(at),
            // Now and then so long that deadlines are reached.
            _ => {
                let most = if choice == 63 { 12 } else { 7 };
                let time = ms(1 << self.random.u64(..most));
                self.pass(time);
            }
        }
    }

    /// Everything is there and does what it is told, until nothing is on its way any more.
    fn rest(&mut self) {
        self.is_resting = true;
        for party in 0..PARTIES.len() {
            if !self.attends[party] {
                self.toggle(party);
            }
        }
        for _ in 0..REST {
            for at in 0..self.processes.len() {
                self.look(at);
                for party in 0..PARTIES.len() {
                    while !self.process(at).calls[party].is_empty() {
                        self.hear(at, party);
                    }
                    while let Some(event) = self.process(at).said[party].pop_front() {
                        self.step(at, event);
                    }
                }
                while !self.process(at).writes.is_empty() {
                    self.write(at, false, false);
                }
            }
            self.pass(ms(500));
        }
    }

    /// Runs a history, ends all pods, and has each process started once more, as each is some day. What is left then is lost.
    fn run(mut self) -> (Vec<String>, BTreeMap<&'static str, usize>) {
        for _ in 0..STEPS {
            self.stir();
        }
        self.pods.clear();
        for at in 0..self.processes.len() {
            if self.processes[at].is_none() {
                self.start(at);
            }
        }
        self.rest();
        for at in 0..self.processes.len() {
            self.processes[at] = None;
            self.start(at);
            self.rest();
        }
        for (party, seats) in PARTIES.iter().zip(&self.seats) {
            if !seats.is_empty() {
                self.violations.push(format!("{} never gets back {seats:?}", party.0));
            }
        }
        if !self.store.stored.is_empty() {
            self.violations.push(format!("nobody removes {:?}", self.store.stored));
        }
        (self.violations, self.counts)
    }
}

/// All nodes fit that have not been candidates.
fn evaluate(asked: &Evaluate) -> Evaluated {
    let mut nodes: Vec<Node> = asked.named.iter().filter(|node| !asked.skip.contains(node)).cloned().collect();
    nodes.truncate(asked.wanted);
    let mut next = asked.start;
    while nodes.len() < asked.wanted
        && let Some(node) = asked.order.get(next)
    {
        if !asked.skip.contains(node) {
            nodes.push(node.clone());
        }
        next += 1;
    }
    Evaluated { negotiation: asked.negotiation, round: asked.round, nodes, next }
}

/// Runs some seeds. Returns what goes wrong, and how often what has happened.
fn run(defective: Defective) -> (Vec<String>, BTreeMap<&'static str, usize>) {
    let from_environment = |name| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let base = nodesift_seed::seed();
    let cases = from_environment("NODESIFT_NEGOTIATION_CASES").unwrap_or(CASES);
    let (mut all, mut counts) = (Vec::new(), BTreeMap::new());
    println!("{cases} histories");
    for seed in base..base + cases {
        let _seed = Seed(seed);
        let (violations, counted) = Sidecars::new(seed, defective).run();
        all.extend(violations.into_iter().map(|violation| format!("seed {seed}: {violation}")));
        for (what, count) in counted {
            *counts.entry(what).or_default() += count;
        }
    }
    println!("{cases} histories, {} violations: {counts:?}", all.len());
    (all, counts)
}

#[test]
fn of_two_processes_the_first_wins_and_nothing_is_lost_whenever_they_are_killed() {
    let (violations, counts) = run(Defective::Nothing);
    assert!(violations.is_empty(), "{} violations, such as {}", violations.len(), violations[0]);
    let killed = ["gone on from", "killed", "killed while it writes", "not the first"];
    let parties = ["bound", "failed", "lied", "lied about a seat", "lost", "silent"];
    for wanted in killed.into_iter().chain(parties) {
        assert!(counts.contains_key(wanted), "nothing was {wanted}: {counts:?}");
    }
}

#[test]
fn a_record_that_shows_nothing_to_who_starts_loses_what_parties_gave() {
    let (violations, _) = run(Defective::Forgets);
    assert!(violations.iter().any(|violation| violation.contains("never gets back")), "{violations:?}");
}

#[test]
fn a_record_that_does_not_compare_has_two_winners() {
    let (violations, _) = run(Defective::Blind);
    assert!(violations.iter().any(|violation| violation.contains("has one")), "{violations:?}");
}
