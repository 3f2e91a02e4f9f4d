//! One change: what a list removes, whether a change is newer than what is held, and how it is applied and noted in the ledger. Start at
//! [`perform`].

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::ledger::{Evidence, Ledger, VersionCheck};
use super::target::{ApplyError, Target};
use crate::change::{Identity, ObjectChange, Record};
use crate::limits::FEED_PULSE_PODS;
use nodesift_object::Kind;
use nodesift_object::version::is_newer;

/// Returns the objects of a kind that are held, are not in its list, and are not newer than the list; each at the version of the list.
/// Calls `beat` once for every [`FEED_PULSE_PODS`] pods.
pub(super) fn unlisted<T: Target>(
    kind: Kind,
    version: &Arc<str>,
    listed: &FxHashSet<Arc<str>>,
    ledger: &Ledger,
    target: &T,
    beat: &dyn Fn(),
) -> Vec<Identity> {
    let deleted = |key: &str, uid: &Arc<str>, held: &str| {
        (!listed.contains(uid) && !is_newer(held, version)).then(|| Identity {
            kind,
            key: Arc::from(key),
            uid: Arc::clone(uid),
            version: Arc::clone(version),
        })
    };
    if kind != Kind::Pod {
        return ledger.all(kind).filter_map(|(key, held)| deleted(key, &held.uid, &held.version)).collect();
    }
    let pods = target.pods();
    let key = |pod: &nodesift_cache::metadata::PodRecord| format!("{}/{}", pod.namespace, pod.name);
    let mut found = Vec::new();
    for pods in pods.chunks(FEED_PULSE_PODS) {
        beat();
        found.extend(pods.iter().filter_map(|pod| deleted(&key(pod), &pod.uid, ledger.version_of(pod))));
    }
    found
}

/// The version check of a change, and the UID of another object that is held under its key and that it would replace.
pub(super) fn check<T: Target>(
    change: &ObjectChange,
    evidence: Evidence,
    ledger: &Ledger,
    target: &T,
) -> (VersionCheck, Option<Arc<str>>) {
    let Some(identity) = change.identity() else { return (VersionCheck::Newer, None) };
    let pod = if identity.kind == Kind::Pod { target.pod(&identity.uid, &identity.key) } else { None };
    let held = match &pod {
        Some(pod) => Some((&pod.uid, ledger.version_of(pod))),
        None => ledger.held(identity.kind, &identity.key).map(|held| (&held.uid, &*held.version)),
    };
    let displaced = held.map(|(uid, _)| uid).filter(|uid| **uid != identity.uid).map(Arc::clone);
    let held = held.map(|(uid, version)| (&**uid, version));
    let check = match change {
        ObjectChange::Applied(_) => ledger.check(identity, held, evidence),
        ObjectChange::Repaired(_) => ledger.check(identity, held, Evidence::Audit),
        ObjectChange::Deleted(_) => ledger.check_deletion(identity, held),
        ObjectChange::Requeued(_) => VersionCheck::Newer,
    };
    (check, displaced)
}

/// Applies one change to the target and notes it in the ledger.
pub(super) fn perform<T: Target>(
    change: &ObjectChange,
    leaves_tombstone: bool,
    displaced: Option<Arc<str>>,
    ledger: &mut Ledger,
    target: &mut T,
) -> Result<(), ApplyError> {
    match change {
        ObjectChange::Applied(object) | ObjectChange::Repaired(object) => {
            let identity = &object.identity;
            let ended = matches!(object.record, Record::EndedPod(_));
            let leaves_tombstone = ended && (leaves_tombstone || target.pod(&identity.uid, "").is_some());
            // Before it is applied: if that panics, the retry no longer finds the displaced object.
            let displaced = displaced.filter(|_| !ended);
            if let Some(uid) = displaced.clone() {
                ledger.removed(&Identity { uid, ..identity.clone() });
            }
            target.apply(object)?;
            displaced.iter().chain([&identity.uid]).for_each(|uid| ledger.renewed(uid));
            if leaves_tombstone {
                target.note_ended(&identity.uid);
                ledger.removed(identity);
            } else if !ended {
                ledger.applied(identity);
            }
        }
        ObjectChange::Deleted(deleted) => {
            target.remove(deleted)?;
            ledger.renewed(&deleted.uid);
            ledger.removed(deleted);
        }
        ObjectChange::Requeued((kind, uid)) => target.recount(*kind, uid)?,
    }
    Ok(())
}
