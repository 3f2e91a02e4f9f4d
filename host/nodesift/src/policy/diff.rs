//! `nodesift policy diff`: which pods and nodes another policy would decide otherwise, and which other nodes would be best, over the cluster
//! of files. `scores` has what it says of scorers and scores, `switches` what two versions of Kubernetes do otherwise. Start at [`diff`].

mod scores;
mod switches;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use crate::args::{Format, PolicyArgs, PolicyDiffArgs};
use crate::ask;
use crate::cluster::{self, Opened, Origin};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::terminal::{self, Paint, counted, escaped, render, table};
use nodesift_api::differences::{Scorers, Summary};
use nodesift_cache::Snapshot;
use nodesift_engine::{
    ActivePolicy, Alternative, Answer, Change, Differences, Engine, Error, KubernetesVersion, Options, OverlaySpec,
    PodAnswer, PodDifference, PodRef, Query, ScoreRequest, ScorerChanges, limits,
};
use nodesift_policy::kubernetes::Table;
use scores::{Best, BestNodes};
use switches::ChangedSwitch;

/// Examples of each predicate and direction.
const EXAMPLES: usize = 3;

/// The default policy in documents.
const DEFAULT: &str = "default";

/// Names of nodes in an example.
const EXAMPLE_NODES: usize = 3;

/// Totals of nodes in one answer, 8 bytes each: half of what an answer may take, so that there is room for the rest of it.
const TOTALS: usize = limits::ANSWER_BYTES / 2 / size_of::<i64>();

/// `nodesift policy diff`.
///
/// # Errors
///
/// [`Failure::Policy`] if a policy is invalid, [`Failure::Data`] if the cluster's objects or the pods are.
pub(crate) fn diff(args: &PolicyDiffArgs) -> anyhow::Result<()> {
    let files = args.cluster.cluster.as_slice();
    if files.is_empty() {
        return Err(Failure::Usage("no cluster given: use --cluster FILE".to_owned()).into());
    }
    let (before, after) = compared(args)?;
    let opened = cluster::open(&Origin::Files(files), &before)?;
    cluster::note_summary(&opened.summary);
    let batches = if args.bound { bound(&opened) } else { pending(&opened.engine, args)? };
    let engine = opened.engine;
    let active = engine.policy();
    let next = cluster::load(&after, engine.runtime(), Some(&active)).map_err(Failure::Policy)?;
    let reads_alike = |a: &ActivePolicy, b: &ActivePolicy| {
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        sorted(&a.scheduler_names) == sorted(&b.scheduler_names)
            && a.selection() == b.selection()
            && a.settings.config_maps == b.settings.config_maps
            && a.counts_as(b)
    };
    let scorers = ScorerChanges::between(&active, &next);
    // What only one of the policies scores cannot be compared.
    let is_scored = !active.scorers.is_empty() && !next.scorers.is_empty();
    let kubernetes = [active.settings.kubernetes.clone(), next.settings.kubernetes.clone()];
    let other = match reads_alike(&active, &next) {
        true => Other::Alternative(Box::new(engine.alternative(next))),
        // Which pods are foreign, and what of them is there beyond what every policy reads, is decided when objects are read.
        false => Other::Engine(Box::new(cluster::open(&Origin::Files(files), &after)?.engine)),
    };
    let mut out = Out::new(args, engine.snapshot(), kubernetes, scorers);
    let mut progress = Progress::new(batches.iter().map(|batch| batch.pods.len()).sum(), "pods compared");
    for Batch { pods, removed } in batches {
        let count = pods.len();
        let scores = is_scored.then(|| ScoreRequest { top: 1, ..ScoreRequest::default() });
        let query = Query::new(pods).with_phase(args.phase.into()).with_scores(scores).with_totals(true);
        let data = |error: Error| Failure::Data(error.into());
        let snapshot = engine.overlay_snapshot_on(&out.snapshot, &removed).map_err(data)?;
        let before = engine.answer(&query, Options::on(&snapshot)).map_err(data)?;
        let after = other.answer(&engine, (&snapshot, &removed), &query).map_err(data)?;
        for (before, after) in before.pods.iter().zip(&after.pods) {
            out.add(&PodDifference::between(before, after), faults(before) + faults(after))?;
        }
        progress.advance(count);
    }
    drop(progress);
    out.finish()
}

/// Calls of predicates and scorers that failed for a pod.
fn faults(answer: &PodAnswer) -> usize {
    answer.faults.len() + answer.scores.as_ref().map_or(0, |scores| scores.faults.len())
}

/// The two policies that are compared: those that are named, else the default one, under the versions that are named.
fn compared(args: &PolicyDiffArgs) -> anyhow::Result<(PolicyArgs, PolicyArgs)> {
    let policy = |path: Option<&PathBuf>, kubernetes| PolicyArgs {
        policy: path.cloned(),
        kubernetes,
        scored: true,
        ..PolicyArgs::default()
    };
    let (before, after) = (args.before.as_ref(), args.after.as_ref().or(args.before.as_ref()));
    match *args.kubernetes {
        [] => Ok((policy(before, None), policy(after, None))),
        [first, second] => Ok((policy(before, Some(first)), policy(after, Some(second)))),
        _ => Err(Failure::Usage(
            "--kubernetes takes two versions: the one now, and the one that would decide".to_owned(),
        )
        .into()),
    }
}

/// Pods that are asked about at once, on the cluster without the pods that are removed.
struct Batch {
    pods: Vec<PodRef>,
    removed: OverlaySpec,
}

/// The pods that are named, else those that are pending.
fn pending(engine: &Engine, args: &PolicyDiffArgs) -> anyhow::Result<Vec<Batch>> {
    let pods = ask::pods_to_evaluate(engine, &args.pods, &args.pod)?;
    let most = pods_at_once(engine.snapshot().node_count());
    let parts = pods.iter().flat_map(|pods| pods.chunks(most));
    Ok(parts.map(|pods| Batch { pods: pods.to_vec(), removed: OverlaySpec::default() }).collect())
}

/// Pods of whose totals on so many nodes an answer has room.
fn pods_at_once(nodes: usize) -> usize {
    (TOTALS / nodes.max(1)).max(1)
}

/// The pods that are bound, by their names, each alone and on the cluster without it; a note where there are none.
fn bound(opened: &Opened) -> Vec<Batch> {
    let pods = opened.writer.lock().pods().all();
    let mut bound: Vec<_> = pods.iter().filter(|pod| pod.node_name.is_some()).collect();
    bound.sort_by_key(|pod| (&pod.namespace, &pod.name));
    if bound.is_empty() {
        terminal::note("the cluster has no bound pods");
    }
    let batch = |pod: PodRef| Batch {
        removed: OverlaySpec { removed: vec![pod.clone()], ..OverlaySpec::default() },
        pods: vec![pod],
    };
    bound.into_iter().map(|pod| batch(ask::named(&pod.namespace, &pod.name))).collect()
}

/// The other policy, on the same cluster.
enum Other {
    /// On the same cache.
    Alternative(Box<Alternative>),
    /// On a cache of its own, read from the same files: nodes have the same rows.
    Engine(Box<Engine>),
}

impl Other {
    /// Answers on this snapshot, which is the cluster without the pods that are removed.
    fn answer(
        &self,
        engine: &Engine,
        (snapshot, removed): (&Arc<Snapshot>, &OverlaySpec),
        query: &Query,
    ) -> Result<Answer, Error> {
        match self {
            Self::Alternative(alternative) => engine.answer(query, Options::on(snapshot).with_alternative(alternative)),
            Self::Engine(other) => {
                let snapshot = other.overlay_snapshot(removed)?;
                other.answer(query, Options::on(&snapshot))
            }
        }
    }
}

/// Collects and prints the differences.
struct Out<'a> {
    args: &'a PolicyDiffArgs,
    snapshot: Arc<Snapshot>,
    /// The versions of Kubernetes that are compared, before and after.
    kubernetes: [KubernetesVersion; 2],
    differences: Differences,
    faults: usize,
    /// By predicate, and by whether it would reject.
    examples: BTreeMap<(Arc<str>, bool), Vec<Example>>,
    scorers: ScorerChanges,
    /// Pods whose best nodes change, or that would have no scores: the first [`EXAMPLES`].
    best: Vec<Best>,
}

/// Nodes of one pod that one predicate would reject, or would not reject any more.
#[derive(Debug, Clone, Serialize)]
struct Example {
    pod: String,
    count: usize,
    nodes: Vec<String>,
    reasons: Vec<String>,
}

/// A line of `-o jsonl` about a pod that is decided otherwise.
#[derive(Serialize)]
struct Line<'a> {
    pod: &'a str,
    before: usize,
    after: usize,
    lost: Vec<ChangedNodes<'a>>,
    gained: Vec<ChangedNodes<'a>>,
    /// Absent where some node is best by both policies.
    #[serde(flatten)]
    best: Option<BestNodes>,
}

#[derive(Serialize)]
struct ChangedNodes<'a> {
    predicate: &'a str,
    reasons: &'a [String],
    nodes: Vec<&'a str>,
}

/// `-o json` and `-o yaml`, and the last line of `-o jsonl`.
#[derive(Serialize)]
struct Document<'a> {
    before: String,
    after: String,
    /// The versions of Kubernetes, before and after.
    kubernetes: [&'a str; 2],
    nodes: usize,
    #[serde(flatten)]
    summary: Summary<'a>,
    /// Calls of predicates and scorers that failed, by either policy: what their failure policies decide is compared.
    faults: usize,
    examples: Vec<PredicateExamples<'a>>,
    /// Switches that may be the cause, where the versions differ and some verdict does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switches: Vec<ChangedSwitch<'a>>,
    /// How the scorers of the policies differ.
    scorers: Scorers<'a>,
    /// Examples of pods whose best nodes change.
    best: &'a [Best],
}

#[derive(Serialize)]
struct PredicateExamples<'a> {
    predicate: &'a str,
    change: &'static str,
    examples: &'a [Example],
}

impl<'a> Out<'a> {
    fn new(
        args: &'a PolicyDiffArgs,
        snapshot: Arc<Snapshot>,
        kubernetes: [KubernetesVersion; 2],
        scorers: ScorerChanges,
    ) -> Self {
        let (differences, examples, best) = (Differences::default(), BTreeMap::new(), Vec::new());
        Self { args, snapshot, kubernetes, differences, faults: 0, examples, scorers, best }
    }

    fn add(&mut self, difference: &PodDifference, faults: usize) -> anyhow::Result<()> {
        self.differences.add(difference);
        self.faults += faults;
        let best = BestNodes::new(difference, &self.snapshot, EXAMPLE_NODES);
        if let Some(best) = best.filter(|_| self.best.len() < EXAMPLES) {
            self.best.push(Best { pod: difference.pod.clone(), best });
        }
        if self.args.output == Format::Jsonl && (!difference.is_empty() || difference.changes_best()) {
            let text = serde_json::to_string(&self.line(difference))?;
            terminal::print(&format!("{text}\n"))?;
        }
        for (changes, rejects) in [(&difference.lost, true), (&difference.gained, false)] {
            for change in changes {
                let examples = self.examples.entry((Arc::clone(&change.predicate), rejects)).or_default();
                if examples.len() < EXAMPLES {
                    let rows = change.rows.iter().take(EXAMPLE_NODES);
                    examples.push(Example {
                        pod: difference.pod.clone(),
                        count: change.rows.len(),
                        nodes: rows.map(|row| self.snapshot.node_name(*row).to_owned()).collect(),
                        reasons: change.reasons.to_vec(),
                    });
                }
            }
        }
        Ok(())
    }

    fn line<'s>(&'s self, difference: &'s PodDifference) -> Line<'s> {
        let changed = |change: &'s Change| ChangedNodes {
            predicate: &change.predicate,
            reasons: &change.reasons,
            nodes: change.rows.iter().map(|row| self.snapshot.node_name(*row)).collect(),
        };
        let PodDifference { pod, before, after, lost, gained, .. } = difference;
        Line {
            pod,
            before: *before,
            after: *after,
            lost: lost.iter().map(changed).collect(),
            gained: gained.iter().map(changed).collect(),
            best: BestNodes::new(difference, &self.snapshot, usize::MAX),
        }
    }

    fn document(&self) -> Document<'_> {
        let examples = self.examples.iter().map(|((predicate, rejects), examples)| PredicateExamples {
            predicate,
            change: change(*rejects),
            examples,
        });
        let policy =
            |path: Option<&PathBuf>| path.map_or_else(|| DEFAULT.to_owned(), |path| path.display().to_string());
        let [before, after] = &self.kubernetes;
        Document {
            before: policy(self.args.before.as_ref()),
            after: policy(self.args.after.as_ref().or(self.args.before.as_ref())),
            kubernetes: [&before.version, &after.version],
            nodes: self.snapshot.node_count(),
            summary: Summary::new(&self.differences),
            faults: self.faults,
            examples: examples.collect(),
            switches: self.switches(),
            scorers: Scorers::from(&self.scorers),
            best: &self.best,
        }
    }

    /// The switches that may be the cause of differences; none where there are no differences.
    fn switches(&self) -> Vec<ChangedSwitch<'static>> {
        if self.examples.is_empty() {
            return Vec::new();
        }
        let differs = |name: &str| self.examples.keys().any(|(predicate, _)| **predicate == *name);
        switches::changed(Table::built_in(), &self.kubernetes, differs)
    }

    fn finish(&self) -> anyhow::Result<()> {
        let text = match self.args.output {
            Format::Table => escaped(&self.table(Paint::for_stdout())),
            Format::Json => format!("{}\n", serde_json::to_string_pretty(&self.document())?),
            Format::Jsonl => format!("{}\n", serde_json::to_string(&self.document())?),
            Format::Yaml => serde_saphyr::to_string(&self.document())?,
        };
        terminal::print(&text)
    }

    fn table(&self, paint: Paint) -> String {
        let mut rows = table(paint, &["PREDICATE", "WOULD", "PODS", "NODES", "FOR EXAMPLE"], &[2, 3]);
        for ((predicate, rejects), examples) in &self.examples {
            let effect = self.differences.predicates.get(predicate).copied().unwrap_or_default();
            let extent = if *rejects { effect.rejects } else { effect.allows };
            rows.add_row([
                predicate.to_string(),
                change(*rejects).to_owned(),
                extent.pods.to_string(),
                extent.nodes.to_string(),
                // One, so that each row is one line; the documents have more.
                examples.first().map(example).unwrap_or_default(),
            ]);
        }
        let [before, after] = &self.kubernetes;
        let versions = match before == after {
            true => String::new(),
            false => format!("before: verdicts of {}\nafter: verdicts of {}\n", before.describe(), after.describe()),
        };
        let mut out = format!("{versions}{} on {}\n", self.differences, counted(self.snapshot.node_count(), "node"));
        out.push_str(&scores::changed(&self.scorers));
        out.push_str(&scores::ordered(&self.differences.scores));
        if self.faults > 0 {
            // Writing to a String cannot fail.
            let _infallible = writeln!(
                out,
                "{} failed; what failure policies decide in their place is compared",
                counted(self.faults, "call")
            );
        }
        if !self.examples.is_empty() {
            let _infallible = writeln!(out, "\n{}", render(&rows));
        }
        let switches = self.switches();
        if !switches.is_empty() {
            let _infallible = writeln!(out, "\n{}", switches::table_of(&switches, paint));
        }
        if !self.best.is_empty() {
            let _infallible = writeln!(out, "\n{}", render(&scores::table_of(&self.best, paint)));
        }
        out
    }
}

fn change(rejects: bool) -> &'static str {
    if rejects { "reject" } else { "allow" }
}

/// `namespace/name: a, b and 3 more (reasons)`.
fn example(example: &Example) -> String {
    let mut nodes = example.nodes.join(", ");
    if example.count > example.nodes.len() {
        let _infallible = write!(nodes, " and {} more", example.count - example.nodes.len());
    }
    format!("{}: {nodes} ({})", example.pod, example.reasons.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_room_for_the_totals_of_its_pods_however_many_nodes_there_are() {
        for nodes in [0, 1, 5_000, 100_000, 300_000, TOTALS] {
            let pods = pods_at_once(nodes);
            assert!(
                pods >= 1 && pods * nodes * size_of::<i64>() <= limits::ANSWER_BYTES / 2,
                "{pods} on {nodes} nodes"
            );
        }
        assert_eq!((pods_at_once(100_000), pods_at_once(2 * TOTALS)), (10, 1));
    }
}
