//! Whether an accounting module does what a sidecar needs of it. Start at [`check`].

use std::iter::repeat_n;
use std::sync::Arc;

use anyhow::anyhow;
use nodesift_policy::ModuleFile;
use nodesift_sandbox::accounting::{
    AccountedObject, Accounting, Amount, ObjectOwner, Ruling, Sums, inspect_accounting,
};
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::limits::{ACCOUNTING_TIME, COMPONENT_BYTES};
use serde::Serialize;

use super::super::call::COMPILING;
use super::super::check::report::{Check, compiled, table_of};
use super::super::written;
use super::inspect::Document;
use super::object::PlainObject;
use super::{args_of, load, unusable};
use crate::args::ModuleCheckArgs;
use nodesift::cluster;
use nodesift::progress::during;
use nodesift::terminal::{self, Paint, counted};

/// Texts of annotations that nobody means; the last ones are long.
const TEXTS: [&str; 12] =
    ["", " ", "-1", "0", "1e999", "99999999999999999999999999", "null", "{}", "[", "{\"a\":{\"a\":{", "é\u{0}", "\n"];

/// Bytes of the longest texts: as many as all annotations of an object can have.
const LONG: usize = 256 << 10;

/// Results of the checks, with a description of the module.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    module: Document,
    checks: Vec<Check>,
}

/// `nodesift-dev module check` of an accounting module.
///
/// # Errors
///
/// [`Failure`](nodesift::exit::Failure) if it cannot be loaded, and an error of no kind of its own if a check fails.
pub(in super::super) fn check(args: &ModuleCheckArgs, file: &ModuleFile) -> anyhow::Result<()> {
    let (given, cases) = args_of(&args.file, args.args.as_deref())?;
    let runtime = cluster::runtime()?;
    let inspected = inspect_accounting(&file.bytes).transpose().map_err(|error| unusable(&args.file, &error))?;
    let inspected = inspected.ok_or_else(|| anyhow!("{}: no accounting module", args.file.display()))?;
    let loaded = || load(&runtime, file, &given).map_err(|error| unusable(&args.file, &error));
    let first = during(COMPILING, loaded)?;
    let compiled = compiled(runtime.compilation_time());
    let (mut pods, mut nodes) = cases.map(|cases| cases.objects(&given)).unwrap_or_default();
    pods.extend(hostile(&first, pods.first()));
    nodes.extend(hostile(&first, nodes.first()));
    let (pods, nodes) = (shared(&pods), shared(&nodes));
    let mut checks = vec![
        Check::passed("size", format!("{} bytes of at most {COMPONENT_BYTES}", file.bytes.len())),
        Check::passed("starts", format!("compiled {compiled}, and configured with its arguments")),
    ];
    let answers = Answers::new(&first, &pods, &nodes);
    checks.push(answers.without_faults());
    checks.push(answers.same_in_any_order(&loaded()?, &pods, &nodes));
    let report =
        Report { module: Document::new(&args.file, file, &inspected, given.clone(), Some(first.needs())), checks };
    let table = || {
        let paint = Paint::for_stdout();
        format!("{}\n\n{}", report.module.table(paint), table_of(&report.checks, paint))
    };
    terminal::print(&terminal::escaped(&written(args.output, &report, table)?))?;
    match report.checks.iter().filter(|check| !check.is_passed()).count() {
        0 => Ok(()),
        failed => Err(anyhow!("{failed} of {} failed", counted(report.checks.len(), "check"))),
    }
}

/// Objects with absent and extreme amounts, owners and annotations, each text alone in the place of one of a usual object.
fn hostile(accounting: &Accounting, usual: Option<&PlainObject>) -> Vec<PlainObject> {
    let usual = usual.cloned().unwrap_or_default();
    let amounts = |value| vec![Amount { resource: "cpu".into(), value }, Amount { resource: "memory".into(), value }];
    let extreme = |value| PlainObject {
        standard: amounts(value),
        usage: amounts(value),
        containers: amounts(value),
        ..usual.clone()
    };
    let owner =
        ObjectOwner { api_version: "".into(), kind: "".into(), name: "".into(), uid: "".into(), controller: false };
    let owned = PlainObject { owners: repeat_n(owner, 64).collect(), ..usual.clone() };
    let mut objects = vec![PlainObject::default(), extreme(0), extreme(i64::MAX), owned];
    let long = ["{", "9", "a"].map(|text| text.repeat(LONG));
    for key in &accounting.needs().annotations {
        let mut without = usual.clone();
        without.annotations.remove(&**key);
        objects.push(without);
        for text in TEXTS.into_iter().chain(long.iter().map(String::as_str)) {
            let mut with = usual.clone();
            with.annotations.insert(key.to_string(), text.into());
            objects.push(with);
        }
    }
    objects
}

fn shared(objects: &[PlainObject]) -> Vec<Arc<dyn AccountedObject>> {
    objects.iter().map(|object| Arc::new(object.clone()) as Arc<dyn AccountedObject>).collect()
}

/// Answers of a module about pods and nodes.
struct Answers {
    pods: Vec<Result<Ruling, Fault>>,
    nodes: Vec<Result<Result<Sums, String>, Fault>>,
}

impl Answers {
    fn new(accounting: &Accounting, pods: &[Arc<dyn AccountedObject>], nodes: &[Arc<dyn AccountedObject>]) -> Self {
        Self { pods: accounting.pods(pods), nodes: accounting.nodes(nodes) }
    }

    fn without_faults(&self) -> Check {
        let name = "hostile objects";
        let of_pods = self.pods.iter().filter_map(|said| said.as_ref().err());
        match of_pods.chain(self.nodes.iter().filter_map(|said| said.as_ref().err())).next() {
            None => {
                let asked = counted(self.pods.len() + self.nodes.len(), "object");
                Check::passed(
                    name,
                    format!(
                        "{asked} with absent and extreme facts, each within {ACCOUNTING_TIME:?}, none with a fault"
                    ),
                )
            }
            Some(fault) => {
                let advice = "return `broken` for what cannot be read: a fault takes a new instance each time";
                Check::failed(name, fault.to_string(), advice)
            }
        }
    }

    /// Another instance says the same of the same objects in reverse.
    fn same_in_any_order(
        &self,
        other: &Accounting,
        pods: &[Arc<dyn AccountedObject>],
        nodes: &[Arc<dyn AccountedObject>],
    ) -> Check {
        let reversed = |objects: &[Arc<dyn AccountedObject>]| objects.iter().rev().cloned().collect::<Vec<_>>();
        let mut again = Self::new(other, &reversed(pods), &reversed(nodes));
        again.pods.reverse();
        again.nodes.reverse();
        let name = "keeps nothing";
        match again.pods == self.pods && again.nodes == self.nodes {
            true => Check::passed(name, "the same of the same objects, in any order".to_owned()),
            false => {
                let advice = "what is said of an object may depend on it and the arguments alone";
                Check::failed(name, "something else of the same object, asked in another order".to_owned(), advice)
            }
        }
    }
}
