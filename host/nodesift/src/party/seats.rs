//! Seats of a licence: how many there are, who has them, and on which nodes they are good. Start at [`Seats`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use anyhow::Context as _;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{Allocate, Answer, Ask, Invalidate, PartyAllocated, PartyFailed, Unsuitable};

use super::script::is_named;

/// Reason where all seats are taken.
const NONE_FREE: &str = "no free seat";

/// Reason where a seat is of no use on a node.
const NOT_SERVED: &str = "not served";

/// Seats, each had by one call to allocate until that is given back.
#[derive(Debug)]
pub(super) struct Seats {
    count: usize,
    /// Names of nodes on which they are good, or prefixes that end in `*`; empty: all.
    nodes: Vec<String>,
    /// File that remembers who has one; none: that is forgotten with the process.
    file: Option<PathBuf>,
    /// The pod of each call that has one.
    taken: BTreeMap<u64, String>,
    /// How many were taken at a time, at most.
    most: usize,
}

impl Seats {
    /// Opens so many seats, with who has them as the file says, where there is one.
    ///
    /// # Errors
    ///
    /// Where the file is there and cannot be read.
    pub(super) fn open(count: usize, nodes: Vec<String>, file: Option<PathBuf>) -> anyhow::Result<Self> {
        let taken = match file.as_deref().map(|file| nodesift_file::open(file).and_then(io::read_to_string)) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Some(read) => {
                let text = read.with_context(|| unread(file.as_deref()))?;
                serde_json::from_str(&text).with_context(|| unread(file.as_deref()))?
            }
            None => BTreeMap::new(),
        };
        Ok(Self { most: taken.len(), count, nodes, file, taken })
    }

    /// Why a node does not suit; none where it does.
    pub(super) fn reason(&self, node: &str) -> Option<&'static str> {
        if !self.is_served(node) {
            return Some(NOT_SERVED);
        }
        (self.taken.len() >= self.count).then_some(NONE_FREE)
    }

    fn is_served(&self, node: &str) -> bool {
        self.nodes.is_empty() || self.nodes.iter().any(|name| is_named(name, node))
    }

    /// The answer to a question. It is for this pod alone: the next one may find the seat taken.
    pub(super) fn answer(&self, ask: &Ask) -> Message {
        let refused = |node: &String| {
            let reason = self.reason(node)?.to_owned();
            Some(Unsuitable { node: node.clone(), reason, claim: String::new() })
        };
        let nodes = ask.nodes.iter().chain(&ask.recheck).filter_map(refused).collect();
        Message::Answer(Answer { id: ask.id, nodes, ..Answer::default() })
    }

    /// Gives a call a seat, which it may have already.
    ///
    /// # Errors
    ///
    /// Where that cannot be written down: it is not given then.
    pub(super) fn allocate(&mut self, call: &Allocate) -> anyhow::Result<Message> {
        let failed = |reason: &str, nodes: &[String]| {
            let (claim, reason, nodes) = (String::new(), reason.to_owned(), nodes.to_vec());
            Message::Failed(PartyFailed { id: call.id, claim, reason, nodes })
        };
        let served: Vec<String> = call.nodes.iter().filter(|node| self.is_served(node)).cloned().collect();
        if served.is_empty() {
            return Ok(failed(NOT_SERVED, &call.nodes));
        }
        if !self.taken.contains_key(&call.id) {
            if self.taken.len() >= self.count {
                return Ok(failed(NONE_FREE, &call.nodes));
            }
            let pod = call.pod.as_ref().map(|pod| format!("{}/{}", pod.namespace, pod.name)).unwrap_or_default();
            self.taken.insert(call.id, pod);
            if let Err(error) = self.keep() {
                self.taken.remove(&call.id);
                return Err(error);
            }
            self.most = self.most.max(self.taken.len());
        }
        let claims = call.claims.iter().map(|claim| claim.uid.clone()).collect();
        Ok(Message::Allocated(PartyAllocated { id: call.id, claims, nodes: served }))
    }

    /// Takes the seat of a call back, if it has one: whoever was told that none is free is told otherwise by the message.
    ///
    /// # Errors
    ///
    /// Where that cannot be written down: it stays taken then.
    pub(super) fn deallocate(&mut self, call: u64) -> anyhow::Result<Option<Message>> {
        let Some(pod) = self.taken.remove(&call) else { return Ok(None) };
        if let Err(error) = self.keep() {
            self.taken.insert(call, pod);
            return Err(error);
        }
        Ok(Some(Message::Invalidate(Invalidate::default())))
    }

    /// Writes down who has seats, before anybody is told.
    fn keep(&self) -> anyhow::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let named = || format!("cannot write {}", file.display());
        let new = file.with_extension("new");
        fs::write(&new, serde_json::to_vec(&self.taken).with_context(named)?).with_context(named)?;
        fs::rename(&new, file).with_context(named)
    }
}

impl fmt::Display for Seats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} seats are taken, {} at most so far", self.taken.len(), self.count, self.most)
    }
}

fn unread(file: Option<&Path>) -> String {
    format!("cannot read {}", file.unwrap_or(Path::new("")).display())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn call(id: u64, nodes: &[&str]) -> Allocate {
        Allocate { id, nodes: nodes.iter().map(|node| (*node).to_owned()).collect(), ..Allocate::default() }
    }

    fn outcome(message: &Message) -> String {
        match message {
            Message::Allocated(allocated) => format!("{} on {}", allocated.id, allocated.nodes.join(" ")),
            Message::Failed(failed) => format!("{}: {}", failed.id, failed.reason),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_seat_is_had_by_one_call_until_that_gives_it_back() {
        let mut seats = Seats::open(1, Vec::new(), None).unwrap();
        assert_eq!(outcome(&seats.allocate(&call(1, &["a", "b"])).unwrap()), "1 on a b");
        assert_eq!(outcome(&seats.allocate(&call(1, &["a", "b"])).unwrap()), "1 on a b", "it comes again");
        assert_eq!(outcome(&seats.allocate(&call(2, &["a"])).unwrap()), "2: no free seat");
        assert_eq!(seats.reason("a"), Some(NONE_FREE));
        assert!(seats.deallocate(2).unwrap().is_none(), "it has none");
        assert!(matches!(seats.deallocate(1).unwrap(), Some(Message::Invalidate(_))));
        assert_eq!((seats.reason("a"), seats.deallocate(1).unwrap()), (None, None));
        assert_eq!(outcome(&seats.allocate(&call(2, &["a"])).unwrap()), "2 on a");
        assert_eq!(seats.to_string(), "1 of 1 seats are taken, 1 at most so far");
    }

    #[test]
    fn seats_are_good_on_some_nodes_only() {
        let mut seats = Seats::open(5, vec!["a-*".to_owned(), "b".to_owned()], None).unwrap();
        let reasons = ["a-1", "b", "b-1", "c"].map(|node| seats.reason(node));
        assert_eq!(reasons, [None, None, Some(NOT_SERVED), Some(NOT_SERVED)]);
        assert_eq!(outcome(&seats.allocate(&call(1, &["c", "a-1"])).unwrap()), "1 on a-1");
        assert_eq!(outcome(&seats.allocate(&call(2, &["c"])).unwrap()), "2: not served");
        let ask = Ask { id: 7, nodes: vec!["c".to_owned()], recheck: vec!["b".to_owned()], ..Ask::default() };
        let Message::Answer(answer) = seats.answer(&ask) else { unreachable!() };
        let named: Vec<_> = answer.nodes.iter().map(|it| (it.node.as_str(), it.reason.as_str())).collect();
        assert_eq!((answer.id, answer.valid_ms, named), (7, 0, vec![("c", NOT_SERVED)]));
    }

    #[test]
    fn a_process_that_was_killed_knows_who_has_its_seats() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seats.json");
        let open = || Seats::open(2, Vec::new(), Some(file.clone()));
        open().unwrap().allocate(&call(u64::MAX, &["a"])).unwrap();
        let mut again = open().unwrap();
        assert_eq!(again.to_string(), "1 of 2 seats are taken, 1 at most so far");
        again.deallocate(u64::MAX).unwrap();
        assert!(open().unwrap().taken.is_empty());
        fs::write(&file, "[").unwrap();
        assert!(open().unwrap_err().to_string().contains("seats.json"));
        // What cannot be written down is not given.
        let mut nowhere = Seats::open(1, Vec::new(), Some(folder.path().join("none/seats.json"))).unwrap();
        assert!(nowhere.allocate(&call(1, &["a"])).is_err());
        assert_eq!(nowhere.reason("a"), None);
    }
}
