//! Who asks about pods, by the connection that a question comes over, as the number that the engine notes. Start at [`Askers::get`].

use std::sync::{Arc, OnceLock};

use nodesift_edge::{Caller, Identity};
use nodesift_engine::limits::ASKERS;
use nodesift_engine::pending::{AskedPods, Asker};

/// Callers that have asked, in the order in which they came. It only grows, up to a limit, so that it is read without a lock.
#[derive(Debug, Clone)]
pub(crate) struct Askers(Arc<[OnceLock<(Who, Asker)>]>);

/// The part of a caller by which it is told from others: not the process, which changes with every restart.
#[derive(Debug, PartialEq, Eq)]
enum Who {
    Socket(Option<u32>),
    Tcp(Option<Arc<Identity>>),
}

impl Default for Askers {
    fn default() -> Self {
        Self(std::iter::repeat_with(OnceLock::new).take(ASKERS.into()).collect())
    }
}

impl Askers {
    /// The number of a caller.
    pub(crate) fn get(&self, caller: &Caller, asked: &AskedPods) -> Asker {
        for place in &*self.0 {
            // Only one of the threads that meet a caller at the same moment fills the place; the others see by whom.
            let (who, asker) = place.get_or_init(|| (Who::new(caller), asked.asker(&name(caller))));
            if who.is(caller) {
                return *asker;
            }
        }
        Asker::OTHERS
    }
}

impl Who {
    fn new(caller: &Caller) -> Self {
        match caller {
            Caller::Socket { peer } => Self::Socket(peer.map(|peer| peer.uid)),
            Caller::Tcp { identity } => Self::Tcp(identity.clone()),
        }
    }

    fn is(&self, caller: &Caller) -> bool {
        match (self, caller) {
            (Self::Socket(uid), Caller::Socket { peer }) => *uid == peer.map(|peer| peer.uid),
            (Self::Tcp(Some(own)), Caller::Tcp { identity: Some(other) }) => Arc::ptr_eq(own, other) || own == other,
            (Self::Tcp(own), Caller::Tcp { identity }) => own.is_none() && identity.is_none(),
            _ => false,
        }
    }
}

/// The name of a caller for people.
fn name(caller: &Caller) -> String {
    let name = caller.name();
    match caller {
        Caller::Socket { .. } if name.is_empty() => "unix".to_owned(),
        Caller::Socket { .. } => format!("unix {name}"),
        Caller::Tcp { .. } if name.is_empty() => "tcp".to_owned(),
        Caller::Tcp { .. } => format!("tcp {name}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use nodesift_edge::SocketPeer;
    use nodesift_engine::pending::AskResult;

    use super::*;

    #[test]
    fn a_caller_has_one_number_whatever_its_process_and_connection() {
        let (askers, asked) = (Askers::default(), AskedPods::default());
        asked.advance();
        let user = |uid, pid| Caller::Socket { peer: Some(SocketPeer { uid, pid: Some(pid) }) };
        let named = |name: &str| Caller::Tcp { identity: Some(Arc::new(Identity::named(&[name]))) };
        let first = askers.get(&user(7, 1), &asked);
        assert_eq!(first, askers.get(&user(7, 2), &asked));
        let core = askers.get(&named("core"), &asked);
        assert_eq!(core, askers.get(&named("core"), &asked));
        let others = [user(8, 1), Caller::Socket { peer: None }, named("other"), Caller::ANONYMOUS];
        for other in &others {
            let number = askers.get(other, &asked);
            assert!(number != first && number != core, "{other:?}");
            assert_eq!(number, askers.get(other, &asked));
        }
        asked.note("a/b", core, AskResult::Fits);
        assert_eq!(&*asked.last("a/b").unwrap().by, "tcp dns:\"core\"");
        assert_eq!(asked.last("a/b").unwrap().ago, Duration::ZERO);
    }
}
