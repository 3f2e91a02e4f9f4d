//! `nodesift filter` and `nodesift explain`: pods in, answers out.
//!
//! ```text
//! local    the engine in this process, over cluster files
//! remote   a running sidecar, over gRPC
//! pods     pods given in files
//! record   questions and answers as cases of a module
//! ```
//!
//! Both give answers as the sidecar's protobuf messages, so that [`report`](crate::report) has one input. Start at
//! [`filter`].

mod local;
mod pods;
mod record;
mod remote;

use std::path::Path;

use nodesift_engine::Clock;
use nodesift_proto::v1;

use crate::args::{AskArgs, ExplainArgs};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report::{Report, Reported};
use local::Local;
pub(crate) use local::pods_to_evaluate;
use remote::Remote;

/// `nodesift filter`.
///
/// # Errors
///
/// If arguments, files or policy are invalid, or a sidecar does not answer.
pub(crate) fn filter(args: &AskArgs) -> anyhow::Result<()> {
    run::<v1::PodAnswer>(args)
}

/// `nodesift explain`.
///
/// # Errors
///
/// As [`filter`].
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<()> {
    run_recording::<v1::PodExplanation>(&args.ask, args.record.as_deref())
}

/// An answer about one pod that an engine and a sidecar can give, and that can be printed.
trait Answer: Reported + local::Evaluate + remote::Fetch {}

impl Answer for v1::PodAnswer {}
impl Answer for v1::PodExplanation {}

fn run<A: Answer>(args: &AskArgs) -> anyhow::Result<()> {
    run_recording::<A>(args, None)
}

/// Answers, and writes the questions into a file where there is one.
fn run_recording<A: Answer>(args: &AskArgs, file: Option<&Path>) -> anyhow::Result<()> {
    let mut report = Report::<A>::new(args.output);
    match &args.server {
        Some(url) => {
            let mut remote = Remote::connect(url)?;
            let batches = remote::batches(args)?;
            let mut progress = Progress::new(batches.iter().map(remote::Batch::len).sum(), "pods");
            for batch in batches {
                let pods = batch.len();
                remote.answer(batch, |answers| report.add(answers))?;
                progress.advance(pods);
            }
        }
        None if args.cluster.cluster.is_empty() => {
            let text = "no cluster given: use --cluster FILE for its objects, or --server unix:PATH or --server \
                        http://HOST:PORT for a running sidecar";
            return Err(Failure::Usage(text.to_owned()).into());
        }
        None => {
            let mut local = Local::open(args)?;
            // First: what is refused has no answer either.
            if let Some(file) = file {
                let now = Clock::default().now();
                local = local.at(now);
                record::record(local.engine(), now, args, file)?;
            }
            let batches = local.batches(args)?;
            let mut progress = Progress::new(batches.iter().map(Vec::len).sum(), "pods");
            for batch in batches {
                let pods = batch.len();
                report.add(local.answer(batch, args)?)?;
                progress.advance(pods);
            }
        }
    }
    report.finish()
}
