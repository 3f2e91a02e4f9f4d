//! The API server: traits of its requests, so that everything above it can be tested against a script, and their implementation over
//! kube's client, which brings configuration, credentials and TLS.

use std::error::Error;
use std::iter::successors;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, Stream};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::request::Builder;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use tokio::time::timeout;

use super::connector::Connector;
use super::failure::{Failure, plain};
use super::transport;
use crate::limits::{
    KUBE_REFUSAL_BYTES, LIST_PAGE_BYTES, LIST_PAGE_TIME, OBJECT_ANSWER_BYTES, STATUS_ANSWER_BYTES, VERSION_BYTES,
    VERSION_TIME,
};

/// The two requests that read from an API server.
pub trait Server: Send + Sync + 'static {
    /// The body of a watch, in chunks.
    type Chunks: Stream<Item = Result<Bytes, Failure>> + Send + Unpin;

    /// Reads one page of a list, whole. `uri` is path and query.
    ///
    /// # Errors
    ///
    /// A refusal, a broken connection, or a page that exceeds its limits of size or time.
    fn list_page(&self, uri: &str) -> impl Future<Output = Result<Bytes, Failure>> + Send;

    /// Opens a watch. `uri` is path and query; timeouts are up to the caller.
    ///
    /// # Errors
    ///
    /// A refusal or a broken connection.
    fn watch(&self, uri: &str) -> impl Future<Output = Result<Self::Chunks, Failure>> + Send;

    /// Has the next requests use a new connection, where there is one: behind one address may be several servers.
    fn reconnect(&self) {}
}

/// The request that writes fields of an object.
pub trait Apply: Send + Sync + 'static {
    /// Applies fields of an object on the server. `uri` is path and query; timeouts are up to the caller.
    ///
    /// # Errors
    ///
    /// A refusal or a broken connection.
    fn apply(&self, uri: &str, body: &str) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Verb of a request about one object, as RBAC names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Reads the object; its body is empty.
    Get,
    /// Makes the object, at the path of its kind.
    Create,
    /// Replaces the object, if it has the `metadata.resourceVersion` of the body.
    Update,
    /// Deletes the object, if it fits the preconditions of the body, which is a `DeleteOptions`.
    Delete,
}

/// Requests about whole objects.
pub trait Objects: Send + Sync + 'static {
    /// Sends one request, and returns what the server answers: the object as it is now, or a `Status`. `uri` is path and query; timeouts
    /// are up to the caller.
    ///
    /// # Errors
    ///
    /// A refusal or a broken connection.
    fn request(&self, verb: Verb, uri: &str, body: &str) -> impl Future<Output = Result<Bytes, Failure>> + Send;
}

/// An API server behind kube's client; clones share it.
#[derive(Clone)]
pub struct ApiServer {
    connector: Arc<Connector>,
}

impl ApiServer {
    pub(super) fn new(connector: Connector) -> Self {
        Self { connector: Arc::new(connector) }
    }

    /// Reads the answer to `GET /version`, whole.
    ///
    /// # Errors
    ///
    /// A refusal, a broken connection, or an answer that exceeds its limits of size or time.
    pub async fn version(&self) -> Result<Bytes, Failure> {
        let answer = async {
            let body = Limited::new(self.get("/version").await?.into_body(), VERSION_BYTES);
            let whole = body.collect().await.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => Failure::Malformed(format!("an answer of more than {} KiB", VERSION_BYTES >> 10)),
                None => Failure::Transport(chain(&*error)),
            })?;
            Ok(whole.to_bytes())
        };
        timeout(VERSION_TIME, answer).await.unwrap_or(Err(Failure::Silent(VERSION_TIME)))
    }

    async fn get(&self, uri: &str) -> Result<Response<Body>, Failure> {
        self.send(Request::get(uri), Body::empty()).await
    }

    async fn send(&self, request: Builder, body: Body) -> Result<Response<Body>, Failure> {
        let request = request
            .header(ACCEPT, "application/json")
            .body(body)
            .map_err(|error| Failure::Transport(error.to_string()))?;
        let client = self.connector.client().await;
        let response = client.send(request).await.map_err(|error| match error {
            kube::Error::Service(inner) => unanswered(&*inner),
            error => unanswered(&error),
        })?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.connector.refused();
        }
        let is_done = matches!(response.status(), StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED);
        if is_done { Ok(response) } else { Err(refusal(response).await) }
    }
}

impl Server for ApiServer {
    type Chunks = BoxStream<'static, Result<Bytes, Failure>>;

    async fn list_page(&self, uri: &str) -> Result<Bytes, Failure> {
        let page = async {
            let body = Limited::new(self.get(uri).await?.into_body(), LIST_PAGE_BYTES);
            let whole = body.collect().await.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => Failure::Malformed(format!("a page of more than {} MiB", LIST_PAGE_BYTES >> 20)),
                None => Failure::Transport(chain(&*error)),
            })?;
            Ok(whole.to_bytes())
        };
        timeout(LIST_PAGE_TIME, page).await.unwrap_or(Err(Failure::Silent(LIST_PAGE_TIME)))
    }

    async fn watch(&self, uri: &str) -> Result<Self::Chunks, Failure> {
        let body = self.get(uri).await?.into_body();
        Ok(body.into_data_stream().map(|chunk| chunk.map_err(|error| Failure::Transport(chain(&error)))).boxed())
    }

    fn reconnect(&self) {
        // A client that is made anew opens a connection of its own.
        self.connector.refused();
    }
}

impl Apply for ApiServer {
    async fn apply(&self, uri: &str, body: &str) -> Result<(), Failure> {
        // JSON is YAML.
        let request = Request::patch(uri).header(CONTENT_TYPE, "application/apply-patch+yaml");
        let response = self.send(request, Body::from(body.as_bytes().to_vec())).await?;
        // Read to its end, so that the connection is used again.
        let read = Limited::new(response.into_body(), STATUS_ANSWER_BYTES).collect().await;
        read.map(drop).map_err(|error| Failure::Transport(chain(&*error)))
    }
}

impl Objects for ApiServer {
    async fn request(&self, verb: Verb, uri: &str, body: &str) -> Result<Bytes, Failure> {
        let method = match verb {
            Verb::Get => Method::GET,
            Verb::Create => Method::POST,
            Verb::Update => Method::PUT,
            Verb::Delete => Method::DELETE,
        };
        let request = Request::builder().method(method).uri(uri).header(CONTENT_TYPE, "application/json");
        let body = if body.is_empty() { Body::empty() } else { Body::from(body.as_bytes().to_vec()) };
        let response = self.send(request, body).await?;
        let read = Limited::new(response.into_body(), OBJECT_ANSWER_BYTES).collect().await;
        read.map(|whole| whole.to_bytes()).map_err(|error| Failure::Transport(chain(&*error)))
    }
}

/// The failure behind a response that is none of success. A body that does not arrive soon is not waited for.
async fn refusal(response: Response<Body>) -> Failure {
    const BODY_TIMEOUT: Duration = Duration::from_secs(5);
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = timeout(BODY_TIMEOUT, Limited::new(response.into_body(), KUBE_REFUSAL_BYTES).collect()).await;
    let body = body.ok().and_then(Result::ok).map(|body| body.to_bytes()).unwrap_or_default();
    Failure::from_status(status, retry_after.as_deref(), &body)
}

/// The failure behind a request without a response.
fn unanswered(error: &(dyn Error + 'static)) -> Failure {
    let is_slow = successors(Some(error), |&error| error.source()).any(transport::is_slow);
    if is_slow { Failure::Slow(chain(error)) } else { Failure::Transport(chain(error)) }
}

/// An error and its sources in one line, without sources whose text is quoted already.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(if line.is_empty() { "" } else { ": " });
            line.push_str(&text);
        }
        next = error.source();
    }
    plain(&line)
}
