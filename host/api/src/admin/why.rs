//! `/v1/why` over HTTP: a request in JSON, a manifest in YAML, or a pod of the cache by its name. Start at [`why`].

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use nodesift_edge::body_buffer;
use nodesift_proto::v1::{self, PodName, WhyRequest, pod};

use super::query::{parameters, unescaped};
use crate::admission::scope::RequestScope;
use crate::calls::driver::Stage;
use crate::calls::why::{self, Why};
use crate::protocols::document::Encoded;
use crate::protocols::json::{media_type, message, stage};
use crate::{Error, Service};

/// Answers POST /v1/why: a request in JSON, or a manifest, whose query has what the request of JSON has beside it.
pub(crate) async fn why(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Error> {
    if !media_type::is_yaml(&headers) {
        if query.is_some_and(|query| !query.is_empty()) {
            return Err(Error::invalid("query", "takes effect with a manifest only: set fields of the request"));
        }
        let stage = stage::<Why>(&scope, &headers, body).await?;
        return answer(service, scope, stage).await;
    }
    media_type::check_accept(&headers)?;
    scope.until_read().await?;
    let query = unescaped(query)?;
    let wanted = Wanted::try_new(query.as_deref())?;
    if wanted.pod.is_some() {
        return Err(Error::invalid("query", "give either pod or a manifest, not both"));
    }
    let body = body_buffer::read(body).await?;
    let manifest = std::str::from_utf8(&body).map_err(|_| Error::invalid("manifest", "is no UTF-8"))?.to_owned();
    if manifest.is_empty() {
        return Err(Error::invalid("manifest", "is empty"));
    }
    scope.pend()?;
    answer(service, scope, Stage::Decoded(WhyRequest { manifest, ..wanted.request() })).await
}

/// Answers GET /v1/why?pod=NAMESPACE/NAME, about a pod of the cache.
pub(crate) async fn why_of_pod(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    media_type::check_accept(&headers)?;
    scope.until_read().await?;
    let query = unescaped(query)?;
    let wanted = Wanted::try_new(query.as_deref())?;
    let Some(pod) = wanted.pod else {
        return Err(Error::invalid("query", "give pod=NAMESPACE/NAME"));
    };
    let (namespace, name) = pod.split_once('/').unwrap_or(("", pod));
    let name = PodName { namespace: namespace.to_owned(), name: name.to_owned() };
    let request = WhyRequest { pod: Some(v1::Pod::from(pod::Pod::Name(name))), ..wanted.request() };
    answer(service, scope, Stage::Decoded(request)).await
}

async fn answer(service: Service, scope: RequestScope, stage: Stage<Why>) -> Result<Response, Error> {
    let unsent = scope.unsent.clone();
    why::run(&service, scope, stage, |explained| message::document(&explained.response).map(Encoded::new))
        .await?
        .respond(unsent.as_ref())
}

/// The parameters of a query.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted<'a> {
    pod: Option<&'a str>,
    by: &'a str,
    nearest: Option<u32>,
    cells: bool,
    help: bool,
}

impl<'a> Wanted<'a> {
    fn try_new(query: Option<&'a str>) -> Result<Self, Error> {
        let [pod, by, nearest, cells, help] = parameters(query, ["pod", "by", "nearest", "cells", "help"])?;
        let nearest =
            nearest.map(|most| most.parse().map_err(|_| Error::invalid("query", "nearest is a number of nodes")));
        let flag = |name: &str, value: Option<&str>| match value {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Error::invalid("query", format!("{name} is true or false"))),
        };
        Ok(Self {
            pod,
            by: by.unwrap_or_default(),
            nearest: nearest.transpose()?,
            cells: flag("cells", cells)?,
            help: flag("help", help)?,
        })
    }

    fn request(&self) -> WhyRequest {
        let Self { by, nearest, cells, help, .. } = *self;
        WhyRequest { by: by.to_owned(), nearest, cells, help, ..WhyRequest::default() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_query_names_what_is_wanted() {
        let wanted = Wanted::try_new(Some("pod=a/b&by=topology.kubernetes.io/zone&nearest=3&cells=true")).unwrap();
        let expected =
            Wanted { pod: Some("a/b"), by: "topology.kubernetes.io/zone", nearest: Some(3), cells: true, help: false };
        assert_eq!(wanted, expected);
        assert_eq!(Wanted::try_new(None).unwrap(), Wanted::default());
    }

    #[test]
    fn parameters_that_are_wrong_are_refused() {
        for query in ["nods=1", "pod=a&pod=b", "nearest=-1", "nearest=x", "cells=yes", "help=", "by"] {
            assert!(Wanted::try_new(Some(query)).is_err(), "{query}");
        }
    }
}
