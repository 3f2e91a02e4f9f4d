//! Pod templates that a predicate is not called about for now, because calls about them have failed.
//!
//! A predicate can run out of time or memory, or trap, because of what one pod asks for. That pod gets the fault, for a while without
//! another call, so that it takes no processor time from others; then it is tried again. Pods of other templates do not notice. Start at
//! [`SetAside::admit`].

use std::cell::OnceCell;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::printable;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::Context;
use crate::limits::{
    SET_ASIDE_FAULTS, SET_ASIDE_FIRST, SET_ASIDE_FORGET, SET_ASIDE_MOST, SET_ASIDE_NAME_BYTES, SET_ASIDE_TEMPLATES,
};
use crate::policy::replace::now as wall_clock;

/// Keyed at random: nobody can write a pod whose hash is that of somebody else's.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The number of the next owner that is no pod.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Whom a call is about. The hash of a pod is computed only where a call has failed.
#[derive(Debug)]
pub(crate) struct Owner<'a> {
    /// None where the call is not about a pod in question.
    context: Option<&'a Context>,
    /// That of an object of an accounting component; none where it has none, as a node.
    namespace: Option<&'a str>,
    template: OnceCell<u64>,
}

impl<'a> Owner<'a> {
    /// The pod of a context.
    pub(crate) fn pod(context: &'a Context) -> Self {
        Self { context: Some(context), namespace: None, template: OnceCell::new() }
    }

    /// An object of an accounting component, each of which is another. Nodes are of no namespace: each has one of its own here.
    pub(crate) fn object(namespace: Option<&'a str>) -> Self {
        Self { context: None, namespace, template: OnceCell::new() }
    }

    /// Pods of one template have the same number.
    pub(crate) fn template(&self) -> u64 {
        *self.template.get_or_init(|| match self.context {
            Some(context) => HASHES.hash_one(&**context.pod()),
            None => NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Pods of one namespace have the same number.
    pub(crate) fn namespace(&self) -> u64 {
        match self.context.map(|context| &*context.pod().namespace).or(self.namespace) {
            Some(namespace) => HASHES.hash_one(namespace),
            None => self.template(),
        }
    }
}

/// A pod template that is set aside.
#[derive(Debug, Clone)]
pub struct Aside {
    /// The pod that a call failed about last, as `namespace/name`.
    pub pod: String,
    /// The last fault: its kind and detail.
    pub last_fault: Arc<str>,
    /// Faults about pods of the template in a row.
    pub faults: u32,
    /// When the first of them happened.
    pub since: SystemTime,
    /// Time until the predicate is called about such a pod again.
    pub retry_in: Duration,
}

/// The pod templates that one predicate has failed for.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    /// Whether there are any: calls of a sound predicate take no lock.
    is_used: AtomicBool,
    failed: Mutex<FxHashMap<u64, Failed>>,
}

#[derive(Debug)]
struct Failed {
    pod: String,
    last_fault: Arc<str>,
    faults: u32,
    since: SystemTime,
    /// For how long it was set aside last; zero where it was not yet.
    wait: Duration,
    /// When it may be tried, or has failed if it was not set aside.
    until: Instant,
}

impl SetAside {
    /// Lets a call about a pod be made, unless pods of its template are set aside.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Quarantined`], with the last fault.
    pub(crate) fn admit(&self, owner: &Owner<'_>) -> Result<(), Fault> {
        if !self.is_used.load(Ordering::Relaxed) {
            return Ok(());
        }
        let failed = self.failed.lock();
        let Some(known) = failed.get(&owner.template()) else { return Ok(()) };
        let left = known.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let detail = format!(
            "not called about pods as {} for {} s, because of what they ask for; the last fault: {}",
            known.pod,
            left.as_secs() + 1,
            known.last_fault
        );
        Err(Fault::new(FaultKind::Quarantined, &detail))
    }

    /// A call has failed. Gives for how long pods of the template are set aside, if they are: at once where the pod alone is to blame,
    /// else after [`SET_ASIDE_FAULTS`].
    pub(crate) fn fail(&self, owner: &Owner<'_>, fault: &Fault, is_of_pod: bool) -> Option<Duration> {
        let pod = owner.context?.pod_key();
        let now = Instant::now();
        let mut failed = self.failed.lock();
        if failed.len() >= SET_ASIDE_TEMPLATES && !failed.contains_key(&owner.template()) {
            failed.retain(|_, known| now.saturating_duration_since(known.until) < SET_ASIDE_FORGET);
            while failed.len() >= SET_ASIDE_TEMPLATES {
                let first = failed.iter().min_by_key(|(_, known)| known.until).map(|(template, _)| *template)?;
                failed.remove(&first);
            }
        }
        let known = failed.entry(owner.template()).or_insert_with(|| Failed {
            pod: String::new(),
            last_fault: Arc::default(),
            faults: 0,
            since: wall_clock(),
            wait: Duration::ZERO,
            until: now,
        });
        // A pod of a request may have a name of any length.
        (known.pod, known.last_fault) = (printable(&pod, SET_ASIDE_NAME_BYTES), fault.to_string().into());
        known.faults = known.faults.saturating_add(1);
        self.is_used.store(true, Ordering::Relaxed);
        if !is_of_pod && known.faults < SET_ASIDE_FAULTS {
            return None;
        }
        known.wait = if known.wait.is_zero() { SET_ASIDE_FIRST } else { (known.wait * 2).min(SET_ASIDE_MOST) };
        known.until = now + known.wait;
        Some(known.wait)
    }

    /// A call about a pod was good: nothing is known against its template any more.
    pub(crate) fn release(&self, owner: &Owner<'_>) {
        if !self.is_used.load(Ordering::Relaxed) {
            return;
        }
        let mut failed = self.failed.lock();
        failed.remove(&owner.template());
        self.is_used.store(!failed.is_empty(), Ordering::Relaxed);
    }

    /// The templates that are set aside now, the longest first.
    pub(crate) fn list(&self) -> Vec<Aside> {
        if !self.is_used.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let now = Instant::now();
        let failed = self.failed.lock();
        let mut listed: Vec<Aside> = failed
            .values()
            .filter(|known| known.until > now)
            .map(|known| Aside {
                pod: known.pod.clone(),
                last_fault: Arc::clone(&known.last_fault),
                faults: known.faults,
                since: known.since,
                retry_in: known.until.saturating_duration_since(now),
            })
            .collect();
        listed.sort_unstable_by(|a, b| (b.retry_in, &a.pod).cmp(&(a.retry_in, &b.pod)));
        listed
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::facts::Batch;

    #[test]
    fn a_good_call_starts_the_count_and_the_waits_of_a_template_anew() {
        let (mut writer, reader) = nodesift_cache::new();
        writer.publish();
        let pod = serde_json::from_str(r#"{"metadata":{"name":"a","namespace":"ns"}}"#).unwrap();
        let facts = Arc::new(nodesift_cache::metadata::pod(&pod));
        let context = Context::new(reader.snapshot(), facts, None, Batch::All);
        let (aside, owner) = (SetAside::default(), Owner::pod(&context));
        let fail = || aside.fail(&owner, &Fault::new(FaultKind::Trap, "unreachable"), false);
        for _ in 0..2 {
            let waits: Vec<Option<Duration>> = (0..=SET_ASIDE_FAULTS).map(|_| fail()).collect();
            let (few, rest) = waits.split_at(SET_ASIDE_FAULTS as usize - 1);
            assert!(few.iter().all(Option::is_none), "{waits:?}");
            assert_eq!(rest, [Some(SET_ASIDE_FIRST), Some(SET_ASIDE_FIRST * 2)]);
            aside.release(&owner);
            assert!(aside.list().is_empty());
        }
    }
}
