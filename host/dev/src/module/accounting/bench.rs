//! Cost of a call of an accounting module on this machine. Start at [`bench`].

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use nodesift_policy::ModuleFile;
use nodesift_sandbox::accounting::{AccountedObject, Accounting};
use serde::Serialize;

use super::super::check::report::BEFORE;
use super::super::written;
use super::object::PlainObject;
use super::{args_of, load, unusable};
use crate::args::ModuleBenchArgs;
use crate::limits::{ACCOUNTING_BENCH_OBJECTS, MODULE_BENCH_TIME};
use nodesift::cluster;
use nodesift::exit::Failure;
use nodesift::terminal::{self, counted};

/// Results of a benchmark of an accounting module.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    file: String,
    digest: String,
    size_bytes: usize,
    /// Processor time, of all threads together. Null where its code was in the cache.
    compile_seconds: Option<f64>,
    /// Absent without a case about a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    ns_per_pod: Option<f64>,
    /// Absent without a case about a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    ns_per_node: Option<f64>,
}

/// `nodesift-dev module bench` of an accounting module: the objects of its cases, over and over.
///
/// # Errors
///
/// [`Failure::Data`] if it cannot be loaded, there are no cases, or a call fails.
pub(in super::super) fn bench(args: &ModuleBenchArgs, file: &ModuleFile) -> anyhow::Result<()> {
    let (given, cases) = args_of(&args.file, args.args.as_deref())?;
    let (pods, nodes) = cases.map(|cases| cases.objects(&given)).unwrap_or_default();
    if pods.is_empty() && nodes.is_empty() {
        let text = format!("{}: no cases.yaml beside it with an object and these arguments", args.file.display());
        return Err(Failure::Data(anyhow!(text)).into());
    }
    let runtime = cluster::runtime()?;
    let accounting = load(&runtime, file, &given).map_err(|error| unusable(&args.file, &error))?;
    let compiled_in = runtime.compilation_time();
    let pods = measure(&pods, |objects| accounting.pods(objects).into_iter().find_map(Result::err))?;
    let nodes = measure(&nodes, |objects| accounting.nodes(objects).into_iter().find_map(Result::err))?;
    let figures = Figures {
        file: args.file.display().to_string(),
        digest: file.digest(),
        size_bytes: file.bytes.len(),
        compile_seconds: compiled_in.map(|took| took.as_secs_f64()),
        ns_per_pod: pods,
        ns_per_node: nodes,
    };
    let text = written(args.output, &figures, || figures.table(&accounting))?;
    terminal::print(&terminal::escaped(&text))
}

/// Nanoseconds an object, by the fastest round; none without objects.
fn measure(
    objects: &[PlainObject],
    mut ask: impl FnMut(&[Arc<dyn AccountedObject>]) -> Option<nodesift_sandbox::fault::Fault>,
) -> anyhow::Result<Option<f64>> {
    if objects.is_empty() {
        return Ok(None);
    }
    let shared: Vec<Arc<dyn AccountedObject>> =
        objects.iter().map(|object| Arc::new(object.clone()) as Arc<dyn AccountedObject>).collect();
    let all: Vec<Arc<dyn AccountedObject>> = shared.iter().cycle().take(ACCOUNTING_BENCH_OBJECTS).cloned().collect();
    let (begun, mut fastest) = (Instant::now(), Duration::MAX);
    while fastest == Duration::MAX || begun.elapsed() < MODULE_BENCH_TIME {
        let started = Instant::now();
        if let Some(fault) = ask(&all) {
            return Err(Failure::Data(anyhow!("a call fails: {fault}")).into());
        }
        fastest = fastest.min(started.elapsed());
    }
    let objects = u32::try_from(all.len()).unwrap_or(u32::MAX);
    Ok(Some(fastest.as_secs_f64() * 1e9 / f64::from(objects)))
}

impl Figures {
    fn table(&self, accounting: &Accounting) -> String {
        let mut out = String::new();
        let figure = |ns: Option<f64>| ns.map_or_else(|| "no case".to_owned(), |ns| format!("{ns:.0} ns"));
        for (name, value) in [
            ("file", self.file.clone()),
            ("digest", self.digest.clone()),
            ("size", format!("{} bytes", self.size_bytes)),
            (
                "compiled",
                self.compile_seconds
                    .map_or_else(|| BEFORE.to_owned(), |took| format!("with {took:.1} s of processor time")),
            ),
            ("a pod", figure(self.ns_per_pod)),
            ("a node", figure(self.ns_per_node)),
            ("reads", counted(accounting.needs().annotations.len(), "annotation")),
            ("makes", counted(accounting.needs().sums.len(), "sum")),
        ] {
            // Writing to a String cannot fail.
            let _infallible = writeln!(out, "{name:<10} {value}");
        }
        out
    }
}
