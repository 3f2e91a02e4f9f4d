//! Pod templates that a predicate is not called about for now, because calls about them have failed.
//!
//! A predicate can run out of time or memory, or trap, because of what one pod asks for. That pod gets the fault, for a while without
//! another call, so that it takes no processor time from others; then it is tried again. Pods of other templates do not notice.
//!
//! A built-in had too little time or memory for what kube-scheduler answers, which has no such limits. So each further call about such a
//! pod has more ([`Earlier::time`]), and the pod is answered in the end.
//!
//! `Templates` is the state machine, which is told the time; start at [`SetAside::admit`].

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
use crate::clock::now as wall_clock;
use crate::limits::{
    SET_ASIDE_DOUBLINGS, SET_ASIDE_FAULTS, SET_ASIDE_FIRST, SET_ASIDE_FORGET, SET_ASIDE_MOST, SET_ASIDE_NAME_BYTES,
    SET_ASIDE_PART, SET_ASIDE_TEMPLATES, SET_ASIDE_TIME_MOST,
};

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

/// Results of earlier calls about pods of a template. The default stands for no failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Earlier {
    /// Faults in a row.
    pub(crate) faults: u32,
    /// Whether the last of them was that the call had too little time or memory.
    pub(crate) had_too_little: bool,
}

impl Earlier {
    /// The processor time of the next call, where one about such a pod has so much otherwise and its request has so much time left: twice
    /// as much after each fault, within limits.
    pub(crate) fn time(self, usual: Duration, left: Option<Duration>) -> Duration {
        let doubled = usual.saturating_mul(1 << self.faults.min(SET_ASIDE_DOUBLINGS));
        let most = left.map_or(SET_ASIDE_TIME_MOST, |left| SET_ASIDE_TIME_MOST.min(left / SET_ASIDE_PART));
        doubled.min(most).max(usual)
    }
}

/// The pod templates that one predicate has failed for.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    /// Whether there are any: calls of a sound predicate take no lock.
    is_used: AtomicBool,
    failed: Mutex<Templates>,
}

impl SetAside {
    /// Lets a call about a pod be made, unless pods of its template are set aside.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Quarantined`], with the last fault.
    pub(crate) fn admit(&self, owner: &Owner<'_>) -> Result<Earlier, Fault> {
        if !self.is_used.load(Ordering::Relaxed) {
            return Ok(Earlier::default());
        }
        let template = owner.template();
        self.failed.lock().admit(template, Instant::now())
    }

    /// A call has failed. Gives for how long pods of the template are set aside, if they are: at once where the pod alone is to blame,
    /// else after [`SET_ASIDE_FAULTS`].
    pub(crate) fn fail(&self, owner: &Owner<'_>, fault: &Fault, is_of_pod: bool) -> Option<Duration> {
        let (pod, template) = (owner.context?.pod_key(), owner.template());
        let mut failed = self.failed.lock();
        self.is_used.store(true, Ordering::Relaxed);
        failed.fail(template, &pod, fault, is_of_pod, Instant::now())
    }

    /// A call about a pod was good: nothing is known against its template any more.
    pub(crate) fn release(&self, owner: &Owner<'_>) {
        if !self.is_used.load(Ordering::Relaxed) {
            return;
        }
        let mut failed = self.failed.lock();
        failed.0.remove(&owner.template());
        self.is_used.store(!failed.0.is_empty(), Ordering::Relaxed);
    }

    /// The templates that are set aside now, the longest first.
    pub(crate) fn list(&self) -> Vec<Aside> {
        if !self.is_used.load(Ordering::Relaxed) {
            return Vec::new();
        }
        self.failed.lock().list(Instant::now())
    }
}

/// The templates by number, at most [`SET_ASIDE_TEMPLATES`].
#[derive(Debug, Default)]
struct Templates(FxHashMap<u64, Failed>);

#[derive(Debug)]
struct Failed {
    pod: String,
    last_fault: Arc<str>,
    earlier: Earlier,
    since: SystemTime,
    /// For how long it was set aside last; zero where it was not yet.
    wait: Duration,
    /// When it may be tried, or has failed if it was not set aside.
    until: Instant,
}

impl Templates {
    fn admit(&self, template: u64, now: Instant) -> Result<Earlier, Fault> {
        let Some(known) = self.0.get(&template) else { return Ok(Earlier::default()) };
        let left = known.until.saturating_duration_since(now);
        if left.is_zero() {
            return Ok(known.earlier);
        }
        let detail = format!(
            "not called about pods as {} for {} s, because of what they ask for; the last fault: {}",
            known.pod,
            left.as_secs() + 1,
            known.last_fault
        );
        Err(Fault::new(FaultKind::Quarantined, &detail))
    }

    fn fail(&mut self, template: u64, pod: &str, fault: &Fault, is_of_pod: bool, now: Instant) -> Option<Duration> {
        if self.0.len() >= SET_ASIDE_TEMPLATES && !self.0.contains_key(&template) {
            self.make_room(now);
        }
        let known = self.0.entry(template).or_insert_with(|| Failed {
            pod: String::new(),
            last_fault: Arc::default(),
            earlier: Earlier::default(),
            since: wall_clock(),
            wait: Duration::ZERO,
            until: now,
        });
        // A pod of a request may have a name of any length.
        (known.pod, known.last_fault) = (printable(pod, SET_ASIDE_NAME_BYTES), fault.to_string().into());
        known.earlier.faults = known.earlier.faults.saturating_add(1);
        known.earlier.had_too_little = matches!(fault.kind, FaultKind::Deadline | FaultKind::Memory);
        if !is_of_pod && known.earlier.faults < SET_ASIDE_FAULTS {
            return None;
        }
        known.wait = if known.wait.is_zero() { SET_ASIDE_FIRST } else { (known.wait * 2).min(SET_ASIDE_MOST) };
        known.until = now + known.wait;
        Some(known.wait)
    }

    /// Forgets those that have not failed for long, or else those that are due first.
    fn make_room(&mut self, now: Instant) {
        self.0.retain(|_, known| now.saturating_duration_since(known.until) < SET_ASIDE_FORGET);
        while self.0.len() >= SET_ASIDE_TEMPLATES {
            let first = self.0.iter().min_by_key(|(_, known)| known.until).map(|(template, _)| *template);
            if let Some(first) = first {
                self.0.remove(&first);
            }
        }
    }

    fn list(&self, now: Instant) -> Vec<Aside> {
        let asides = self.0.values().filter(|known| known.until > now).map(|known| Aside {
            pod: known.pod.clone(),
            last_fault: Arc::clone(&known.last_fault),
            faults: known.earlier.faults,
            since: known.since,
            retry_in: known.until.saturating_duration_since(now),
        });
        let mut listed: Vec<Aside> = asides.collect();
        listed.sort_unstable_by(|a, b| (b.retry_in, &a.pod).cmp(&(a.retry_in, &b.pod)));
        listed
    }
}

#[cfg(test)]
mod tests;
