//! The thread that follows the files of a policy. Start at [`start`].

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::attempt::{Accept, Active, AttemptError, Reading, milliseconds};
use super::failure::refusal;
use super::metrics::Metrics;
use super::notice::{Notice, Watches};
use super::settle::{Next, Settle};
use super::stamp::{Files, Stamp};
use crate::limits::{RELOAD_DRAIN_LOOK, RELOAD_LOOK};
use nodesift_engine::{Engine, Refusal, ReloadOutcome, Retired};

/// What is followed, and for whom.
pub struct Follow {
    /// Gets the policies.
    pub engine: Arc<Engine>,
    /// The policy's file or folder.
    pub path: PathBuf,
    /// Given the active policy and the next one, says why this process cannot change from one to the other.
    pub accept: Box<Accept>,
    /// Where reloads are counted.
    pub metrics: Metrics,
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A policy that is followed until this is dropped. A reload that runs then is not waited for.
#[derive(Debug)]
#[must_use = "dropping it ends all reloads"]
pub struct Following {
    notice: Arc<Notice>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.notice.end();
    }
}

/// Follows a policy on a thread of its own.
///
/// # Errors
///
/// Where the system starts no thread.
pub fn start(follow: Follow) -> std::io::Result<Following> {
    let notice = Arc::<Notice>::default();
    let for_thread = Arc::clone(&notice);
    thread::Builder::new().name("policy".to_owned()).spawn(move || Follower::new(follow, for_thread).run())?;
    Ok(Following { notice })
}

/// The state of the thread.
struct Follower {
    follow: Follow,
    notice: Arc<Notice>,
    watches: Watches,
    files: Files,
    settle: Settle<Stamp>,
    builtins: Vec<&'static str>,
    /// Replaced policies that requests may still use. They are freed here, which delays no request.
    retired: Vec<Retired>,
}

impl Follower {
    fn new(follow: Follow, notice: Arc<Notice>) -> Self {
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let mut watches = Watches::new(&notice);
        let mut files = Files::new(&follow.path);
        watches.follow(&files);
        // The start has read the files before. What has changed since then is a change like any other.
        let reading = Reading::of(&files, &builtins);
        let current = reading.filter(|reading| reading.is(&follow.engine.policy()));
        let settle = Settle::new(current.map(|reading| {
            files = reading.files;
            reading.stamp
        }));
        watches.follow(&files);
        Self { follow, notice, watches, files, settle, builtins, retired: Vec::new() }
    }

    fn run(mut self) {
        let mut look = Instant::now() + RELOAD_LOOK;
        loop {
            let now = Instant::now();
            if now >= look {
                // A folder that was removed and is there again needs a new watch.
                self.watches.follow(&self.files);
                look = now + RELOAD_LOOK;
            }
            let wake = match self.settle.look(now, self.files.stamp(), self.notice.is_open()) {
                Next::Rest => look,
                Next::Look(at) => at.min(look),
                Next::Read => {
                    self.read();
                    now
                }
            };
            self.retired.retain(|retired| {
                let is_drained = retired.is_drained();
                if is_drained {
                    tracing::debug!(policy_generation = retired.generation(), "the replaced policy is drained");
                }
                !is_drained
            });
            let wake = if self.retired.is_empty() { wake } else { wake.min(now + RELOAD_DRAIN_LOOK) };
            if !self.notice.wait(wake) {
                return;
            }
        }
    }

    /// Reads the files, and loads what they hold.
    fn read(&mut self) {
        let started = Instant::now();
        let Some(reading) = Reading::of(&self.files, &self.builtins) else {
            self.settle.torn(Instant::now());
            return;
        };
        if reading.is_unended() && !self.settle.unended() {
            return;
        }
        self.files = reading.files.clone();
        self.watches.follow(&self.files);
        self.settle.attempted(reading.stamp.clone());
        let (engine, source) = (&self.follow.engine, reading.source.clone());
        let attempt = || reading.activate(engine, &*self.follow.accept);
        match catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(Err(AttemptError::Panicked)) {
            Ok(Active { retired, made, trial }) => {
                let active = engine.policy();
                engine.note_reload(ReloadOutcome::Active, started.elapsed(), Some(retired.swap()));
                self.follow.metrics.active(made, active.origin.since);
                tracing::info!(
                    policy_generation = active.generation,
                    policy = source,
                    kept = made.kept,
                    relinked = made.relinked,
                    compiled = made.compiled,
                    tried_pods = trial.pods,
                    tried_nodes = trial.nodes,
                    ms = milliseconds(started.elapsed()),
                    swap_us = u64::try_from(retired.swap().as_micros()).unwrap_or(u64::MAX),
                    "policy reloaded"
                );
                self.retired.push(retired);
            }
            Err(error) => {
                self.refuse(refusal(engine.policy().generation, source, &error));
                self.follow.engine.note_reload(ReloadOutcome::Refused, started.elapsed(), None);
            }
        }
    }

    fn refuse(&self, refusal: Refusal) {
        let first = refusal.failures.first();
        tracing::warn!(
            policy_generation = refusal.generation,
            policy = refusal.source,
            step = first.map_or("", |failure| failure.step),
            predicate = first.and_then(|failure| failure.predicate.as_deref()),
            reason = %refusal,
            "policy refused: the one before stays active"
        );
        let at = self.follow.engine.note_refusal(refusal);
        self.follow.metrics.refused(at);
    }
}
