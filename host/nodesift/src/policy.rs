//! `nodesift policy`: a policy before a sidecar gets it, and the one that a sidecar has.
//!
//! ```text
//! diff     what another policy would change, verdicts and scores
//! import   a configuration of kube-scheduler as a policy
//! status   the active policy of a running sidecar
//! shadow   what is evaluated beside it
//! ```
//!
//! `check` and `schema` are here. Start at [`check`].

mod diff;
mod gates;
mod import;
mod shadow;
mod status;

use crate::args::{PolicyArgs, PolicyCheckArgs};
use crate::cluster::{self, Origin};
use crate::exit::Failure;
use crate::terminal::{self, counted};
pub(crate) use diff::diff;
pub(crate) use gates::gates;
pub(crate) use import::import;
use nodesift_engine::Trial;
pub(crate) use shadow::shadow;
pub(crate) use status::{endpoint, status};

/// `nodesift policy check`: everything that a reload does but the swap. The trial needs a cluster.
///
/// # Errors
///
/// [`Failure::Policy`] with everything that is wrong with the policy, [`Failure::Data`] if the cluster's objects are invalid.
pub(crate) fn check(args: &PolicyCheckArgs) -> anyhow::Result<()> {
    let (policy, kubernetes) = (Some(args.policy.clone()), args.kubernetes);
    let policy = PolicyArgs { policy, kubernetes, scored: true, ..PolicyArgs::default() };
    let files = args.cluster.cluster.as_slice();
    let origin = if files.is_empty() { Origin::Live } else { Origin::Files(files) };
    let opened = cluster::open(&origin, &policy)?;
    cluster::note_summary(&opened.summary);
    let trial = opened.engine.try_active_policy();
    let trial =
        trial.map_err(|error| Failure::Policy(anyhow::Error::new(error).context("the trial on the cluster")))?;
    let active = opened.engine.policy();
    let tried = match files {
        [] => "not tried on a cluster: give one with --cluster FILE".to_owned(),
        _ => tried(&trial),
    };
    let predicates = counted(active.predicates.len(), "predicate");
    let scorers = counted(active.scorers.len(), "scorer");
    let kubernetes = active.settings.kubernetes.describe();
    let warnings: String = active.warnings().iter().map(|warning| format!("warning: {warning}\n")).collect();
    terminal::print(&terminal::escaped(&format!(
        "{}: valid, {predicates}, {scorers}; {tried}\nverdicts of {kubernetes}\n{warnings}",
        active.origin.source
    )))
}

/// `nodesift policy schema`.
///
/// # Errors
///
/// If stdout cannot be written to.
pub(crate) fn schema() -> anyhow::Result<()> {
    terminal::print(&format!("{}\n", serde_json::to_string_pretty(&nodesift_policy::schema())?))
}

fn tried(trial: &Trial) -> String {
    let Trial { pods, nodes, calls, is_cut, remarks } = trial;
    let cut = if *is_cut { "; the time for a trial ended it" } else { "" };
    let (pods, nodes, calls) = (counted(*pods, "pod"), counted(*nodes, "node"), counted(*calls, "call"));
    let remarks: String = remarks.iter().map(|fault| format!("; but {fault}")).collect();
    format!("tried with {pods} on {nodes}: {calls} without a fault{remarks}{cut}")
}
