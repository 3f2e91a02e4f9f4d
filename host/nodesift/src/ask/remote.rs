//! Answers from a running sidecar, over gRPC. Start at [`Remote::connect`].

use std::future::Future;

use anyhow::{Context as _, anyhow};
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{self, pod};
use tokio::runtime::{Builder, Runtime};
use tonic::Status;
use tonic::transport::Channel;

use super::pods;
use crate::args::{PhaseArg, PodKey, QuestionArgs};
use crate::client::{self, Endpoint};
use crate::exit::Failure;
use crate::limits;
use crate::report::Answers;
use crate::why::{missing_pod, pods_of_sidecar};

type Client = NodesiftClient<Channel>;

/// The pods and nodes of one request.
#[derive(Debug, Clone, Default)]
pub(super) struct Batch {
    pods: Vec<v1::Pod>,
    /// The pending pods instead of `pods`, page by page.
    pending: bool,
    page_size: u32,
    page_token: String,
    phase: v1::Phase,
    nodes: Option<v1::NodeSubset>,
    scores: Option<v1::ScoreRequest>,
}

impl Batch {
    /// Number of pods; 0 if only the sidecar knows it.
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }
}

/// An answer that a sidecar gives.
pub(super) trait Fetch: Sized {
    /// Sends one request; returns its answers, and the token of the next page.
    fn fetch(client: &mut Client, batch: Batch) -> impl Future<Output = Result<(Answers<Self>, String), Refused>>;
}

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Refused {
    status: Status,
    /// The pod that is not there, as it was named.
    pod: Option<String>,
}

impl Refused {
    /// Where no pod of the request is there, the first one is not: then the whole request is refused, and no answer names it.
    fn about(self, batch: &Batch) -> Self {
        let first = match batch.pods.first().and_then(|pod| pod.pod.as_ref()) {
            // Else it may be the nodes that are not there.
            Some(pod::Pod::Name(name)) if batch.nodes.is_none() && self.status.code() == tonic::Code::NotFound => {
                Some(format!("{}/{}", name.namespace, name.name))
            }
            _ => None,
        };
        Self { pod: self.pod.or(first), ..self }
    }
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self { status, pod: None }
    }
}

/// Fails where a named pod or node does not exist: the sidecar answers about the others. `failed` is the first pod with an error, by name.
fn all_known(nodes: &[String], failed: Option<(&str, &v1::CallError)>) -> Result<(), Refused> {
    match (nodes.first(), failed) {
        (Some(node), _) => {
            Err(Status::not_found(format!("node {node:?} is not in the cache: name a node that exists")).into())
        }
        (None, Some((pod, error))) => {
            Err(Refused { status: Status::not_found(error.message.clone()), pod: Some(pod.to_owned()) })
        }
        (None, None) => Ok(()),
    }
}

/// A pod and its error.
fn failed(pod: &v1::PodAnswer) -> Option<(&str, &v1::CallError)> {
    Some((pod.pod.as_str(), pod.error.as_ref()?))
}

impl Fetch for v1::PodAnswer {
    async fn fetch(client: &mut Client, batch: Batch) -> Result<(Answers<Self>, String), Refused> {
        let request = v1::FilterRequest {
            pods: batch.pods,
            pending: batch.pending,
            phase: batch.phase.into(),
            nodes: batch.nodes,
            detail: v1::Detail::Failures.into(),
            page_size: batch.page_size,
            page_token: batch.page_token,
            scores: batch.scores,
            ..v1::FilterRequest::default()
        };
        let response = client.filter(request).await?.into_inner();
        all_known(&response.unknown_nodes, response.pods.iter().find_map(failed))?;
        Ok((Answers::new(response.version, response.pods), response.next_page_token))
    }
}

impl Fetch for v1::PodExplanation {
    async fn fetch(client: &mut Client, batch: Batch) -> Result<(Answers<Self>, String), Refused> {
        let request = v1::ExplainRequest {
            pods: batch.pods,
            pending: batch.pending,
            phase: batch.phase.into(),
            nodes: batch.nodes,
            page_size: batch.page_size,
            page_token: batch.page_token,
            scores: batch.scores,
            ..v1::ExplainRequest::default()
        };
        let response = client.explain(request).await?.into_inner();
        let mut conjunctions = response.pods.iter().filter_map(|pod| pod.conjunction.as_ref());
        all_known(&response.unknown_nodes, conjunctions.find_map(failed))?;
        Ok((Answers::new(response.version, response.pods), response.next_page_token))
    }
}

/// The requests that answer the arguments.
///
/// # Errors
///
/// As [`pods::read`].
pub(super) fn batches(args: &QuestionArgs) -> Result<Vec<Batch>, Failure> {
    let nodes = (!args.node.is_empty()).then(|| v1::NodeSubset { names: args.node.clone() });
    let phase = match args.phase {
        PhaseArg::Allocate => v1::Phase::Allocate,
        PhaseArg::Reserve => v1::Phase::Reserve,
    };
    let scores = args.scores.map(|top| v1::ScoreRequest { top, ..v1::ScoreRequest::default() });
    let common = Batch { phase, nodes, scores, ..Batch::default() };
    let pods: Vec<pod::Pod> = if !args.pods.is_empty() {
        pods::read(&args.pods, &args.pod)?.into_iter().map(|file| pod::Pod::Json(file.json)).collect()
    } else if !args.pod.is_empty() {
        let named = args.pod.iter().cloned();
        named.map(|key| pod::Pod::Name(v1::PodName { namespace: key.namespace, name: key.name })).collect()
    } else {
        // Only the sidecar knows its pending pods.
        let page_size = u32::try_from(limits::CLIENT_PODS).unwrap_or(u32::MAX);
        return Ok(vec![Batch { pending: true, page_size, ..common }]);
    };
    let pods: Vec<v1::Pod> = pods.into_iter().map(v1::Pod::from).collect();
    Ok(pods.chunks(limits::CLIENT_PODS).map(|pods| Batch { pods: pods.to_vec(), ..common.clone() }).collect())
}

/// A connection to a sidecar.
pub(super) struct Remote {
    runtime: Runtime,
    client: Client,
    url: String,
}

impl Remote {
    /// Connects to `unix:PATH` or `http://HOST:PORT`.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if the URL has another form, [`Failure::Unavailable`] if there is no connection within
    /// [`limits::CLIENT_CONNECT`].
    pub(super) fn connect(url: &str) -> anyhow::Result<Self> {
        let endpoint = client::channel(client::SERVER, url)?
            .connect_timeout(limits::CLIENT_CONNECT)
            .timeout(limits::CLIENT_ANSWER);
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
        let channel = runtime.block_on(endpoint.connect()).map_err(|error| {
            let error =
                anyhow!(error).context(format!("cannot reach a sidecar at {url} (is `nodesift serve` running?)"));
            Failure::Unavailable(error)
        })?;
        let client = NodesiftClient::new(channel).max_decoding_message_size(limits::CLIENT_ANSWER_BYTES);
        Ok(Self { runtime, client, url: url.to_owned() })
    }

    /// Sends one request, or one for each page of the pending pods; hands over each answer as it comes.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`] or [`Failure::Unavailable`] if the gRPC status is of that kind, else the status's message; and those of
    /// `take`.
    pub(super) fn answer<A: Fetch>(
        &mut self,
        mut batch: Batch,
        mut take: impl FnMut(Answers<A>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        loop {
            let fetched = self.runtime.block_on(A::fetch(&mut self.client, batch.clone()));
            let fetched = fetched.map_err(|refused| refused.about(&batch));
            let (answers, next) = fetched.map_err(|refused| {
                self.failure(refused).context(format!("request to the sidecar at {} failed", self.url))
            })?;
            take(answers)?;
            if next.is_empty() {
                return Ok(());
            }
            batch.page_token = next;
        }
    }
}

impl Remote {
    /// The failure of a request; where a pod is not there, with the pods that have a name like it.
    fn failure(&self, Refused { status, pod }: Refused) -> anyhow::Error {
        let key = pod.and_then(|pod| pod.parse::<PodKey>().ok());
        let Some((key, endpoint)) = key.zip(Endpoint::from_server(client::SERVER, &self.url).ok()) else {
            return failure(&status);
        };
        // Whoever may ask need not be allowed to see all pods, and the answer is the same without them.
        match pods_of_sidecar(&endpoint) {
            Ok(known) => Failure::Data(missing_pod(anyhow!("{}", status.message()), &key, &known)).into(),
            Err(_) => failure(&status),
        }
    }
}

/// The failure that a gRPC status means for the command.
fn failure(status: &Status) -> anyhow::Error {
    use tonic::Code;
    let message = anyhow!("{}", status.message());
    match status.code() {
        Code::InvalidArgument | Code::NotFound => Failure::Data(message).into(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => Failure::Unavailable(message).into(),
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_sidecar_is_unavailable() {
        let outcome = Remote::connect("unix:/nowhere/nodesift.sock").map(drop);
        assert_eq!(outcome.map_err(|error| crate::exit::code_of(&error)), Err(crate::exit::UNAVAILABLE));
    }
}
