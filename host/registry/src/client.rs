//! Requests to one registry: who asks, what is refused, and how much is read. Start at [`Client::new`].

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Body, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::challenge::Challenge;
use crate::credentials::{self, Credentials};
use crate::error::RegistryError;
use crate::limits::{ANSWER_BYTES, CHUNK_BYTES, CONNECT, REDIRECTS, SILENCE};
use crate::reference::Address;
use crate::words::{bounded, words};

/// Is told how many bytes of a component have been transferred, and of how many.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Value of the `User-Agent` header of all requests.
const USER_AGENT: &str = concat!("nodesift/", env!("CARGO_PKG_VERSION"));

/// A registry, for one repository.
pub(crate) struct Client {
    http: reqwest::Client,
    /// For tokens: a redirect would take the credentials along, in the body too.
    tokens: reqwest::Client,
    /// Where the redirects of the request at hand have led: an error of it does not say.
    led: Arc<Mutex<Option<Url>>>,
    pub(crate) address: Address,
    /// Actions of the token scope that is requested where the challenge names no scope: `pull`, or `pull,push`.
    actions: &'static str,
    authorization: Option<HeaderValue>,
    credentials: Option<Credentials>,
}

impl Client {
    pub(crate) fn new(address: &Address, actions: &'static str) -> Result<Self, RegistryError> {
        // There may be one already, which is the same.
        let _known = rustls::crypto::ring::default_provider().install_default();
        let client = |policy| {
            let client =
                reqwest::Client::builder().user_agent(USER_AGENT).connect_timeout(CONNECT).read_timeout(SILENCE);
            // A proxy that the environment names cannot reach what is on this machine.
            let client = if address.is_on_this_machine() { client.no_proxy() } else { client };
            client.redirect(policy).build().map_err(|error| RegistryError::Prepare(words_of(&error)))
        };
        let (to, led) = (address.clone(), Arc::<Mutex<Option<Url>>>::default());
        let last = Arc::clone(&led);
        let http = client(Policy::custom(move |attempt| {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(attempt.url().clone());
            redirect(&to, attempt)
        }))?;
        let tokens = client(Policy::none())?;
        Ok(Self { http, tokens, led, address: address.clone(), actions, authorization: None, credentials: None })
    }

    pub(crate) fn registry(&self) -> String {
        self.address.registry().to_owned()
    }

    /// Sends a request, with credentials once the registry asks for them. An answer that is no success is an error.
    pub(crate) async fn send(
        &mut self,
        what: &str,
        request: &(dyn Fn(&reqwest::Client) -> RequestBuilder + Sync),
    ) -> Result<Response, RegistryError> {
        let answer = self.attempt(what, request).await?;
        let answer = match answer.status() {
            // Another server, to which the registry has redirected, gets no credentials, and none are asked for because of it.
            StatusCode::UNAUTHORIZED if self.address.is_own(answer.url()) => {
                self.authorize(&answer).await?;
                self.attempt(what, request).await?
            }
            _ => answer,
        };
        match answer.status().is_success() {
            true => Ok(answer),
            false => {
                let is_own = self.address.is_own(answer.url());
                Err(self.refused(what, answer, is_own).await)
            }
        }
    }

    async fn attempt(
        &self,
        what: &str,
        request: &(dyn Fn(&reqwest::Client) -> RequestBuilder + Sync),
    ) -> Result<Response, RegistryError> {
        let mut request = request(&self.http).build().map_err(|error| self.failed(what, None, &error))?;
        // Uploads may go elsewhere, which does not get what is for the registry.
        let is_own = self.address.is_own(request.url());
        if let Some(authorization) = self.authorization.as_ref().filter(|_| is_own) {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let led = || self.led.lock().unwrap_or_else(PoisonError::into_inner);
        *led() = Some(request.url().clone());
        self.http.execute(request).await.map_err(|error| self.failed(what, led().as_ref(), &error))
    }

    /// Gets what the registry wants with each request.
    async fn authorize(&mut self, refusal: &Response) -> Result<(), RegistryError> {
        let headers = refusal.headers().get_all(WWW_AUTHENTICATE);
        let challenge = Challenge::from_headers(headers.iter().filter_map(|value| value.to_str().ok()));
        let challenge = challenge.ok_or_else(|| RegistryError::Unexpected {
            registry: self.registry(),
            status: 401,
            what: "a request without saying which credentials it wants".to_owned(),
            words: String::new(),
        })?;
        let credentials = match &self.credentials {
            Some(known) => known.clone(),
            None => {
                let (registry, repository) = (self.registry(), self.address.repository().to_owned());
                let found = tokio::task::spawn_blocking(move || credentials::find(&registry, &repository)).await;
                let found = found.map_err(|error| RegistryError::Prepare(error.to_string()))??;
                self.credentials.insert(found).clone()
            }
        };
        let value = match (challenge, credentials) {
            (Challenge::Basic, Credentials::Basic { user, password }) => basic(&user, &password),
            (Challenge::Basic, Credentials::Anonymous | Credentials::Identity(_)) => return Err(self.anonymous()),
            (Challenge::Bearer { realm, service, scope }, credentials) => {
                let scope =
                    scope.unwrap_or_else(|| format!("repository:{}:{}", self.address.repository(), self.actions));
                format!("Bearer {}", self.token(&realm, service.as_deref(), &scope, &credentials).await?)
            }
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| self.malformed("the token", "it is no text"))?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(())
    }

    /// A token of the server at `realm`.
    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        scope: &str,
        credentials: &Credentials,
    ) -> Result<String, RegistryError> {
        const WHAT: &str = "the token";
        let mut url = Url::parse(realm).map_err(|error| self.malformed("the address of tokens", &error.to_string()))?;
        self.check(&url)?;
        let realm = url.clone();
        if !self.address.is_own(&url) && *credentials != Credentials::Anonymous {
            tracing::info!(
                registry = self.registry(),
                tokens = host_and_port(&url),
                "the registry has its tokens from another server, which gets the credentials"
            );
        }
        let mut fields = vec![("scope", scope)];
        fields.extend(service.map(|service| ("service", service)));
        let request = match credentials {
            Credentials::Identity(token) => {
                fields.extend([("grant_type", "refresh_token"), ("client_id", "nodesift"), ("refresh_token", token)]);
                let mut form = url.clone();
                form.query_pairs_mut().clear().extend_pairs(&fields);
                let body = form.query().unwrap_or_default().to_owned();
                self.tokens.post(url).header("content-type", "application/x-www-form-urlencoded").body(body)
            }
            Credentials::Basic { user, password } => {
                url.query_pairs_mut().extend_pairs(&fields).append_pair("account", user);
                self.tokens.get(url).header(AUTHORIZATION, basic(user, password))
            }
            Credentials::Anonymous => {
                url.query_pairs_mut().extend_pairs(&fields);
                self.tokens.get(url)
            }
        };
        let answer = request.send().await.map_err(|error| self.failed(WHAT, Some(&realm), &error))?;
        if !answer.status().is_success() {
            return Err(self.refused(WHAT, answer, true).await);
        }
        let text = self.read(WHAT, answer, ANSWER_BYTES, None).await?;
        let answer: Value = serde_json::from_slice(&text).map_err(|_| self.malformed(WHAT, "it is no JSON"))?;
        // Servers write an empty one beside the one that they mean.
        let mut tokens = ["token", "access_token"].into_iter().filter_map(|name| answer.get(name)?.as_str());
        let token = tokens.find(|token| !token.is_empty()).map(str::to_owned);
        token.ok_or_else(|| self.malformed(WHAT, "neither `token` nor `access_token` is a text there"))
    }

    /// The body of an answer. More than `limit` bytes are an error, and not read.
    pub(crate) async fn read(
        &self,
        what: &str,
        mut answer: Response,
        limit: u64,
        progress: Option<(&Progress, u64)>,
    ) -> Result<Vec<u8>, RegistryError> {
        let too_large = || RegistryError::TooLarge { registry: self.registry(), what: what.to_owned(), limit };
        if answer.content_length().is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let from = answer.url().clone();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.failed(what, Some(&from), &error))? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
            if let Some((progress, total)) = progress {
                progress(bytes.len() as u64, total);
            }
        }
        Ok(bytes)
    }

    /// The address to which an upload goes on.
    pub(crate) fn location(&self, answer: &Response) -> Result<Url, RegistryError> {
        let text = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let url = text.and_then(|text| answer.url().join(text).ok());
        let url = url.ok_or_else(|| self.malformed("the address of uploads", "it is not there"))?;
        self.check(&url).map(|()| url)
    }

    /// Whether a request may go to an address that the registry has named.
    fn check(&self, url: &Url) -> Result<(), RegistryError> {
        if !self.address.lists(url) {
            return Err(self.unlisted(&Unlisted::new(url)));
        }
        self.address.admits(url).map_err(|reason| self.not_asked(url, reason))
    }

    fn not_asked(&self, url: &Url, reason: &'static str) -> RegistryError {
        let to = format!("{}://{}", url.scheme(), host_and_port(url));
        RegistryError::Unsafe { registry: self.registry(), to, reason }
    }

    fn unlisted(&self, Unlisted(host): &Unlisted) -> RegistryError {
        RegistryError::Unlisted { registry: self.registry(), host: host.clone() }
    }

    pub(crate) fn malformed(&self, what: &str, reason: &str) -> RegistryError {
        RegistryError::Malformed { registry: self.registry(), what: what.to_owned(), reason: reason.to_owned() }
    }

    fn anonymous(&self) -> RegistryError {
        RegistryError::Anonymous { registry: self.registry(), repository: self.address.repository().to_owned() }
    }

    /// A request without an answer, which has led to `asked`.
    fn failed(&self, what: &str, asked: Option<&Url>, error: &reqwest::Error) -> RegistryError {
        let (registry, what) = (self.registry(), what.to_owned());
        let other = asked.filter(|url| !self.address.is_own(url)).map(host_and_port);
        match () {
            () if let Some(unlisted) = cause_of(error) => self.unlisted(unlisted),
            () if let (Some(NotAsked(reason)), Some(url)) = (cause_of(error), asked) => self.not_asked(url, reason),
            () if error.is_builder() => RegistryError::Prepare(words_of(error)),
            // Words about its certificate would say what it is.
            () if let Some(host) = other => {
                let fault = match () {
                    () if error.is_connect() => "cannot be reached".to_owned(),
                    () if error.is_timeout() => format!("has not answered for {} s", SILENCE.as_secs()),
                    () => format!("ended the connection before all of {what} was there"),
                };
                RegistryError::Elsewhere { registry, host, fault, is_passing: true }
            }
            () if error.is_connect() => {
                let scheme = asked.map_or("https", Url::scheme);
                let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
                // Of a proxy that does not answer, the words of the error do not say that it is one.
                let proxy = proxy_of(scheme, is_set).filter(|_| !self.address.is_on_this_machine());
                let proxy =
                    proxy.map(|name| format!(" (through the proxy that {name} names, unless NO_PROXY exempts it)"));
                RegistryError::Unreachable { registry, reason: words_of(error) + &proxy.unwrap_or_default() }
            }
            () if error.is_timeout() => RegistryError::Silent { registry },
            () => RegistryError::Cut { registry, what },
        }
    }

    /// An answer that is no success. `has_credentials` says whether whoever answers is one that gets them.
    async fn refused(&self, what: &str, answer: Response, has_credentials: bool) -> RegistryError {
        let (registry, repository) = (self.registry(), self.address.repository().to_owned());
        let (status, what) = (answer.status().as_u16(), what.to_owned());
        let wait = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
        let (is_own, host) = (self.address.is_own(answer.url()), host_and_port(answer.url()));
        let body = self.read(&what, answer, ANSWER_BYTES, None).await.unwrap_or_default();
        // Of what another server says nothing is repeated: whoever wrote the policy may not be allowed to ask it.
        let words = if is_own { words(&body) } else { String::new() };
        match status {
            401 if has_credentials
                && self.credentials.as_ref().is_some_and(|known| *known != Credentials::Anonymous) =>
            {
                RegistryError::Credentials { registry }
            }
            401 if has_credentials => RegistryError::Anonymous { registry, repository },
            403 if has_credentials => RegistryError::Forbidden { registry, repository, words },
            _ if !is_own && (status != 404 || has_credentials) => {
                let is_passing = matches!(status, 429 | 500 | 502..);
                RegistryError::Elsewhere { registry, host, fault: format!("answered with status {status}"), is_passing }
            }
            404 => RegistryError::Missing { registry, what },
            429 => {
                let wait = wait.map(|seconds| format!(", and wants a pause of {seconds} s")).unwrap_or_default();
                RegistryError::Busy { registry, words: wait + &words }
            }
            500.. => RegistryError::Failed { registry, status, words },
            _ => RegistryError::Unexpected { registry, status, what, words },
        }
    }
}

/// A body that reports its progress.
pub(crate) fn upload(request: RequestBuilder, bytes: &Bytes, progress: Option<&Progress>) -> RequestBuilder {
    let (bytes, progress, total) = (bytes.clone(), progress.cloned(), bytes.len());
    let chunks = (0..total).step_by(CHUNK_BYTES).map(move |start| {
        let end = (start + CHUNK_BYTES).min(total);
        if let Some(progress) = &progress {
            progress(end as u64, total as u64);
        }
        Ok::<_, std::io::Error>(bytes.slice(start..end))
    });
    request.header(CONTENT_LENGTH, total).body(Body::wrap_stream(stream::iter(chunks)))
}

/// Follows a few redirects, none from TLS to plain HTTP, and none to where the registry must not send anybody.
fn redirect(address: &Address, attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if !address.lists(attempt.url()) {
        let to = Unlisted::new(attempt.url());
        return attempt.error(to);
    }
    if let Err(reason) = address.admits(attempt.url()) {
        return attempt.error(NotAsked(reason));
    }
    let was_safe = attempt.previous().iter().any(|url| url.scheme() == "https");
    if was_safe && attempt.url().scheme() != "https" {
        return attempt.error(NotAsked("it has no TLS, and what led there has"));
    }
    match attempt.previous().len() > REDIRECTS {
        true => attempt.error(NotAsked("it is one redirect too many")),
        false => attempt.follow(),
    }
}

/// A host that is not connected to.
#[derive(Debug, thiserror::Error)]
#[error("not to {0}")]
struct Unlisted(String);

impl Unlisted {
    fn new(url: &Url) -> Self {
        Self(host_and_port(url))
    }
}

fn host_and_port(url: &Url) -> String {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port());
    let host = bounded(host);
    port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

/// Why a redirect is not followed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotAsked(&'static str);

/// The error of this kind that a redirect has ended with.
fn cause_of<E: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    let mut cause = std::error::Error::source(error);
    while let Some(this) = cause {
        if let Some(found) = this.downcast_ref() {
            return Some(found);
        }
        cause = this.source();
    }
    None
}

/// The variable of the environment that names a proxy for a scheme.
fn proxy_of(scheme: &str, is_set: impl Fn(&str) -> bool) -> Option<&'static str> {
    let own = if scheme == "https" { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    own.into_iter().chain(["ALL_PROXY", "all_proxy"]).find(|name| is_set(name))
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// The last cause of an error: the words of those above are about what was done.
fn words_of(error: &reqwest::Error) -> String {
    let mut last: &(dyn std::error::Error + 'static) = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::env;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Answers one request, and returns its head.
    fn answer_one(listener: &TcpListener) -> String {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        String::from_utf8_lossy(&head).into_owned()
    }

    /// The environment cannot be changed within a process: the test runs itself in another one, which has a proxy.
    #[test]
    fn a_registry_on_this_machine_is_asked_without_the_proxy_of_the_environment_and_others_through_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let Ok(registry) = env::var("NODESIFT_TEST_REGISTRY") else {
            let test = thread::current().name().unwrap().to_owned();
            let own = listener.local_addr().unwrap();
            // What listens there is at once the proxy for other registries and the registry on this machine.
            let run = |registry: &str, proxy: &str| {
                let mut command = Command::new(env::current_exe().unwrap());
                command.args(["--exact", &test]).env_remove("NO_PROXY").env_remove("no_proxy");
                command.env("NODESIFT_TEST_REGISTRY", registry).env("HTTP_PROXY", proxy);
                let child = command.spawn().unwrap();
                let head = answer_one(&listener);
                assert!(child.wait_with_output().unwrap().status.success(), "{registry}");
                head
            };
            assert!(run(&own.to_string(), "http://127.0.0.1:1").starts_with("GET /v2/a/tags/list "));
            assert!(run("registry.invalid", &format!("http://{own}")).starts_with("GET http://registry.invalid/v2/a/"));
            return;
        };
        let address = Address::parse(&format!("{registry}/a:1"), true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut client = Client::new(&address, "pull").unwrap();
        let url = address.url("tags", "list");
        assert!(runtime.block_on(client.send("lists tags", &|http| http.get(url.clone()))).is_ok());
    }

    #[test]
    fn the_proxy_of_a_scheme_is_named() {
        assert_eq!(proxy_of("https", |name| name == "https_proxy"), Some("https_proxy"));
        assert_eq!(proxy_of("http", |name| name == "HTTPS_PROXY"), None);
        assert_eq!(proxy_of("http", |name| name == "ALL_PROXY"), Some("ALL_PROXY"));
    }
}
