//! Answers from a running sidecar, over gRPC.

use std::future::Future;

use anyhow::{Context as _, anyhow};
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{self, pod};
use tokio::runtime::{Builder, Runtime};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use super::{Batch, local};
use crate::args::{AskArgs, PhaseArg};
use crate::cluster;
use crate::exit::Failure;
use crate::limits;

type Client = NodesiftClient<Channel>;

/// One request.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) pods: Vec<v1::Pod>,
    pending: bool,
    phase: v1::Phase,
    nodes: Option<v1::NodeSubset>,
}

/// An answer as a sidecar gives it.
pub(super) trait Answered: Sized {
    fn ask(client: &mut Client, asked: Asked) -> impl Future<Output = Result<Batch<Self>, Status>>;
}

impl Answered for v1::PodAnswer {
    async fn ask(client: &mut Client, asked: Asked) -> Result<Batch<Self>, Status> {
        let request = v1::FilterRequest {
            pods: asked.pods,
            pending: asked.pending,
            phase: asked.phase.into(),
            nodes: asked.nodes,
            detail: v1::Detail::Failures.into(),
            ..v1::FilterRequest::default()
        };
        let response = client.filter(request).await?.into_inner();
        Ok(Batch { version: response.version.unwrap_or_default(), answers: response.pods })
    }
}

impl Answered for v1::PodExplanation {
    async fn ask(client: &mut Client, asked: Asked) -> Result<Batch<Self>, Status> {
        let request = v1::ExplainRequest {
            pods: asked.pods,
            pending: asked.pending,
            phase: asked.phase.into(),
            nodes: asked.nodes,
            ..v1::ExplainRequest::default()
        };
        let response = client.explain(request).await?.into_inner();
        Ok(Batch { version: response.version.unwrap_or_default(), answers: response.pods })
    }
}

/// The requests that the arguments ask for.
pub(super) fn batches(args: &AskArgs) -> anyhow::Result<Vec<Asked>> {
    let nodes = (!args.node.is_empty()).then(|| v1::NodeSubset { names: args.node.clone() });
    let phase = match args.phase {
        PhaseArg::Allocate => v1::Phase::Allocate,
        PhaseArg::Reserve => v1::Phase::Reserve,
    };
    let about = Asked { phase, nodes, ..Asked::default() };
    let pods: Vec<pod::Pod> = if !args.pods.is_empty() {
        let given = local::select(cluster::pods(&args.pods)?, &args.pod)?;
        given.into_iter().map(|given| pod::Pod::Json(given.json)).collect()
    } else if !args.pod.is_empty() {
        let named = args.pod.iter().cloned();
        named.map(|key| pod::Pod::Name(v1::PodName { namespace: key.namespace, name: key.name })).collect()
    } else {
        // Only the sidecar knows them, and one request keeps them on one snapshot.
        return Ok(vec![Asked { pending: true, ..about }]);
    };
    let pods: Vec<v1::Pod> = pods.into_iter().map(|pod| v1::Pod { pod: Some(pod) }).collect();
    Ok(pods.chunks(limits::CLIENT_PODS).map(|pods| Asked { pods: pods.to_vec(), ..about.clone() }).collect())
}

/// A connection to a sidecar.
pub(super) struct Remote {
    runtime: Runtime,
    client: Client,
    url: String,
}

impl Remote {
    /// Connects to `unix:PATH` or `http://HOST:PORT`.
    pub(super) fn connect(url: &str) -> anyhow::Result<Self> {
        let endpoint = endpoint(url)?.connect_timeout(limits::CLIENT_CONNECT).timeout(limits::CLIENT_ANSWER);
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
        let channel = runtime.block_on(endpoint.connect()).map_err(|error| {
            let error =
                anyhow!(error).context(format!("cannot reach a sidecar at {url} (is `nodesift serve` running?)"));
            Failure::Unavailable(error)
        })?;
        let client = NodesiftClient::new(channel).max_decoding_message_size(limits::CLIENT_ANSWER_BYTES);
        Ok(Self { runtime, client, url: url.to_owned() })
    }

    pub(super) fn answer<A: Answered>(&mut self, asked: Asked) -> anyhow::Result<Batch<A>> {
        let answered = self.runtime.block_on(A::ask(&mut self.client, asked));
        answered.map_err(|status| failure(&status).context(format!("the sidecar at {} says no", self.url)))
    }
}

fn endpoint(url: &str) -> Result<Endpoint, Failure> {
    let usage = || Failure::Usage(format!("--server {url:?}: write unix:PATH or http://HOST:PORT"));
    let socket = url.strip_prefix("unix:").map(|path| path.strip_prefix("//").unwrap_or(path));
    match socket {
        Some("") => Err(usage()),
        Some(path) => Endpoint::from_shared(format!("unix:{path}")).map_err(|_| usage()),
        None if url.starts_with("http://") => Endpoint::from_shared(url.to_owned()).map_err(|_| usage()),
        None => Err(usage()),
    }
}

/// A refusal, as the kind of failure it is for whoever typed the command.
fn failure(status: &Status) -> anyhow::Error {
    use tonic::Code;
    let told = anyhow!("{}", status.message());
    match status.code() {
        Code::InvalidArgument | Code::NotFound => Failure::Data(told).into(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => Failure::Unavailable(told).into(),
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_and_plain_http_are_asked() {
        for url in ["unix:/run/s.sock", "unix:///run/s.sock", "unix:s.sock", "http://127.0.0.1:1"] {
            assert!(endpoint(url).is_ok(), "{url}");
        }
        for url in ["", "unix:", "unix://", "https://127.0.0.1:1", "127.0.0.1:1", "http://", "http:// x"] {
            assert!(matches!(endpoint(url), Err(Failure::Usage(_))), "{url}");
        }
    }

    #[test]
    fn a_sidecar_that_is_not_there_is_unavailable() {
        let outcome = Remote::connect("unix:/nowhere/nodesift.sock").map(drop);
        assert_eq!(outcome.map_err(|error| crate::exit::code_of(&error)), Err(crate::exit::UNAVAILABLE));
    }
}
