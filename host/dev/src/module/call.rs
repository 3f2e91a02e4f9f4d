//! One module over a cluster of objects, without an engine: the facts are those of the engine and the limits those of the sandbox,
//! but nothing is reused, no failure policy stands in for a fault, and the lines of the module come back. Start at [`Modules`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use nodesift_engine::{Batch, PolicyFact};
use nodesift_object::{Object, Pod};
use nodesift_policy::{FileError, ModuleFile, Policy};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::{Extra, Grants, Interface, Line, LoadError, Module, Runtime, Verdict};

use super::cases::NodeSums;
use super::scoring::{self, Scoring};
use super::world::World;
use nodesift::cluster;
use nodesift::exit::Failure;
use nodesift::progress::during;

/// Work that is told on a terminal while a module is loaded.
pub(super) const COMPILING: &str = "compiling the module";

/// Answer of a module to one question.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    /// Its answer as a scorer; `None` where it does not score, and where it was not asked because no node fits or `filter` has failed.
    pub(super) scoring: Option<Result<Scoring, Fault>>,
    /// Log lines that the module has written, first of `filter` and then of `score`.
    pub(super) lines: Vec<Line>,
    /// Lines that were dropped because they were too many.
    pub(super) dropped: u64,
    /// The names of the nodes, by row; empty where it was not called.
    pub(super) nodes: Vec<String>,
    /// Facts that a policy has to name for this answer: those that this one names and the module imports, and those that the module has
    /// read although this one does not name them.
    pub(super) facts: Vec<PolicyFact>,
}

/// How a question ends.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The arguments are refused with this text.
    Refused(String),
    /// The call fails with this fault.
    Faulted(Fault),
    /// The verdict over all nodes.
    Decided(Verdict),
}

/// A question to a module.
pub(super) struct Asked<'a> {
    /// The file of the module.
    pub(super) path: &'a Path,
    /// A policy with the module as its only predicate.
    pub(super) policy: &'a Policy,
    /// The objects of the cluster, and sums that its nodes show.
    pub(super) cluster: (&'a [Object], &'a NodeSums),
    pub(super) pod: &'a Pod,
    /// The nodes on which the pod fits by all other predicates, for a scorer; `None` for all.
    pub(super) candidates: Option<&'a BTreeSet<String>>,
    /// Time that the module is told, in seconds since 1970-01-01T00:00:00Z; `None` for the machine's.
    pub(super) now: Option<i64>,
}

/// Modules by their files. Each is read and compiled once.
pub(super) struct Modules {
    runtime: Runtime,
    files: Vec<Known>,
}

/// A file that was read, and modules by whose code others are loaded: one per lifetime of instances.
struct Known {
    path: PathBuf,
    file: ModuleFile,
    modules: Vec<Arc<Module>>,
}

impl Modules {
    /// No module yet.
    ///
    /// # Errors
    ///
    /// If the sandbox does not start.
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self { runtime: cluster::runtime()?, files: Vec::new() })
    }

    /// With one module that was read already.
    pub(super) fn with(runtime: Runtime, path: &Path, file: ModuleFile) -> Self {
        Self { runtime, files: vec![Known { path: path.to_owned(), file, modules: Vec::new() }] }
    }

    /// Asks a module with fresh limits, for its verdict and, where it scores, for its scores: what other questions have logged, or how they
    /// have failed, does not matter.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the module cannot be read or loaded, whatever its arguments are.
    pub(super) fn ask(
        &mut self,
        Asked { path, policy, cluster: (objects, sums), pod, candidates, now }: Asked<'_>,
    ) -> anyhow::Result<Answer> {
        let (lines, nodes, facts) = (Vec::new(), Vec::new(), Vec::new());
        let ended = |outcome| Ok(Answer { outcome, scoring: None, lines, dropped: 0, nodes, facts });
        let spec = policy.predicates.first().ok_or_else(|| anyhow!("the policy has no predicate"))?;
        let module = match self.load(path, &nodesift_policy::grants(spec))? {
            Ok(module) => module,
            Err(fault) if fault.kind == FaultKind::Configure => return ended(Outcome::Refused(fault.detail)),
            Err(fault) => return ended(Outcome::Faulted(fault)),
        };
        let world = World::new(policy, &module, objects, sums).at(now);
        let context = Arc::new(world.context(pod, Batch::All));
        let (rows, mut lines) = (context.rows(), Vec::new());
        let outcome = match module.filter_logging(Arc::clone(&context) as _, rows, None, &mut lines) {
            Ok(verdict) => Outcome::Decided(verdict),
            Err(fault) => Outcome::Faulted(fault),
        };
        let mut facts = named_facts(&module, policy);
        facts.extend(context.take_unnamed());
        let nodes: Vec<String> = world.nodes().map(str::to_owned).collect();
        let mut scoring = None;
        if let Outcome::Decided(verdict) = &outcome {
            let is_candidate = |name: &String| candidates.is_none_or(|candidates| candidates.contains(name));
            let fits = |(row, name): (usize, &String)| verdict.failure_at(row).is_none() && is_candidate(name);
            let feasible: Vec<bool> = nodes.iter().enumerate().map(fits).collect();
            // As in a sidecar, nothing is scored where nothing fits.
            if module.normalization().is_some() && feasible.contains(&true) {
                let context = Arc::new(scoring::facts(&module, &world, pod, Batch::All, &feasible));
                let scores = module.score_with(Arc::clone(&context) as _, rows, None, &mut lines, Extra::default());
                scoring = Some(scores.and_then(|scores| scoring::scored(&module, &world, scores, &feasible)));
                facts.extend(context.take_unnamed());
            }
        }
        let (_, dropped) = module.log_counts();
        // Later questions need no compilation.
        self.keep(path, module);
        Ok(Answer { outcome, scoring, lines, dropped, nodes, facts })
    }

    /// A module of its own with these grants; the inner error is that of its `configure`.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`] if the module cannot be read or loaded, whatever its arguments are.
    pub(super) fn load(&mut self, path: &Path, grants: &Grants) -> anyhow::Result<Result<Arc<Module>, Fault>> {
        if !self.files.iter().any(|known| known.path == path) {
            self.files.push(Known { path: path.to_owned(), file: read(path)?, modules: Vec::new() });
        }
        let Some(known) = self.files.iter().find(|known| known.path == path) else {
            return Err(anyhow!("{} was read and is not there", path.display()));
        };
        let again = |module: &Arc<Module>| self.runtime.load_again(module, grants.clone()).transpose();
        let loaded = known.modules.iter().find_map(again);
        let load = || during(COMPILING, || self.runtime.load(&known.file.bytes, grants.clone()));
        match loaded.unwrap_or_else(load) {
            Ok(module) => Ok(Ok(Arc::new(module))),
            Err(LoadError::Step { step: "configure", fault }) => Ok(Err(fault)),
            Err(error) => Err(Failure::Data(anyhow!("{}: {error}", path.display())).into()),
        }
    }

    /// Keeps a module for its code.
    pub(super) fn keep(&mut self, path: &Path, module: Arc<Module>) {
        let known = self.files.iter_mut().find(|known| known.path == path);
        let Some(known) = known else { return };
        if !known.modules.iter().any(|kept| kept.grants().lifetime == module.grants().lifetime) {
            known.modules.push(module);
        }
    }

    /// The digest of a module that was asked.
    pub(super) fn digest(&self, path: &Path) -> Option<String> {
        self.files.iter().find(|known| known.path == path).map(|known| known.file.digest())
    }
}

/// Facts that a policy names and that the module can read.
fn named_facts(module: &Module, policy: &Policy) -> Vec<PolicyFact> {
    let imports = |interfaces: &[Interface]| interfaces.iter().any(|one| module.imports().contains(one));
    let mut facts = Vec::new();
    if imports(&[Interface::PodAnnotations, Interface::NodeAnnotations]) {
        facts.extend(policy.settings.annotation_keys.iter().cloned().map(PolicyFact::Annotation));
    }
    if imports(&[Interface::ConfigMaps]) {
        facts.extend(policy.settings.config_maps.iter().cloned().map(PolicyFact::ConfigMap));
    }
    facts
}

/// Reads the file of a module.
///
/// # Errors
///
/// [`Failure::Data`] with what to do where it is not there.
pub(super) fn read(path: &Path) -> anyhow::Result<ModuleFile> {
    let name = path.display().to_string();
    ModuleFile::read(path).map_err(|error| {
        let hint = match &error {
            FileError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
                format!("{name}: run `nodesift-dev module build` in its project")
            }
            _ => name,
        };
        Failure::Data(anyhow::Error::new(error).context(hint)).into()
    })
}
