//! Stances of the parties about the nodes of a pod, and since when, for explanations of why a pod waits. Start at [`Stance`].

use std::sync::Arc;
use std::time::Instant;

use crate::kept::Key;
use crate::limits::EXPLAINED_REASONS;
use crate::negotiation::{Negotiation, Seat};
use crate::standing::Standing;
use crate::subject::Suitability;
use crate::words::{Word, Words};

/// Statement of a party about some nodes for a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stance {
    /// Name of the party.
    pub party: Arc<str>,
    /// Statement about these nodes.
    pub said: Said,
    /// Of how many nodes.
    pub nodes: usize,
    /// Since when that stands for the first of them; none where it was not asked.
    pub since: Option<Instant>,
}

/// Kind of a party's statement, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The party accepts the nodes.
    Accepted,
    /// The party rejects the nodes, with the reason.
    Refused(Arc<str>),
    /// The party was asked, and has not answered yet.
    Silent,
    /// The party was not asked, with the reason; empty where nobody has asked.
    NotAsked(&'static str),
    /// It was told to allocate on one of the nodes, and has not finished.
    Allocating,
    /// It has allocated: the claims can be used on the nodes.
    Allocated,
}

/// The stances of the parties of a negotiation, in the order of the policy; at least one of each.
pub(crate) fn in_negotiation<'a>(
    it: &Negotiation,
    standing: impl Fn(&str) -> Option<&'a Standing>,
    now: Instant,
) -> Vec<Stance> {
    let mut stances = Vec::new();
    for seat in &it.seats {
        let before = stances.len();
        add_seat(it, seat, &mut stances);
        // Those that another party refuses need no answer.
        let is_open = |unsuitable: u16| unsuitable & !seat.bit == 0;
        let unheard = it.candidates.iter().filter(|it| it.word(seat.bit) == Word::default() && is_open(it.unsuitable));
        let nodes = unheard.count();
        if nodes > 0 || stances.len() == before {
            let said = match seat.unanswered_since {
                Some(_) if nodes > 0 => Said::Silent,
                _ => not_asked(standing(&seat.party), now),
            };
            let since = seat.unanswered_since.filter(|_| said == Said::Silent);
            stances.push(Stance { party: seat.party.clone(), said, nodes, since });
        }
    }
    stances
}

/// Adds the stances of one seat: its answers about candidates, and its call to allocate.
fn add_seat(it: &Negotiation, seat: &Seat, stances: &mut Vec<Stance>) {
    if let Some(call) = &seat.call {
        let said = if call.is_finished { Said::Allocated } else { Said::Allocating };
        let (party, since) = (seat.party.clone(), Some(call.since));
        stances.push(Stance { party, said, nodes: call.nodes.len(), since });
    }
    for (word, said, since) in seat.words.iter() {
        let nodes = it.candidates.iter().filter(|candidate| candidate.word(seat.bit) == word).count();
        stances.extend(stance(&seat.party, said, nodes, since));
    }
}

/// The stances of a party without a negotiation: what is kept of a subject.
pub(crate) fn from_kept<'a>(
    (party, _): &Key,
    kept: impl Iterator<Item = (&'a Suitability, Instant)>,
    standing: Option<&Standing>,
    now: Instant,
) -> Vec<Stance> {
    let (mut words, mut counts) = (Words::default(), [0_usize; EXPLAINED_REASONS + 3]);
    for (said, since) in kept {
        // Every word that was ever given stands.
        let word = words.word(said, since, |_| true);
        if let Some(count) = counts.get_mut(word.place()) {
            *count += 1;
        }
    }
    let count = |word: Word| counts.get(word.place()).copied().unwrap_or(0);
    let stances = words.iter().filter_map(|(word, said, since)| stance(party, said, count(word), since));
    let stances: Vec<Stance> = stances.collect();
    if stances.is_empty() {
        return vec![Stance { party: party.clone(), said: not_asked(standing, now), nodes: 0, since: None }];
    }
    stances
}

fn stance(party: &Arc<str>, said: &Suitability, nodes: usize, since: Instant) -> Option<Stance> {
    let said = match said {
        Suitability::Suitable => Said::Accepted,
        Suitability::Unsuitable(reason) => Said::Refused(reason.clone()),
        Suitability::Unknown => return None,
    };
    (nodes > 0).then(|| Stance { party: party.clone(), said, nodes, since: Some(since) })
}

fn not_asked(standing: Option<&Standing>, now: Instant) -> Said {
    Said::NotAsked(match standing {
        Some(standing) if !standing.attends() => "it does not attend",
        Some(standing) if standing.is_quarantined(now) => "it was silent too often",
        Some(standing) if !standing.may_be_asked(now) => "it was silent",
        _ => "",
    })
}
