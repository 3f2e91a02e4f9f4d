//! `nodesift filter` and `nodesift explain`: pods in, answers out.
//!
//! ```text
//! local    the engine in this process, over cluster files or one list
//! listed   one list of a live cluster
//! remote   a running sidecar, over gRPC
//! pods     pods given in files
//! ```
//!
//! Both give answers as the sidecar's protobuf messages, so that [`report`](crate::report) has one input. Start at `filter`; for an
//! engine over files, and answers of it, at [`Local`] and [`explain_by`].

pub(crate) mod listed;
mod local;
pub mod pods;
mod remote;

use nodesift_proto::v1;
use serde_json::Value;

use crate::args::{AskArgs, QuestionArgs};
use crate::client::{self, Endpoint};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report::{Report, Reported};
use crate::{limits, terminal};
pub use local::Local;
pub(crate) use local::{named, pods_to_evaluate};
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
pub(crate) fn explain(args: &AskArgs) -> anyhow::Result<()> {
    run::<v1::PodExplanation>(args)?;
    if let Some(url) = &args.server {
        note_warnings(url);
    }
    Ok(())
}

/// Notes which facts the predicates of a sidecar miss: nothing in an answer shows it. An engine in this process logs it.
fn note_warnings(url: &str) {
    let fetched = Endpoint::from_server(client::SERVER, url)
        .map_err(anyhow::Error::from)
        .and_then(|endpoint| client::document(&endpoint, limits::POLICY_STATUS_PATH, limits::POLICY_STATUS_BYTES));
    match fetched {
        Ok(policy) => {
            let warnings = policy["warnings"].as_array().into_iter().flatten();
            warnings.filter_map(Value::as_str).for_each(|warning| terminal::note(&format!("warning: {warning}")));
        }
        // Whoever may ask about pods need not be allowed to see the policy, and the answer is complete.
        Err(error) => {
            tracing::debug!(error = %format!("{error:#}"), "the warnings of the sidecar's policy are not known")
        }
    }
}

/// Prints what `nodesift explain` prints about a question, answered by an engine that has read the question's cluster and policy.
///
/// # Errors
///
/// [`Failure::Data`] if a named pod or node does not exist, and the error of a write to stdout.
pub fn explain_by(local: &Local, question: &QuestionArgs) -> anyhow::Result<()> {
    answer_by::<v1::PodExplanation>(local, question)
}

/// An answer about one pod that an engine and a sidecar can give, and that can be printed.
trait Answer: Reported + local::Evaluate + remote::Fetch {}

impl Answer for v1::PodAnswer {}
impl Answer for v1::PodExplanation {}

fn run<A: Answer>(args: &AskArgs) -> anyhow::Result<()> {
    let question = &args.question;
    let Some(url) = &args.server else {
        let skip = &args.listed.skip;
        let local = match args.listed.origin() {
            Some(origin) => Local::list(&origin, question, skip)?,
            None if question.cluster.cluster.is_empty() => {
                let text = "no cluster given: use --cluster FILE for its objects, --kube for one list of your \
                            kubeconfig's cluster, or --server unix:PATH or --server http://HOST:PORT for a running sidecar";
                return Err(Failure::Usage(text.to_owned()).into());
            }
            None => Local::open(question)?,
        };
        return answer_by::<A>(&local.without(skip), question);
    };
    let mut report = Report::<A>::new(question.output);
    let mut remote = Remote::connect(url)?;
    let batches = remote::batches(question)?;
    let mut progress = Progress::new(batches.iter().map(remote::Batch::len).sum(), "pods");
    for batch in batches {
        let pods = batch.len();
        remote.answer(batch, |answers| report.add(answers))?;
        progress.advance(pods);
    }
    report.finish()
}

/// Answers by an engine in this process.
fn answer_by<A: Answer>(local: &Local, question: &QuestionArgs) -> anyhow::Result<()> {
    let kubernetes = &local.engine().policy().settings.kubernetes;
    let mut report = Report::<A>::new(question.output).under(kubernetes, local.skip());
    let batches = local.batches(question)?;
    let mut progress = Progress::new(batches.iter().map(Vec::len).sum(), "pods");
    for batch in batches {
        let pods = batch.len();
        report.add(local.answer(batch, question)?)?;
        progress.advance(pods);
    }
    report.finish()
}
