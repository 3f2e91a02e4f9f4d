//! The breaker of a predicate: one that fails for everybody is not called for a while (quarantine), and its failure policy answers.
//!
//! ```text
//! closed ── QUARANTINE_FAULTS templates of QUARANTINE_NAMESPACES namespaces fail in a row ──► open: no call, the fault is `Quarantined`
//!   ▲       within QUARANTINE_WINDOW, and no call about another pod is good                    │ at once, after 1 s, 2 s, … 30 s: one call, a retry
//!   └──── the first retry, or QUARANTINE_GOOD_CALLS in a row after one that failed: good ─────┘ a fault doubles the wait, a good one resets it
//! ```
//!
//! The first retry is due at once, and is made for the next pod that has not failed: if it is good, the predicate fails for some pods
//! only, and nobody else has noticed. A pod of a template that has failed waits longer for a retry than others do, so that a core that
//! asks for it again and again neither takes the retries from others nor makes them wait; where there are no others it is retried as
//! well.
//!
//! A fault has an owner: a predicate that fails for one pod is not called about pods of its template for a while
//! ([`set_aside`](crate::set_aside)), and nobody else notices. So whoever may create pods in one namespace cannot open the breaker. A
//! built-in that runs out of time, memory or output does so by the size of what it is asked about: that never opens it.
//!
//! Only faults of the predicate itself count ([`FaultKind::is_of_predicate`]). A cached verdict needs no call, so it is used
//! however the breaker stands. A reload that replaces the predicate gives it a new breaker. `State` is the state machine, which
//! is told the time; start at [`Breaker::admit`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use nodesift_sandbox::fault::{Fault, FaultKind};
use parking_lot::Mutex;

use crate::clock::now as wall_clock;
use crate::limits::{
    QUARANTINE_FAILED_WAITS, QUARANTINE_FAULTS, QUARANTINE_FAULTS_KEPT, QUARANTINE_GOOD_CALLS, QUARANTINE_NAMESPACES,
    QUARANTINE_RETRY_FIRST, QUARANTINE_RETRY_MOST, QUARANTINE_WINDOW,
};
use crate::set_aside::{Aside, Earlier, Owner, SetAside};

/// The breaker of one predicate.
#[derive(Debug, Default)]
pub struct Breaker {
    /// Whether `state` is open: calls of a sound predicate take no lock.
    is_open: AtomicBool,
    /// Whether `state` has faults that a good call ends.
    has_faults: AtomicBool,
    state: Mutex<State>,
    /// Pod templates that it is not called about for now.
    set_aside: SetAside,
    opened: AtomicU64,
    never_opens: bool,
}

/// State of an open circuit breaker: the predicate is not called, apart from retries.
#[derive(Debug, Clone)]
pub struct Quarantine {
    /// Wall-clock time at which the breaker opened.
    pub since: SystemTime,
    /// The last fault of the predicate: its kind and detail.
    pub last_fault: Arc<str>,
    /// Time until the next call; zero where the next query makes it, or one runs.
    pub retry_in: Duration,
    /// Good retries in a row.
    pub good_calls: u32,
}

/// State change of the circuit breaker caused by one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The call has changed nothing.
    None,
    /// Pods of the template that the call was about are set aside for this time.
    SetAside(Duration),
    /// The breaker has opened.
    Opened,
    /// The breaker has closed.
    Closed,
}

/// A call that may be made. Dropped without [`Admitted::end`], it says nothing about the predicate.
#[derive(Debug)]
pub(crate) struct Admitted<'a> {
    breaker: &'a Breaker,
    is_retry: bool,
    earlier: Earlier,
}

/// Whose fault a fault is, beside the pod's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The predicate may be faulty: such faults about pods of several namespaces open the breaker.
    Predicate,
    /// The pod alone: what it asks for is what the predicate fails for.
    Pod,
}

/// Whether what a call is about may be to blame for its fault by its size alone.
pub(crate) fn is_by_size(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Deadline | FaultKind::Memory | FaultKind::OutputTooLarge)
}

impl Breaker {
    /// One that never opens: for tests that call faulty predicates again and again.
    pub fn that_never_opens() -> Self {
        Self { never_opens: true, ..Self::default() }
    }

    /// Admits a call about a pod, or reports the fault `Quarantined`.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Quarantined`] while pods of its template are set aside, and while the breaker is open and no retry is due about it.
    pub(crate) fn admit(&self, owner: &Owner<'_>) -> Result<Admitted<'_>, Fault> {
        let earlier = self.set_aside.admit(owner)?;
        if !self.is_open.load(Ordering::Relaxed) {
            return Ok(Admitted { breaker: self, is_retry: false, earlier });
        }
        let admission = self.state.lock().admit(Instant::now(), earlier.faults > 0);
        match admission {
            Admission::Call => Ok(Admitted { breaker: self, is_retry: false, earlier }),
            Admission::Retry => Ok(Admitted { breaker: self, is_retry: true, earlier }),
            Admission::Refused(last_fault) => {
                let detail =
                    format!("not called for now, because it has failed too often; its last fault: {last_fault}");
                Err(Fault::new(FaultKind::Quarantined, &detail))
            }
        }
    }

    /// The pod templates that it is not called about for now, or was not lately; those with the longest wait first.
    pub fn set_aside(&self) -> Vec<Aside> {
        self.set_aside.list()
    }

    /// How often it has opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// The quarantine of the predicate, if there is one.
    pub fn quarantine(&self) -> Option<Quarantine> {
        self.is_open.load(Ordering::Relaxed).then(|| self.state.lock().quarantine(Instant::now())).flatten()
    }
}

impl Admitted<'_> {
    /// Whether it is a call during a quarantine.
    pub(crate) fn is_retry(&self) -> bool {
        self.is_retry
    }

    /// Results of earlier calls about pods of the same template.
    pub(crate) fn earlier(&self) -> Earlier {
        self.earlier
    }

    /// The call about a pod has ended, with this fault if any.
    pub(crate) fn end(mut self, owner: &Owner<'_>, fault: Option<&Fault>, blame: Blame) -> Change {
        let outcome = match fault {
            None => Outcome::Good,
            Some(fault) if fault.kind.is_of_predicate() => Outcome::Fault(fault),
            Some(_) => Outcome::Nothing,
        };
        if self.breaker.never_opens {
            return Change::None;
        }
        let (breaker, is_retry) = (self.breaker, self.is_retry);
        let mut change = Change::None;
        match &outcome {
            Outcome::Good => {
                breaker.set_aside.release(owner);
                // No lock for calls of a sound predicate.
                if !is_retry && !breaker.has_faults.load(Ordering::Relaxed) {
                    return change;
                }
            }
            Outcome::Fault(fault) => {
                let wait = breaker.set_aside.fail(owner, fault, blame == Blame::Pod);
                change = wait.map_or(Change::None, Change::SetAside);
            }
            Outcome::Nothing if !is_retry => return change,
            Outcome::Nothing => {}
        }
        // That the pod is at fault says nothing about the predicate: the retry is as if it had not been made.
        let outcome = if blame == Blame::Pod && fault.is_some() { Outcome::Nothing } else { outcome };
        // The lock orders the flags as the states.
        let mut state = breaker.state.lock();
        let about = matches!(outcome, Outcome::Fault(_)).then(|| (owner.template(), owner.namespace()));
        let of_state = state.end(Instant::now(), is_retry, &outcome, about);
        breaker.has_faults.store(state.has_faults(), Ordering::Relaxed);
        match of_state {
            Change::Opened => {
                breaker.opened.fetch_add(1, Ordering::Relaxed);
                breaker.is_open.store(true, Ordering::Relaxed);
            }
            Change::Closed => breaker.is_open.store(false, Ordering::Relaxed),
            Change::None | Change::SetAside(_) => {}
        }
        // The state knows that the retry has ended.
        self.is_retry = false;
        if of_state == Change::None { change } else { of_state }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if self.is_retry {
            self.breaker.state.lock().end(Instant::now(), true, &Outcome::Nothing, None);
        }
    }
}

#[derive(Debug)]
enum State {
    Closed {
        /// The last faults without a good call between them, one for each template, at most [`QUARANTINE_FAULTS_KEPT`].
        faults: VecDeque<FaultOf>,
    },
    Open(Open),
}

impl Default for State {
    fn default() -> Self {
        Self::Closed { faults: VecDeque::new() }
    }
}

/// A fault, and the pod that the call was about.
#[derive(Debug)]
struct FaultOf {
    at: Instant,
    template: u64,
    namespace: u64,
}

#[derive(Debug)]
struct Open {
    since: SystemTime,
    last_fault: Arc<str>,
    /// Between the last retry and the next; zero until a retry has failed or was good.
    wait: Duration,
    /// When a retry is due about a pod that has not failed.
    next: Instant,
    /// Whether a retry is running.
    is_retrying: bool,
    good_calls: u32,
}

#[derive(Debug)]
enum Admission {
    Call,
    Retry,
    /// No call is made; carries the last fault of the predicate.
    Refused(Arc<str>),
}

#[derive(Debug)]
enum Outcome<'a> {
    Good,
    Fault(&'a Fault),
    /// The call says nothing about the predicate: it was not made, or was ended for another reason.
    Nothing,
}

impl State {
    /// `has_failed`: whether a call about a pod of the template has failed.
    fn admit(&mut self, now: Instant, has_failed: bool) -> Admission {
        let Self::Open(open) = self else { return Admission::Call };
        let wait = open.wait.max(QUARANTINE_RETRY_FIRST);
        let due = if has_failed { open.next + wait * QUARANTINE_FAILED_WAITS } else { open.next };
        if open.is_retrying || now < due {
            return Admission::Refused(Arc::clone(&open.last_fault));
        }
        open.is_retrying = true;
        // From its beginning on: a retry that ends at once is not followed by another.
        open.next = now + wait;
        Admission::Retry
    }

    /// A call about a pod, its template and namespace as [`Owner`] numbers them, has ended.
    fn end(&mut self, now: Instant, is_retry: bool, outcome: &Outcome<'_>, about: Option<(u64, u64)>) -> Change {
        match self {
            Self::Closed { faults } => {
                let (fault, (template, namespace)) = match (outcome, about) {
                    // It can be called about others.
                    (Outcome::Good, _) => {
                        faults.clear();
                        return Change::None;
                    }
                    (Outcome::Fault(fault), Some(about)) => (fault, about),
                    (Outcome::Fault(_) | Outcome::Nothing, _) => return Change::None,
                };
                faults.retain(|fault| {
                    now.saturating_duration_since(fault.at) < QUARANTINE_WINDOW && fault.template != template
                });
                if faults.len() >= QUARANTINE_FAULTS_KEPT {
                    // One of the namespace that has most of them: templates of one namespace displace no others.
                    let of = |fault: &FaultOf| faults.iter().filter(|other| other.namespace == fault.namespace).count();
                    let most = (0..faults.len()).max_by_key(|at| faults.get(*at).map_or(0, of)).unwrap_or(0);
                    faults.remove(most);
                }
                faults.push_back(FaultOf { at: now, template, namespace });
                let mut namespaces: Vec<u64> = faults.iter().map(|fault| fault.namespace).collect();
                namespaces.sort_unstable();
                namespaces.dedup();
                if faults.len() < QUARANTINE_FAULTS || namespaces.len() < QUARANTINE_NAMESPACES {
                    return Change::None;
                }
                *self = Self::Open(Open {
                    since: wall_clock(),
                    last_fault: fault.to_string().into(),
                    wait: Duration::ZERO,
                    next: now,
                    is_retrying: false,
                    good_calls: 0,
                });
                Change::Opened
            }
            // Calls that had begun before it opened.
            Self::Open(_) if !is_retry => Change::None,
            Self::Open(open) => {
                open.is_retrying = false;
                match outcome {
                    Outcome::Nothing => {}
                    Outcome::Fault(fault) => {
                        open.last_fault = fault.to_string().into();
                        open.good_calls = 0;
                        open.wait = (open.wait * 2).clamp(QUARANTINE_RETRY_FIRST, QUARANTINE_RETRY_MOST);
                        open.next = now + open.wait;
                    }
                    Outcome::Good => {
                        open.good_calls += 1;
                        let is_first = open.wait.is_zero();
                        open.wait = QUARANTINE_RETRY_FIRST;
                        open.next = open.next.min(now + open.wait);
                        if is_first || open.good_calls >= QUARANTINE_GOOD_CALLS {
                            *self = Self::default();
                            return Change::Closed;
                        }
                    }
                }
                Change::None
            }
        }
    }

    /// Whether a good call changes it.
    fn has_faults(&self) -> bool {
        matches!(self, Self::Closed { faults } if !faults.is_empty())
    }

    fn quarantine(&self, now: Instant) -> Option<Quarantine> {
        let Self::Open(open) = self else { return None };
        Some(Quarantine {
            since: open.since,
            last_fault: Arc::clone(&open.last_fault),
            retry_in: open.next.saturating_duration_since(now),
            good_calls: open.good_calls,
        })
    }
}

#[cfg(test)]
mod tests;
