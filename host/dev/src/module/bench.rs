//! `nodesift-dev module bench`: what a call of a module costs on this machine. Start at [`bench`](fn@bench).
//!
//! Fresh instances, spares and used ones are measured in turns, so that a machine that becomes slower does so for all. A call is timed
//! as the engine makes it, facts and check of the verdict included, but for what is reused.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use nodesift_engine::Batch;
use nodesift_object::{Kind, Object, Pod};
use nodesift_policy::limits::{GUEST_MEMORY_BYTES_MAX, GUEST_TIME_PER_CALL_MAX};
use nodesift_sandbox::accounting::inspect_accounting;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::{Grants, Lifetime, Module};
use nodesift_source::files;
use serde::Serialize;

use super::accounting;
use super::call::{COMPILING, Modules, read};
use super::cases::NodeSums;
use super::check::report::BEFORE;
use super::growth::Growth;
use super::scoring::{self, Scoring, Shown, bounds, ranked, scored};
use super::subject::{Question, Subject};
use super::world::World;
use crate::args::{Format, ModuleBenchArgs};
use crate::limits::{
    MODULE_BENCH_ROUNDS, MODULE_BENCH_SPARE_WAIT, MODULE_BENCH_TIME, MODULE_BENCH_WARM_UP, SCORES_SHOWN,
};
use crate::measure::Times;
use nodesift::cluster;
use nodesift::exit::Failure;
use nodesift::progress::during;
use nodesift::terminal::{self, Paint, counted, render, table};

/// Sizes that are measured by default, in nodes.
const NODES: [u32; 2] = [5_000, 100_000];

/// `nodesift-dev module bench`.
///
/// # Errors
///
/// [`Failure`] if module, policy or files cannot be used; [`Failure::Data`] if a call fails.
pub(crate) fn bench(args: &ModuleBenchArgs) -> anyhow::Result<()> {
    let file = read(&args.file)?;
    if inspect_accounting(&file.bytes).is_some() {
        return accounting::bench(args, &file);
    }
    let subject = Subject::open(&args.file, args.args.as_deref(), args.policy.as_deref())?;
    let runtime = cluster::runtime()?;
    let inspected = during(COMPILING, || runtime.inspect(&subject.file.bytes, GUEST_MEMORY_BYTES_MAX));
    let inspected = inspected.map_err(|error| Failure::Data(anyhow!("{}: {error}", args.file.display())))?;
    let compiled_in = runtime.compilation_time();
    let without_spares = cluster::runtime()?.without_spares();
    let mut modules = [runtime, without_spares].map(|runtime| {
        let (path, file) = (&subject.path, subject.file.clone());
        Modules::with(runtime, path, file)
    });
    let (question, worlds) = worlds(args, &subject)?;
    let mut sizes = Vec::with_capacity(worlds.len());
    for make in worlds {
        sizes.extend(measure(&mut modules, &subject, &question, make)?);
    }
    let (sizes, of_scores): (Vec<Size>, Vec<Size>) = sizes.into_iter().partition(|size| size.scores.is_none());
    let figures = Figures {
        file: args.file.display().to_string(),
        digest: subject.file.digest(),
        name: inspected.descriptor.name,
        size_bytes: subject.file.bytes.len(),
        compile_seconds: compiled_in.map(|took| took.as_secs_f64()),
        question: question.name,
        ns_per_node: ns_per_node(&sizes),
        sizes,
        ns_per_score: ns_per_node(&of_scores),
        scores: of_scores,
    };
    let text = match args.output {
        Format::Table => figures.table(Paint::for_stdout()),
        Format::Json => serde_json::to_string_pretty(&figures)? + "\n",
        Format::Jsonl => serde_json::to_string(&figures)? + "\n",
        Format::Yaml => serde_saphyr::to_string(&figures)?,
    };
    let is_same = |size: &Size| size.scores.as_ref().is_some_and(|scores| scores.lowest == scores.highest);
    if !figures.scores.is_empty() && figures.scores.iter().all(is_same) {
        terminal::note(
            "every node has the same score for the pod that was measured, and a scorer may see that at once: write a case with different \
             scores into cases.yaml beside the module, or give --cluster and --pods",
        );
    }
    if !inspected.scores && figures.sizes.iter().all(|size| size.rejected == 0) {
        terminal::note(
            "every node fits the pod that was measured, and a predicate may see that at once: write a case with rejects into cases.yaml \
             beside the module, or give --cluster and --pods",
        );
    }
    for size in figures.sizes.iter().filter(|size| size.rejected == size.nodes && size.nodes > 0) {
        terminal::note(&format!(
            "it rejects every one of {} nodes: the pod that was measured fits nowhere",
            size.nodes
        ));
    }
    terminal::print(&terminal::escaped(&text))
}

/// Makes one cluster: they are made one after the other, because large ones take memory.
type MakeWorld = Box<dyn FnOnce(&Arc<Module>) -> World>;

/// The question, and the clusters in which it is asked.
fn worlds(args: &ModuleBenchArgs, subject: &Subject) -> anyhow::Result<(Question, Vec<MakeWorld>)> {
    if args.cluster.cluster.is_empty() {
        let question = subject.typical()?;
        let sizes = if args.nodes.is_empty() { NODES.to_vec() } else { args.nodes.clone() };
        let world = |count: u32| {
            let question = question.clone();
            Box::new(move |module: &Arc<Module>| {
                let growth = Growth::chosen(&question, module);
                let objects = growth.objects(&question.objects, count);
                World::new(&question.policy, module, objects, &growth.sums(&question, count))
            }) as MakeWorld
        };
        let worlds = sizes.into_iter().map(world).collect();
        return Ok((question, worlds));
    }
    let mut objects = Vec::new();
    let read = files::read(&args.cluster.cluster, &mut |object| objects.push(object), &mut |_| {});
    cluster::note_summary(&read.map_err(|error| Failure::Data(error.into()))?);
    let pod = pod(&args.pods, &objects)?;
    if !objects.iter().any(|object| object.kind() == Kind::Node) {
        return Err(Failure::Data(anyhow!("the files hold no node")).into());
    }
    let policy = subject.policy.clone();
    let question = Question {
        name: format!("pod {}", pod.key()),
        policy: policy.clone(),
        pod,
        objects: Vec::new(),
        sums: NodeSums::new(),
    };
    Ok((question, vec![Box::new(move |module: &Arc<Module>| World::new(&policy, module, objects, &NodeSums::new()))]))
}

/// The first pod of files, else the first pending pod of a cluster.
fn pod(files: &[PathBuf], objects: &[Object]) -> anyhow::Result<Pod> {
    if !files.is_empty() {
        let (pods, summary) = files::read_pods(files).map_err(|error| Failure::Data(error.into()))?;
        cluster::note_summary(&summary);
        let first = pods.into_iter().next().map(|(pod, _)| *pod);
        return first.ok_or_else(|| Failure::Data(anyhow!("the files of --pods hold no pod")).into());
    }
    let pending = objects.iter().find_map(|object| match object {
        Object::Pod(pod) if pod.spec.node_name.is_empty() => Some((**pod).clone()),
        _ => None,
    });
    pending.ok_or_else(|| Failure::Usage("the cluster has no pending pod: give one with --pods".to_owned()).into())
}

/// Results of a benchmark.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    file: String,
    digest: String,
    name: String,
    size_bytes: usize,
    /// Processor time, of all threads together. Null where its code was in the cache.
    compile_seconds: Option<f64>,
    question: String,
    /// Of a used instance: what another node adds, from the smallest size to the largest.
    ns_per_node: Option<f64>,
    /// Figures of calls of `filter`.
    sizes: Vec<Size>,
    /// A score's time, as that of a node; absent where the module does not score.
    #[serde(skip_serializing_if = "Option::is_none")]
    ns_per_score: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scores: Vec<Size>,
}

/// Results of one function for one size of cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Size {
    nodes: usize,
    rejected: usize,
    /// Of a call of `score`.
    #[serde(flatten)]
    scores: Option<Scores>,
    rounds: usize,
    /// Medians: a new instance with its `configure` and one call; a call that finds a spare instance, as most calls in a sidecar do;
    /// and a call of an instance that is used again.
    fresh_ns: u64,
    spare_ns: u64,
    reused_ns: u64,
    /// Linear memory of an instance after these calls.
    memory_bytes: usize,
}

/// The scores of the pod that was measured.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Scores {
    /// Null where the pod has no scores.
    lowest: Option<i64>,
    highest: Option<i64>,
    /// The best nodes, from the highest.
    best: Vec<Shown>,
}

/// Measures `filter`, and `score` where the module scores.
fn measure(
    [sparing, modules]: &mut [Modules; 2],
    subject: &Subject,
    question: &Question,
    make: MakeWorld,
) -> anyhow::Result<Vec<Size>> {
    let load = |modules: &mut Modules, lifetime| {
        // What is slower than a policy allows is measured as well.
        let time_per_call = Some(GUEST_TIME_PER_CALL_MAX);
        let grants = Grants { lifetime, time_per_call, ..question.grants() };
        let module = modules.load(&subject.path, &grants)?;
        module.map_err(|fault| {
            anyhow::Error::from(Failure::Data(anyhow!("{}: configure: {fault}", subject.path.display())))
        })
    };
    let (fresh, reused) = (load(modules, Lifetime::PerCall)?, load(modules, Lifetime::Reused)?);
    let spared = load(sparing, Lifetime::PerCall)?;
    let world = make(&fresh);
    let nodes = world.snapshot.node_count();
    let failed = |fault: Fault| {
        anyhow::Error::from(Failure::Data(anyhow!("{}, {}: {fault}", question.name, counted(nodes, "node"))))
    };
    let loaded = Loaded { fresh: &fresh, spared: &spared, reused: &reused };
    let (times, verdict) = loaded.timed(|module| {
        let context = Arc::new(world.context(&question.pod, Batch::All));
        let rows = context.rows();
        let started = Instant::now();
        let verdict = module.filter(context, rows, None);
        Ok((started.elapsed(), verdict.map_err(failed)?))
    })?;
    let feasible: Vec<bool> = (0..nodes).map(|place| verdict.failure_at(place).is_none()).collect();
    let rejected = feasible.iter().filter(|fits| !**fits).count();
    let mut sizes = vec![Size { nodes, rejected, scores: None, ..times }];
    if reused.normalization().is_some() && feasible.contains(&true) {
        let (times, scores) = loaded.timed(|module| {
            let context = Arc::new(scoring::facts(module, &world, &question.pod, Batch::All, &feasible));
            let rows = context.rows();
            let started = Instant::now();
            let scores = module.score(context, rows, None);
            Ok((started.elapsed(), scores.map_err(failed)?))
        })?;
        let scores = Scores::new(scored(&reused, &world, scores, &feasible).map_err(failed)?, &world);
        sizes.push(Size { nodes, rejected, scores: Some(scores), ..times });
    }
    modules.keep(&subject.path, fresh);
    modules.keep(&subject.path, reused);
    sparing.keep(&subject.path, spared);
    Ok(sizes)
}

impl Scores {
    fn new(scoring: Scoring, world: &World) -> Self {
        let Scoring::Scored(scores) = scoring else { return Self { lowest: None, highest: None, best: Vec::new() } };
        let (lowest, highest) = bounds(&scores).unzip();
        let mut best = ranked(world.nodes(), &scores);
        best.truncate(SCORES_SHOWN);
        Self { lowest, highest, best }
    }
}

/// A module as its instances are measured.
#[derive(Clone, Copy)]
struct Loaded<'m> {
    fresh: &'m Module,
    spared: &'m Module,
    reused: &'m Module,
}

impl Loaded<'_> {
    /// Times a call in turns: its figures, and the first answer.
    fn timed<T>(self, call: impl Fn(&Module) -> anyhow::Result<(Duration, T)>) -> anyhow::Result<(Size, T)> {
        let (mut fresh_times, mut spare_times, mut reused_times) = (Vec::new(), Vec::new(), Vec::new());
        let (mut begun, mut first) = (Instant::now(), None);
        for round in 0..MODULE_BENCH_WARM_UP + MODULE_BENCH_ROUNDS {
            if round == MODULE_BENCH_WARM_UP {
                begun = Instant::now();
            }
            let (fresh_time, answer) = call(self.fresh)?;
            let (reused_time, _) = call(self.reused)?;
            // The first has the spare that loading has made.
            let (spare_time, _) = call(self.spared)?;
            await_spares(self.spared)?;
            if first.is_none() {
                first = Some(answer);
            }
            if round >= MODULE_BENCH_WARM_UP {
                fresh_times.push(fresh_time);
                spare_times.push(spare_time);
                reused_times.push(reused_time);
                if begun.elapsed() > MODULE_BENCH_TIME {
                    break;
                }
            }
        }
        let size = Size {
            nodes: 0,
            rejected: 0,
            scores: None,
            rounds: fresh_times.len(),
            fresh_ns: nanos(&Times::new(fresh_times)),
            spare_ns: nanos(&Times::new(spare_times)),
            reused_ns: nanos(&Times::new(reused_times)),
            memory_bytes: self.reused.idle_memory_bytes().unwrap_or_default(),
        };
        Ok((size, first.ok_or_else(|| anyhow!("nothing was measured"))?))
    }
}

/// Waits until the spares are there, as they are when calls have pauses between them: they are made beside the calls.
///
/// # Errors
///
/// [`Failure::Data`] if they are not there in time.
fn await_spares(module: &Module) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !module.has_all_spares() {
        if begun.elapsed() > MODULE_BENCH_SPARE_WAIT {
            let waited = MODULE_BENCH_SPARE_WAIT.as_secs();
            return Err(Failure::Data(anyhow!("the spare instances were not made in {waited} s")).into());
        }
        thread::yield_now();
    }
    Ok(())
}

fn nanos(times: &Times) -> u64 {
    u64::try_from(times.median().as_nanos()).unwrap_or(u64::MAX)
}

/// The slope between the smallest size and the largest; with one size, time by nodes.
#[allow(clippy::cast_precision_loss, reason = "times and counts are far below 2^52")]
fn ns_per_node(sizes: &[Size]) -> Option<f64> {
    let (least, most) = (sizes.iter().min_by_key(|size| size.nodes)?, sizes.iter().max_by_key(|size| size.nodes)?);
    let (time, nodes) = match most.nodes == least.nodes {
        true => (most.reused_ns as f64, most.nodes),
        false => (most.reused_ns as f64 - least.reused_ns as f64, most.nodes - least.nodes),
    };
    (nodes > 0).then(|| time / nodes as f64)
}

impl Figures {
    fn table(&self, paint: Paint) -> String {
        let mut out = String::new();
        for (name, value) in [
            ("module", format!("{}, {}", self.name, self.file)),
            ("size", format!("{} bytes", self.size_bytes)),
            (
                "compiled",
                self.compile_seconds
                    .map_or_else(|| BEFORE.to_owned(), |took| format!("with {took:.2} s of processor time")),
            ),
            ("question", self.question.clone()),
            ("a node", self.ns_per_node.map_or_else(|| "not measured".to_owned(), |ns| format!("{ns:.1} ns"))),
        ] {
            // Writing to a String cannot fail.
            let _infallible = writeln!(out, "{name:<10} {value}");
        }
        let _infallible = writeln!(out, "\n{}", table_of(&self.sizes, "REJECTED", paint));
        let Some(smallest) = self.scores.iter().min_by_key(|size| size.nodes) else { return out };
        let ns = self.ns_per_score.map_or_else(|| "not measured".to_owned(), |ns| format!("{ns:.1} ns"));
        let _infallible = writeln!(out, "\n{:<10} {ns}\n\n{}", "a score", table_of(&self.scores, "SCORES", paint));
        if let Some(Scores { best, .. }) = &smallest.scores {
            let _infallible =
                write!(out, "\nthe best of {}\n{}", counted(smallest.nodes, "node"), scoring::table_of(best, paint));
        }
        out
    }
}

/// Table of the figures of one function; `second` is the head of the column that says what it has answered.
fn table_of(sizes: &[Size], second: &str, paint: Paint) -> String {
    let header = ["NODES", second, "FRESH INSTANCE", "SPARE INSTANCE", "USED INSTANCE", "MEMORY", "ROUNDS"];
    let mut rows = table(paint, &header, &[0, 1, 2, 3, 4, 5, 6]);
    for size in sizes {
        let micros = |ns: u64| format!("{}.{} µs", ns / 1_000, ns % 1_000 / 100);
        let answered = match &size.scores {
            None => size.rejected.to_string(),
            Some(Scores { lowest: Some(lowest), highest: Some(highest), .. }) => format!("{lowest} to {highest}"),
            Some(_) => "none".to_owned(),
        };
        rows.add_row([
            size.nodes.to_string(),
            answered,
            micros(size.fresh_ns),
            micros(size.spare_ns),
            micros(size.reused_ns),
            format!("{} KiB", size.memory_bytes >> 10),
            size.rounds.to_string(),
        ]);
    }
    render(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_costs_the_slope_between_sizes() {
        let size = |nodes, reused_ns| Size {
            nodes,
            rejected: 0,
            scores: None,
            rounds: 1,
            fresh_ns: 9,
            spare_ns: 9,
            reused_ns,
            memory_bytes: 0,
        };
        assert_eq!(ns_per_node(&[]), None);
        assert_eq!(ns_per_node(&[size(0, 5)]), None);
        assert_eq!(ns_per_node(&[size(10, 50)]), Some(5.0));
        // In any order, and whatever lies in between.
        assert_eq!(ns_per_node(&[size(110, 600), size(10, 100), size(50, 1)]), Some(5.0));
    }
}
