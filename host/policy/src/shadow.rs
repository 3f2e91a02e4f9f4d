//! The thread that evaluates predicates in the mode `Shadow`, and a second policy, beside the active policy: on what live requests
//! ask, and with at most a tenth of a core.
//!
//! What it finds is in the engine's [`Shadow`]. With each new active policy, and with each change of the second policy's files, it
//! begins anew, because differences are between two policies. Start at [`start`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use crate::activate::{ActivateErrors, Activation};
use crate::kubernetes::ServerVersion;
use crate::limits::{SHADOW_FILES_LOOK, SHADOW_LOOK, SHADOW_NICE, SHADOW_SHARE};
use crate::reload::{Files, Source, Stamp, Unacceptable};
use crate::spec::{PolicyError, PolicyText};
use crate::{PulledFolder, Reach};
use nodesift_engine::{ActivePolicy, Alternative, Asked, Comparison, Engine, KubernetesVersion, Shadow};

/// Name, in messages, of the comparison with predicates in the mode `Shadow` of the active policy.
const IN_SHADOW: &str = "predicates in mode Shadow";

/// Given the active policy and another, says why this process cannot evaluate the other.
pub type Accept = dyn Fn(&ActivePolicy, &ActivePolicy) -> Result<(), Unacceptable> + Send;

/// Configuration of the thread that evaluates other policies beside the active one.
pub struct Beside {
    /// Answers the live requests.
    pub engine: Arc<Engine>,
    /// The file or folder of a second policy, if there is one. It is followed.
    pub second: Option<PathBuf>,
    /// Restriction of the files and registries that the second policy may name.
    pub reach: Reach,
    /// The version of Kubernetes that the second policy takes where it names none.
    pub server: ServerVersion,
    /// Where modules of registries are.
    pub pulled: PulledFolder,
    /// Given the active policy and another, says why this process cannot evaluate the other.
    pub accept: Box<Accept>,
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").field("second", &self.second).finish_non_exhaustive()
    }
}

/// Why a second policy is not evaluated.
#[derive(Debug, thiserror::Error)]
pub enum ShadowError {
    /// Its document cannot be read, or is invalid.
    #[error(transparent)]
    Document(#[from] PolicyError),
    /// Its modules cannot be read or loaded.
    #[error(transparent)]
    Modules(#[from] ActivateErrors),
    /// It follows another version of Kubernetes than the active policy at present.
    #[error(
        "it follows Kubernetes {second}, and the active policy {active}, by which pods, volumes or devices count otherwise: that cannot be \
         compared on one snapshot"
    )]
    Version {
        /// Version of the second policy.
        second: Arc<str>,
        /// Version of the active policy.
        active: Arc<str>,
    },
    /// This process cannot evaluate it.
    #[error(transparent)]
    Unacceptable(#[from] Unacceptable),
    /// The thread does not start.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// Begins. Where there is nothing to evaluate, requests lose no time. A second policy of another version of Kubernetes is looked at again
/// with the next active policy: which version the server will tell is nobody's mistake.
///
/// # Errors
///
/// Where the second policy cannot be evaluated, or the system starts no thread.
pub fn start(beside: Beside) -> Result<(), ShadowError> {
    let active = beside.engine.policy();
    let second = match beside.second(&active) {
        Err(error @ ShadowError::Version { .. }) => {
            tracing::warn!(%error, policy_generation = active.generation, "the shadow policy is not evaluated");
            None
        }
        second => second?,
    };
    let (second, read) = second.unzip();
    let receiver = beside.publish(&active, second);
    let generation = active.generation;
    let run = move || Worker { beside, generation, read, changed: None, looked: Instant::now(), receiver }.run();
    thread::Builder::new().name("shadow".to_owned()).spawn(run).map(drop).map_err(ShadowError::Thread)
}

impl Beside {
    /// The second policy beside this active one.
    fn second(&self, active: &ActivePolicy) -> Result<Option<(Comparison, Read)>, ShadowError> {
        let Some(path) = &self.second else { return Ok(None) };
        let text = PolicyText::read(path)?.within(&self.reach).under(self.server.auto());
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let policy = text.policy(&builtins)?;
        let root = Source::Path(path.clone(), self.reach.clone());
        // Another version of the server is another active policy, with which this one is read again.
        let files = Files::new(&root, &ServerVersion::default()).with_policy(&policy);
        // Before its modules are read: what changes meanwhile is a change.
        let stamp = files.stamp();
        let runtime = self.engine.runtime();
        let activation = Activation { active: Some(active), ..Activation::new(runtime, &self.pulled) };
        let mut policy = activation.activate(&policy)?.policy;
        check_version(&active.settings.kubernetes, &policy.settings.kubernetes)?;
        (self.accept)(active, &policy)?;
        // Here, what only its shadows would change is asked about as well.
        policy = policy.with_shadows_enforced().unwrap_or(policy);
        let comparison = Comparison::new(text.path.display().to_string(), self.alternative(policy));
        Ok(Some((comparison, Read { files, stamp })))
    }

    fn alternative(&self, policy: ActivePolicy) -> Alternative {
        self.engine.alternative(policy)
    }

    /// Has answers by this active policy offered, if there is something to compare them with.
    fn publish(&self, active: &ActivePolicy, second: Option<Comparison>) -> Option<Receiver<Asked>> {
        let enforced = active.with_shadows_enforced();
        let in_shadow = enforced.map(|policy| Comparison::new(IN_SHADOW.to_owned(), self.alternative(policy)));
        let comparisons: Vec<Comparison> = in_shadow.into_iter().chain(second).collect();
        if comparisons.is_empty() {
            self.engine.set_shadow(None);
            return None;
        }
        let (shadow, receiver) = Shadow::new(active.generation, comparisons);
        self.engine.set_shadow(Some(Arc::new(shadow)));
        Some(receiver)
    }
}

/// The files of the second policy, and their state when they were read.
struct Read {
    files: Files,
    stamp: Stamp,
}

/// The cache counts and compiles by one version.
fn check_version(active: &KubernetesVersion, second: &KubernetesVersion) -> Result<(), ShadowError> {
    if active.semantics == second.semantics {
        return Ok(());
    }
    let (second, active) = (Arc::clone(&second.version), Arc::clone(&active.version));
    Err(ShadowError::Version { second, active })
}

/// How long to rest after work that has taken so much processor time, so that the work is one part in [`SHADOW_SHARE`].
fn rest_after(work: Duration) -> Duration {
    work * (SHADOW_SHARE - 1)
}

/// The state of the thread.
struct Worker {
    beside: Beside,
    /// Of the active policy that answers are compared with.
    generation: u64,
    /// None where there is no second policy, or it could not be read when there was another active policy.
    read: Option<Read>,
    /// The state at the last look, where it was another than when the files were read.
    changed: Option<Stamp>,
    /// Time of the last look at the files.
    looked: Instant,
    receiver: Option<Receiver<Asked>>,
}

impl Worker {
    fn run(mut self) {
        // Requests go first. Where that is refused, the share of a core still binds.
        let _refused = rustix::process::nice(SHADOW_NICE);
        loop {
            self.follow();
            let began = ThreadTime::now();
            let asked = match &self.receiver {
                None => {
                    thread::sleep(SHADOW_FILES_LOOK);
                    continue;
                }
                Some(receiver) => receiver.recv_timeout(SHADOW_LOOK),
            };
            match asked {
                Ok(asked) => self.compare(&asked),
                Err(RecvTimeoutError::Timeout) => {}
                // The engine holds the other end as long as this policy is active.
                Err(RecvTimeoutError::Disconnected) => self.receiver = None,
            }
            // After each: a request that has to wait for a core waits for one comparison.
            thread::sleep(rest_after(began.elapsed()));
        }
    }

    fn compare(&self, asked: &Asked) {
        let Some(shadow) = self.beside.engine.shadow() else { return };
        shadow.taken();
        self.beside.engine.compare(&shadow, asked);
    }

    /// Begins anew where another policy has become active.
    fn follow(&mut self) {
        let active = self.beside.engine.policy();
        let is_other = active.generation != self.generation;
        if !is_other && !self.has_changed() {
            return;
        }
        match self.beside.second(&active) {
            Ok(second) => {
                let (second, read) = second.unzip();
                (self.read, self.generation) = (read, active.generation);
                self.receiver = self.beside.publish(&active, second);
            }
            Err(error) if is_other => {
                tracing::warn!(%error, policy_generation = active.generation, "the shadow policy is not evaluated");
                self.generation = active.generation;
                self.receiver = self.beside.publish(&active, None);
            }
            Err(error) => {
                tracing::warn!(%error, "the shadow policy is refused: the one before is evaluated further");
                // Read again once it is another.
                if let (Some(read), Some(changed)) = (&mut self.read, self.changed.take()) {
                    read.stamp = changed;
                }
            }
        }
    }

    /// Whether the files of the second policy have changed, and are the same at two looks.
    fn has_changed(&mut self) -> bool {
        let Some(read) = self.read.as_ref().filter(|_| self.looked.elapsed() >= SHADOW_FILES_LOOK) else {
            return false;
        };
        self.looked = Instant::now();
        let now = Some(read.files.stamp()).filter(|now| *now != read.stamp);
        let is_settled = now.is_some() && now == self.changed;
        self.changed = now;
        is_settled
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn work_and_rest_together_are_ten_times_the_work() {
        let work = Duration::from_millis(3);
        assert_eq!(work + rest_after(work), work * 10);
    }

    #[test]
    fn versions_by_which_the_cache_counts_alike_can_be_compared() {
        use crate::kubernetes::{Auto, Switches, Table};
        let table = Table::built_in();
        let under = |version: &str| {
            let semantics = Switches::new(table, version.parse().unwrap()).semantics();
            let (_, origin) = Auto::Newest.version(table);
            KubernetesVersion { version: version.into(), origin, semantics, ..KubernetesVersion::default() }
        };
        assert!(check_version(&under("1.37"), &under("1.37")).is_ok());
        let error = check_version(&under("1.36"), &under("1.37"));
        assert!(
            matches!(error, Err(ShadowError::Version { second, active }) if (&*second, &*active) == ("1.37", "1.36"))
        );
    }
}
