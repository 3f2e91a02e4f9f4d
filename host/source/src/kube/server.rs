//! The API server as it is asked here: a trait of two methods, so that everything above it can be tested against a
//! script, and its one implementation over kube's client, which brings configuration, credentials and TLS.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, Stream};
use http::header::{ACCEPT, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use tokio::time::timeout;

use super::failure::{Failure, plain};
use crate::limits::{KUBE_REFUSAL_BYTES, LIST_PAGE_BYTES, LIST_PAGE_TIME};

/// What an API server is asked.
pub trait Server: Send + Sync + 'static {
    /// The bytes of a watch as they come.
    type Chunks: Stream<Item = Result<Bytes, Failure>> + Send + Unpin;

    /// Reads one page of a list, whole.
    fn list_page(&self, uri: &str) -> impl Future<Output = Result<Bytes, Failure>> + Send;

    /// Opens a watch. Whoever reads it decides how long silence may last.
    fn watch(&self, uri: &str) -> impl Future<Output = Result<Self::Chunks, Failure>> + Send;
}

/// An API server behind kube's client.
#[derive(Clone)]
pub struct ApiServer {
    client: kube::Client,
}

impl ApiServer {
    /// A server that is asked through a client.
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    async fn get(&self, uri: &str) -> Result<Response<Body>, Failure> {
        let request = Request::get(uri)
            .header(ACCEPT, "application/json")
            .body(Body::empty())
            .map_err(|error| Failure::Transport(error.to_string()))?;
        let response = self.client.send(request).await.map_err(|error| match error {
            kube::Error::Service(inner) => Failure::Transport(chain(&*inner)),
            error => Failure::Transport(chain(&error)),
        })?;
        if response.status() == StatusCode::OK { Ok(response) } else { Err(refusal(response).await) }
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
}

/// Reads what a server says instead of an answer. Words that do not come soon are done without.
async fn refusal(response: Response<Body>) -> Failure {
    const PATIENCE: Duration = Duration::from_secs(5);
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = timeout(PATIENCE, Limited::new(response.into_body(), KUBE_REFUSAL_BYTES).collect()).await;
    let body = body.ok().and_then(Result::ok).map(|body| body.to_bytes()).unwrap_or_default();
    Failure::of_status(status, retry_after.as_deref(), &body)
}

/// An error with its causes in one line; what a cause says is left out where its wrapper has quoted it already.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut told = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !told.contains(&text) {
            told.push_str(if told.is_empty() { "" } else { ": " });
            told.push_str(&text);
        }
        next = error.source();
    }
    plain(&told)
}
