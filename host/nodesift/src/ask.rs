//! `nodesift filter` and `nodesift explain`: pods in, answers out, from this process or from a sidecar.
//!
//! Both commands are one [`run`] over an [`Answer`]: what a sidecar says about one pod. The engine in this process
//! answers in the same messages, so that everything after is the same.

mod local;
mod remote;

use nodesift_proto::v1;

use super::args::AskArgs;
use super::exit::Failure;
use super::progress::Progress;
use super::report::{Report, Reported};
use local::Local;
use remote::Remote;

/// `nodesift filter`.
pub(super) fn filter(args: &AskArgs) -> anyhow::Result<()> {
    run::<v1::PodAnswer>(args)
}

/// `nodesift explain`.
pub(super) fn explain(args: &AskArgs) -> anyhow::Result<()> {
    run::<v1::PodExplanation>(args)
}

/// What can be asked for about a pod, here or there.
trait Answer: Reported + local::Answered + remote::Answered {}

impl Answer for v1::PodAnswer {}
impl Answer for v1::PodExplanation {}

/// Answers about some pods, from one snapshot and one policy.
pub(super) struct Batch<A> {
    pub(super) version: v1::Version,
    pub(super) answers: Vec<A>,
}

fn run<A: Answer>(args: &AskArgs) -> anyhow::Result<()> {
    let mut report = Report::<A>::new(args.output);
    match &args.server {
        Some(url) => {
            let mut remote = Remote::connect(url)?;
            let batches = remote::batches(args)?;
            let mut progress = Progress::new(batches.iter().map(|batch| batch.pods.len()).sum(), "pods");
            for batch in batches {
                let pods = batch.pods.len();
                report.add(remote.answer(batch)?)?;
                progress.advance(pods);
            }
        }
        None if args.cluster.cluster.is_empty() => {
            let text = "which cluster? give its objects as --cluster FILE, or a running sidecar as --server unix:PATH or http://HOST:PORT";
            return Err(Failure::Usage(text.to_owned()).into());
        }
        None => {
            let local = Local::open(args)?;
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
