//! A client of the API server with administrator rights: JSON requests, and lists page by page like kubectl.
//!
//! Only the connection of kube-rs is used; callers interpret objects and errors.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Method, Request};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use nodesift_fixtures::json::{list, text};
use serde_json::{Value, json};

/// Objects per page, as in kubectl.
const PAGE: u32 = 500;

/// Maximum number of concurrent requests.
pub(crate) const AT_ONCE: usize = 8;

/// Timeout of a request, for example to a killed server.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Client of the API server with administrator rights.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
}

/// Response of the API server.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// HTTP status code of the response.
    pub(crate) status: u16,
    /// The body; a string where it is not JSON.
    pub(crate) body: Value,
}

impl Reply {
    /// Whether the request succeeded.
    pub(crate) fn is_done(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Write request to the API server.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    /// POST, PATCH (a merge patch, or an apply where the path names a field manager) or DELETE.
    pub(crate) method: Method,
    /// The path of the object, or of its collection.
    pub(crate) path: String,
    /// The object, the patch, or the options.
    pub(crate) body: Value,
}

impl Write {
    /// Creates an object in a collection.
    pub(crate) fn create(collection: impl Into<String>, object: Value) -> Self {
        Self { method: Method::POST, path: collection.into(), body: object }
    }

    /// Merges a patch into an object.
    pub(crate) fn patch(path: impl Into<String>, patch: Value) -> Self {
        Self { method: Method::PATCH, path: path.into(), body: patch }
    }

    /// Deletes an object; `None` means its own grace period.
    pub(crate) fn delete(path: impl Into<String>, grace_seconds: Option<u32>) -> Self {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if let Some(grace) = grace_seconds {
            options["gracePeriodSeconds"] = json!(grace);
        }
        Self { method: Method::DELETE, path: path.into(), body: options }
    }
}

/// All objects of a kind.
#[derive(Debug, Clone)]
pub(crate) struct List {
    /// Each with its `apiVersion` and `kind`.
    pub(crate) items: Vec<Value>,
    /// `metadata.resourceVersion` of the list.
    pub(crate) version: String,
}

impl Api {
    /// A client as a kubeconfig describes it.
    pub(crate) async fn connect(kubeconfig: &Path) -> anyhow::Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).context("the kubeconfig cannot be read")?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.connect_timeout = Some(TIMEOUT);
        config.read_timeout = Some(TIMEOUT);
        Ok(Self { client: Client::try_from(config)? })
    }

    /// Sends a GET request.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Reply> {
        self.send(Request::get(path).body(Body::empty())?).await
    }

    /// Sends a GET request for the table that `kubectl get` prints.
    pub(crate) async fn table(&self, path: &str) -> anyhow::Result<Reply> {
        let request = Request::get(path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        self.send(request.body(Body::empty())?).await
    }

    /// Sends a write request.
    pub(crate) async fn write(&self, write: &Write) -> anyhow::Result<Reply> {
        let kind = match write.method == Method::PATCH {
            true if write.path.contains("fieldManager=") => "application/apply-patch+yaml",
            true => "application/merge-patch+json",
            false => "application/json",
        };
        let request = Request::builder().method(&write.method).uri(&write.path).header("content-type", kind);
        self.send(request.body(Body::from(write.body.to_string().into_bytes()))?).await
    }

    /// Sends a write request that must succeed.
    pub(crate) async fn done(&self, write: &Write) -> anyhow::Result<Value> {
        let reply = self.write(write).await?;
        ensure!(reply.is_done(), "{} {}: {} {}", write.method, write.path, reply.status, text(&reply.body, "message"));
        Ok(reply.body)
    }

    /// Sends write requests that must succeed, several at the same time, in any order.
    pub(crate) async fn done_all(&self, writes: Vec<Write>) -> anyhow::Result<()> {
        let mut replies =
            stream::iter(writes).map(|write| async move { self.done(&write).await }).buffer_unordered(AT_ONCE);
        while let Some(reply) = replies.next().await {
            reply?;
        }
        Ok(())
    }

    /// Lists all objects of a collection.
    pub(crate) async fn list(&self, collection: &str) -> anyhow::Result<List> {
        let (mut items, mut token) = (Vec::new(), String::new());
        loop {
            let more = if token.is_empty() { String::new() } else { format!("&continue={token}") };
            let reply = self.get(&format!("{collection}?limit={PAGE}{more}")).await?;
            ensure!(reply.status == 200, "{collection}: {} {}", reply.status, text(&reply.body, "message"));
            let version = text(&reply.body, "apiVersion").to_owned();
            let kind = text(&reply.body, "kind").strip_suffix("List").context("not a list")?.to_owned();
            for item in list(&reply.body, "items") {
                let mut item = item.clone();
                // The items of a list lack `apiVersion` and `kind`.
                item["apiVersion"] = json!(version);
                item["kind"] = json!(kind);
                items.push(item);
            }
            token = text(&reply.body, "metadata.continue").to_owned();
            if token.is_empty() {
                return Ok(List { items, version: text(&reply.body, "metadata.resourceVersion").to_owned() });
            }
        }
    }

    /// The reply to a watch of a collection from a version: the status code, and the type and code of the first event where it
    /// is an error.
    pub(crate) async fn watch_refusal(&self, collection: &str, version: &str) -> anyhow::Result<Option<u64>> {
        let path = format!("{collection}?watch=true&resourceVersion={version}&timeoutSeconds=1");
        let reply = self.get(&path).await?;
        if reply.status != 200 {
            return Ok(Some(u64::from(reply.status)));
        }
        let first = match &reply.body {
            Value::String(lines) => {
                serde_json::from_str(lines.lines().next().unwrap_or_default()).unwrap_or(Value::Null)
            }
            event => event.clone(),
        };
        Ok((text(&first, "type") == "ERROR").then(|| first["object"]["code"].as_u64()).flatten())
    }

    async fn send(&self, request: Request<Body>) -> anyhow::Result<Reply> {
        let response = self.client.send(request).await?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await?;
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
        Ok(Reply { status, body })
    }
}
