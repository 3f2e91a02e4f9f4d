//! The parties of the two processes: what they do with what they are told, and what they remember. Now and then one is silent, or lies. Start
//! at [`Sidecars::hear`].

use std::collections::VecDeque;

use super::super::super::*;
use super::super::world::*;
use super::{PARTIES, Seat, Sidecars};

impl Sidecars {
    /// A party has a new stream to a process.
    pub(super) fn attend(&mut self, at: usize, party: usize) {
        self.numbers += 1;
        let (number, now) = (self.numbers, self.now);
        let process = self.process(at);
        process.streams[party] = number;
        (process.calls[party], process.said[party]) = (VecDeque::new(), VecDeque::new());
        let effects = process.core.attend(&text(PARTIES[party].0), number, &Owner::default(), now).unwrap();
        self.act(at, effects);
    }

    /// A party does what it is told next by a process.
    pub(super) fn hear(&mut self, at: usize, party: usize) {
        let process = self.process(at);
        let number = process.number;
        let Some(call) = process.calls[party].pop_front() else { return };
        let (name, most) = PARTIES[party];
        let is_full = self.seats[party].len() >= most;
        let mood = if self.is_resting { u8::MAX } else { self.random.u8(..64) };
        let lies = (1..4).contains(&mood);
        if mood == 0 {
            // It does nothing, and says nothing.
            return self.count("silent");
        }
        let event = match call {
            Call::Ask(ask) => {
                let named = ask.nodes.iter().chain(&ask.recheck).filter(|_| is_full);
                let named = named.map(|node| Unsuitable { node: node.clone(), claim: None, reason: text("full") });
                Event::Answered(text(name), Answer { id: Some(ask.id), nodes: named.collect(), ..Answer::default() })
            }
            Call::Allocate(allocate) if self.seats[party].contains_key(&allocate.id) => allocated(name, allocate),
            Call::Allocate(allocate) if is_full => {
                let nodes = allocate.nodes;
                Event::Failed(text(name), PartyFailed { id: allocate.id, claim: None, reason: text("full"), nodes })
            }
            Call::Allocate(allocate) => {
                self.check_only(party, &allocate, (at, number));
                let seat = Seat { pod: allocate.pod.clone(), process: (at, number) };
                self.seats[party].insert(allocate.id, seat);
                allocated(name, allocate)
            }
            Call::Deallocate(deallocate) => {
                if let Some(seat) = self.seats[party].remove(&deallocate.id)
                    && let Some(Some(calls)) = self.pods.get(&seat.pod)
                    && calls.contains(&deallocate.id)
                {
                    self.violations.push(format!("{name} takes back what {} is bound with", seat.pod));
                }
                Event::Deallocated(text(name), deallocate.id)
            }
            Call::Bound(_) | Call::Withdraw(_) => return,
        };
        let said = if lies { self.lie(event) } else { event };
        self.process(at).said[party].push_back(said);
    }

    /// Something about a node that was never asked about. What is done is not what is said.
    fn lie(&mut self, event: Event) -> Event {
        let never = text("n-never");
        match event {
            Event::Answered(party, mut answer) => {
                self.count("lied");
                answer.nodes.push(Unsuitable { node: never, claim: None, reason: text("no") });
                Event::Answered(party, answer)
            }
            Event::Allocated(party, allocated) => {
                self.count("lied about a seat");
                Event::Allocated(party, PartyAllocated { nodes: vec![never], ..allocated })
            }
            other => other,
        }
    }

    /// No other process that runs has a seat for the pod.
    fn check_only(&mut self, party: usize, allocate: &Allocate, asking: (usize, u64)) {
        let runs =
            |(at, number): (usize, u64)| self.processes[at].as_ref().is_some_and(|process| process.number == number);
        let other = self.seats[party]
            .values()
            .find(|seat| seat.pod == allocate.pod && seat.process.0 != asking.0 && runs(seat.process));
        if let Some(other) = other {
            self.violations.push(format!("{allocate:?} of {asking:?}, and {other:?} has one"));
        }
    }

    /// A party ends, or begins again with what it remembers.
    pub(super) fn toggle(&mut self, party: usize) {
        self.attends[party] = !self.attends[party];
        for at in 0..self.processes.len() {
            if self.processes[at].is_none() {
                continue;
            }
            if self.attends[party] {
                self.attend(at, party);
                continue;
            }
            let process = self.process(at);
            (process.calls[party], process.said[party]) = (VecDeque::new(), VecDeque::new());
            let session = process.streams[party];
            self.step(at, Event::Left { party: text(PARTIES[party].0), session });
        }
    }
}

fn allocated(party: &str, allocate: Allocate) -> Event {
    let Allocate { id, claims, nodes, .. } = allocate;
    Event::Allocated(text(party), PartyAllocated { id, claims, nodes })
}
