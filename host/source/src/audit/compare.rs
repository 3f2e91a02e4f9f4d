//! How a listed object differs from the one that is held. Start at [`drift`].

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::change::{Compiled, Identity, Record};
use crate::feed::Ledger;
use nodesift_cache::Writer;
use nodesift_object::Kind;
use nodesift_object::version::compare;

/// How an object differs between the server's list and the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum DriftKind {
    /// It is listed and not held.
    Missing,
    /// It is held and not listed.
    Extra,
    /// It is held at an older version.
    Outdated,
    /// It is held at this version with another content.
    Different,
    /// It is held at a version newer than that in the list, and not newer than the list: the cluster was restored from a backup.
    Void,
}

impl fmt::Display for DriftKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "listed and not held",
            Self::Extra => "held and not listed",
            Self::Outdated => "held at an older version",
            Self::Different => "held with another content",
            Self::Void => "held at a version that the cluster does not know; was it restored from a backup?",
        })
    }
}

/// How an object of a list at version `listed` differs from what is held of it; `None` where it does not, or where nothing can be said.
pub(super) fn drift(object: &Compiled, listed: &str, ledger: &Ledger, writer: &Writer) -> Option<DriftKind> {
    if matches!(object.record, Record::Unreadable) {
        return None;
    }
    let Identity { kind, key, uid, version } = &object.identity;
    let held: Option<Arc<str>> = match kind {
        Kind::Pod => {
            let pod = writer.pods().by_uid(uid).filter(|pod| writer.was_shown(pod));
            pod.map(|pod| Arc::clone(&pod.resource_version))
        }
        _ => ledger.held(*kind, key).filter(|held| held.uid == *uid).map(|held| Arc::clone(&held.version)),
    };
    let ended = matches!(object.record, Record::EndedPod(_));
    let Some(held) = held else {
        return (!ended && !ledger.is_deleted(&object.identity, listed)).then_some(DriftKind::Missing);
    };
    match compare(&held, version) {
        Some(Ordering::Less) => Some(DriftKind::Outdated),
        Some(Ordering::Equal) if ended || !writer.holds(&object.record) => Some(DriftKind::Different),
        Some(Ordering::Greater) if compare(&held, listed).is_some_and(Ordering::is_le) => Some(DriftKind::Void),
        _ => None,
    }
}
