//! An engine over one list of a live cluster, read with the rights of whoever asks: nothing need be installed there, and nothing is
//! watched. Start at [`open`].
//!
//! A kind that may not be listed ends the command. An answer without it would count as if none of its objects were there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Runtime;

use crate::args::PolicyArgs;
use crate::cluster::{self, Opened, Origin};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::{serve, terminal};
use nodesift_cache::SharedWriter;
use nodesift_engine::{ActivePolicy, Engine};
use nodesift_object::{Kind, Watched};
use nodesift_source::Loader;
use nodesift_source::change::{Compiler, Record};
use nodesift_source::kube::connection::{self, ConnectError, Connection};
use nodesift_source::kube::kinds::{self, Resource};
use nodesift_source::kube::{Failure as KubeFailure, Listed, Lister};

/// Objects that a note about what does not decode names; the others are counted.
const NAMED: usize = 3;

/// An engine over one list, and the connection by which it was read.
pub(crate) struct ListedCluster {
    /// Answers about the cluster as it was listed.
    pub(crate) engine: Engine,
    /// Holds the cluster as it was listed.
    pub(crate) writer: SharedWriter,
    /// Runs requests to the API server.
    pub(crate) runtime: Runtime,
    /// Connection to the API server.
    pub(crate) connection: Connection,
}

/// Kinds with their lists.
type Lists = Vec<(Kind, Listed)>;

/// Which lines a list writes about itself on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Say {
    /// Where it is from, how much it has, and what does not decode.
    What,
    /// Nothing: an earlier list has said it.
    Nothing,
}

impl Say {
    /// Prints a note, unless nothing is to be said.
    pub(crate) fn note(self, text: &str) {
        if self == Self::What {
            terminal::note(text);
        }
    }
}

/// Lists everything that the policy's predicates read, except those that are skipped, and says on stderr what was listed.
///
/// # Errors
///
/// [`Failure::Unavailable`] if no cluster is configured or a kind is not listed, with the RBAC rule where that is what is missing;
/// [`Failure::Usage`] if a predicate to skip is not in the policy; [`Failure::Policy`] if the policy is invalid.
pub(crate) fn open(
    origin: &connection::Origin,
    args: &PolicyArgs,
    skip: &[String],
    say: Say,
) -> anyhow::Result<ListedCluster> {
    let runtime = Runtime::new().context("cannot start the network client")?;
    let connection = runtime.block_on(connect(origin))?;
    let version = serve::undecided_of(args.auto(), true);
    runtime.block_on(serve::ask_once(&connection.server, &version));
    let text = cluster::policy_text(args).map_err(Failure::Policy)?.under(version.auto());
    let Opened { engine, writer, .. } =
        cluster::open_text(&Origin::Live, text, &cluster::pulled_folder(None), args.scored)?;
    let policy = engine.policy();
    check_names(&policy, skip)?;
    let shared = writer;
    let mut writer = shared.lock();
    let compiler = cluster::compiler_of(&policy, &mut writer);
    let needed = serve::needs_without(&policy, skip);
    let outcomes = runtime.block_on(list_all(&connection, &compiler, &needed));
    let lists = whole(outcomes, &policy, &connection.address)?;
    note_unreadable(&lists, say);
    let mut loader = Loader::new(&compiler, &mut writer);
    for (kind, Listed { objects, version }) in &lists {
        loader.apply_list(*kind, objects, version);
    }
    loader.publish();
    let count = |kind| lists.iter().find(|(listed, _)| *listed == kind).map_or(0, |(_, listed)| listed.objects.len());
    say.note(&format!(
        "from one list of {} with your own rights: {}, {}",
        connection.address,
        terminal::counted(count(Kind::Node), "node"),
        terminal::counted(count(Kind::Pod), "pod")
    ));
    drop(writer);
    Ok(ListedCluster { engine, writer: shared, runtime, connection })
}

async fn connect(origin: &connection::Origin) -> Result<Connection, Failure> {
    connection::open(origin).await.map_err(|error| {
        let is_nowhere = matches!(error, ConnectError::Nowhere { .. });
        let error = anyhow::Error::from(error);
        Failure::Unavailable(match is_nowhere {
            true => error.context(
                "nothing to ask: name a cluster with --kubeconfig FILE or --context NAME, its objects with --cluster \
                 FILE, or a running sidecar with --server unix:PATH or --server http://HOST:PORT",
            ),
            false => error,
        })
    })
}

/// Checks that the policy has the predicates that are skipped.
fn check_names(policy: &ActivePolicy, skip: &[String]) -> Result<(), Failure> {
    let known: Vec<&str> = policy.predicates.iter().map(|predicate| &*predicate.name).collect();
    match skip.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Failure::Usage(format!(
            "--skip {name:?}: the policy has no such predicate; it has {}",
            known.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Lists all kinds at the same time, so that they are of nearly the same moment.
async fn list_all(
    connection: &Connection,
    compiler: &Compiler,
    kinds: &BTreeSet<Kind>,
) -> Vec<(Kind, Result<Listed, KubeFailure>)> {
    let lister = Lister::new(Arc::new(connection.server.clone()), compiler.clone());
    let mut progress = Progress::new(kinds.len(), "kinds listed");
    let mut lists: FuturesUnordered<_> = kinds
        .iter()
        .filter(|kind| !kinds::is_by_name(**kind))
        .map(|&kind| {
            let lister = lister.clone();
            async move { (kind, lister.list_all(kind).await) }
        })
        .collect();
    let mut outcomes = Vec::new();
    while let Some(outcome) = lists.next().await {
        progress.advance(1);
        outcomes.push(outcome);
    }
    if let Some(kind) = kinds.iter().find(|kind| kinds::is_by_name(**kind)) {
        let message = "only the objects that a policy names are read, which a sidecar does and this list does not";
        outcomes.push((*kind, Err(KubeFailure::NotServed { message: message.to_owned() })));
    }
    outcomes
}

/// All lists, or why there is no answer.
fn whole(
    outcomes: Vec<(Kind, Result<Listed, KubeFailure>)>,
    policy: &ActivePolicy,
    address: &str,
) -> Result<Lists, Failure> {
    let (mut lists, mut denied) = (Lists::new(), BTreeSet::new());
    let (mut first, mut other) = (None, None);
    for (kind, outcome) in outcomes {
        match outcome {
            Ok(listed) => lists.push((kind, listed)),
            Err(failure @ KubeFailure::Denied { status: 403, .. }) => {
                denied.insert(kind);
                first.get_or_insert(failure);
            }
            Err(failure) => other = other.or(Some((kind, failure))),
        }
    }
    match (first, other) {
        (Some(failure), _) => {
            let readers = readers(policy, &denied);
            let text = refusal(&denied, &failure.to_string(), &readers, address);
            // The text quotes the cause, which is told no second time.
            Err(Failure::Unavailable(anyhow!(failure).context(text)))
        }
        (None, Some((kind, failure))) => {
            let plural = Resource::from(kind).plural;
            Err(Failure::Unavailable(anyhow!(failure).context(format!("{address}: {plural} cannot be listed"))))
        }
        (None, None) => Ok(lists),
    }
}

/// The predicates to skip so that none of these kinds is read; none where a kind is read for every policy.
fn readers(policy: &ActivePolicy, denied: &BTreeSet<Kind>) -> Vec<String> {
    if denied.iter().any(|kind| kind.info().watched == Watched::Always) {
        return Vec::new();
    }
    let reads = policy.predicates.iter().filter(|predicate| {
        let kinds = kinds::needed(predicate.module.imports().iter().copied());
        denied.iter().any(|kind| kinds.contains(kind))
    });
    reads.map(|predicate| predicate.name.to_string()).collect()
}

/// Says which right is missing, as a rule to paste, and how to do without.
fn refusal(denied: &BTreeSet<Kind>, failure: &str, readers: &[String], address: &str) -> String {
    let plurals: Vec<&str> = denied.iter().map(|kind| Resource::from(*kind).plural).collect();
    let mut text = format!(
        "{address}: you may not list {}, and every count without them would be wrong ({failure})\nwhat is missing is a \
         ClusterRole, bound to you, with\n{}",
        plurals.join(", "),
        kinds::list_rules(denied)
    );
    if !readers.is_empty() {
        // Writing to a String does not fail.
        let _infallible = write!(text, "or leave out what reads them: --skip {}", readers.join(","));
    }
    text.trim_end().to_owned()
}

/// Says which objects are there and do not decode: they count as absent, as in a sidecar.
fn note_unreadable(lists: &Lists, say: Say) {
    let unreadable = lists.iter().flat_map(|(kind, listed)| {
        let unreadable = listed.objects.iter().filter(|object| matches!(object.record, Record::Unreadable));
        unreadable.map(move |object| format!("{kind} {}", object.identity.key))
    });
    let names: Vec<String> = unreadable.collect();
    if !names.is_empty() {
        let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let count = terminal::counted(names.len(), "object");
        say.note(&format!("warning: {count} cannot be read and count as absent: {named}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_every_kind_the_rule_to_paste_and_what_to_skip() {
        let denied = BTreeSet::from([Kind::PersistentVolume, Kind::CsiNode]);
        let text =
            refusal(&denied, "403: forbidden", &["VolumeBinding".to_owned(), "VolumeZone".to_owned()], "https://a");
        for part in [
            "persistentvolumes",
            "csinodes",
            "- apiGroups: [\"\"]\n  resources: [persistentvolumes]\n  verbs: [list]\n",
            "- apiGroups: [\"storage.k8s.io\"]\n  resources: [csinodes]\n  verbs: [list]\n",
            "403: forbidden",
            "--skip VolumeBinding,VolumeZone",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        assert!(!text.contains("watch"), "{text}");
        assert!(!refusal(&BTreeSet::from([Kind::Pod]), "403: no", &[], "a").contains("--skip"));
    }
}
