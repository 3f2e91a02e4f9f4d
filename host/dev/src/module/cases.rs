//! Cases of a module: pods, nodes and what its verdict is to be, in a file that `nodesift-dev module test` runs.
//!
//! ```text
//! read      text → cases; everything that is wrong in it at once, each with its place
//! objects   short forms of pods, nodes and namespaces, and whole Kubernetes objects → objects
//! expected  what a case expects
//! scores    what a case expects of a scorer
//! settings  what a policy would grant the module: limits, `allow`, annotations
//! ```
//!
//! The format is described in `docs/src/predicates/README.md`; files about accounting modules are read in [`accounting`](super::accounting).
//! Start at [`Cases::read`].

mod expected;
mod objects;
mod read;
mod scores;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use crate::limits::CASES_BYTES;
pub(super) use expected::{Expected, ExpectedFault, Rejection, Wanted, WantedScore, WantedScores};
use nodesift::exit::Failure;
use nodesift_engine::PolicySettings;
use nodesift_object::{Object, Pod};
use nodesift_policy::{Policy, Problem};
pub(super) use objects::{NodeSums, Reading};
pub(super) use settings::granted;

/// The file of a project's cases.
pub(super) const CASES_FILE: &str = "cases.yaml";

/// Files that take the place of those that a file of cases names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given<'p> {
    /// The module that all cases are about.
    pub(super) module: Option<&'p Path>,
    /// The policy whose limits and `allow` they run under, and which alone names the annotations and ConfigMaps that can be read. It has
    /// every module of the cases.
    pub(super) policy: Option<&'p Path>,
}

/// The cases of one file.
#[derive(Debug)]
pub(super) struct Cases {
    /// In the order of the file; at least one.
    pub(super) cases: Vec<Case>,
    /// The policy whose limits and `allow` they run under, if there is one.
    pub(super) policy: Option<PathBuf>,
    /// Facts that this policy names; none where there is none.
    pub(super) named: PolicySettings,
}

/// A case: a pod in a cluster, and the expected answer.
#[derive(Debug)]
pub(super) struct Case {
    /// Name of the case: a sentence about the module.
    pub(super) name: String,
    /// Where it begins in its file.
    pub(super) line: u64,
    /// The file of the module.
    pub(super) module: PathBuf,
    /// A policy with the module as its only predicate, whatever it is, and with the arguments of the case.
    pub(super) policy: Policy,
    /// The pod that is asked about.
    pub(super) pod: Box<Pod>,
    /// Everything else in the cluster.
    pub(super) objects: Vec<Object>,
    /// Named sums that each of its nodes shows.
    pub(super) sums: NodeSums,
    /// The nodes on which the pod fits by all other predicates, for a scorer; `None` for all.
    pub(super) candidates: Option<BTreeSet<String>>,
    /// Time that the module is told, in seconds since 1970-01-01T00:00:00Z; `None` for the machine's.
    pub(super) now: Option<i64>,
    /// Expected answer of the module.
    pub(super) expected: Expected,
}

impl Cases {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`] with everything that is wrong in the file, [`Failure::Policy`] if the policy beside it is invalid.
    pub(super) fn read(file: &Path, given: Given<'_>) -> anyhow::Result<Self> {
        let name = file.display().to_string();
        let text = text_of(file).map_err(|error| Failure::Data(error.context(name.clone())))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        read::read(&text, folder, given).map_err(|error| match error {
            read::ReadError::Problems(problems) => Failure::Data(anyhow!(listed(&name, &problems))).into(),
            read::ReadError::Policy(error) => Failure::Policy(anyhow::Error::new(error)).into(),
        })
    }

    /// The files of its modules, each once.
    pub(super) fn modules(&self) -> impl Iterator<Item = &Path> {
        let modules: BTreeSet<&Path> = self.cases.iter().map(|case| case.module.as_path()).collect();
        modules.into_iter()
    }
}

pub(super) fn text_of(file: &Path) -> anyhow::Result<String> {
    std::fs::metadata(file)?;
    // By what has been read: a pipe has no size.
    let text = nodesift_file::read(file, CASES_BYTES).context("it cannot be read")?;
    if u64::try_from(text.len()).is_ok_and(|length| length > CASES_BYTES) {
        return Err(anyhow!("more than {} MiB: not a file of cases", CASES_BYTES >> 20));
    }
    String::from_utf8(text).context("it is not UTF-8")
}

/// Problems in the order of lines, each on a line that an editor opens.
pub(super) fn listed(name: &str, problems: &[Problem]) -> String {
    let mut problems: Vec<&Problem> = problems.iter().collect();
    problems.sort_by(|one, other| one.compare(other));
    let line = |problem: &&Problem| match problem.line {
        0 => format!("{name}: {problem}"),
        _ => format!("{name}:{problem}"),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}
