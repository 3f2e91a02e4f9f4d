//! The explorer: a page for people who ask why a pod is pending, on a listener of its own.
//!
//! ```text
//! assets      files of the page, with their types, versions and compressed forms
//! headers     headers of every answer: what a browser may do with it
//! ```
//!
//! It serves the files, the calls that read, and the GETs of operators. Nothing that decides, attends or speaks gRPC is there, so a
//! script that got into the page could place nothing. Start at [`router`].

pub mod assets;
mod headers;

use axum::Router;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::get;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate as _};

use crate::access::Access;
use crate::middleware::{Middleware, apply};
use crate::paths::{Call, Class, Http, Paths};
use crate::router::wrong_method;
use crate::routes::{ROUTES, Route};
use crate::{BodyLimit, Error, Service, limits};
use assets::{Asset, INDEX};

/// Path of the page, beside that of its file.
const PAGE: &str = "/";

/// Prefix of the paths of kube-scheduler's extender: a core that asks.
const EXTENDER: &str = "/extender/";

/// Calls of no class that the page makes: what it may do, what runs there, and whether that answers.
const PROBES: [&str; 3] = ["Access", "Version", "Readyz"];

/// All that the listener of the explorer serves, with the files of the page; without any, a page that says what is missing. Nobody
/// decides or attends there, whatever `access` says.
pub fn router(service: Service, access: Access, assets: &'static [Asset]) -> Router {
    let access = Access { rights: access.rights.reading_alone(), ..access };
    let calls = || ROUTES.iter().filter(|route| is_served(&route.call()));
    let paths: Paths = calls().map(|route| Call { grpc: None, ..route.call() }).chain(files(assets)).collect();
    let middleware = Middleware::new(
        paths.clone(),
        access,
        BodyLimit(limits::EXPLORER_BODY_BYTES),
        service.settings().request_time,
        service.metrics().clone(),
    );
    let help = paths.help();
    let served =
        calls().filter_map(Route::over_http).fold(Router::new(), |router, (path, handler)| router.route(path, handler));
    let served = assets.iter().fold(served, |router, asset| {
        router.route(asset.path, get(async move |headers: HeaderMap| asset.answer(&headers)))
    });
    let page = assets.iter().find(|asset| asset.path == INDEX);
    let served = served.route(
        PAGE,
        get(async move |headers: HeaderMap| match page {
            Some(page) => page.answer(&headers),
            None => assets::missing(),
        }),
    );
    // A stream of events would wait in the compressor until it is full.
    let compressed = DefaultPredicate::new().and(NotForContentType::const_new("application/x-ndjson"));
    served
        .fallback(async move |uri: Uri| Error::UnknownPath { path: uri.path().to_owned(), help })
        .method_not_allowed_fallback(wrong_method)
        .with_state(service)
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(compressed))
        .layer(from_fn_with_state(middleware, apply))
        .layer(map_response(headers::add))
}

/// Whether a call of the table is served here.
fn is_served(call: &Call) -> bool {
    let Some(http) = call.http else { return false };
    match call.class {
        Class::Read => !http.path.starts_with(EXTENDER),
        Class::Operate => http.method == Method::GET.as_str(),
        Class::Probe => PROBES.contains(&call.name),
        Class::Page | Class::Decide | Class::Attend => false,
    }
}

/// The files of the page, as calls that need no right and no room.
fn files(assets: &'static [Asset]) -> impl Iterator<Item = Call> {
    let file = |name, class, path| {
        let http = Http { method: "GET", path, is_probe: true };
        Call { name, class, grpc: None, http: Some(http) }
    };
    let assets = assets.iter().map(move |asset| match asset.path {
        INDEX => file("Page", Class::Page, INDEX),
        path => file("Asset", Class::Probe, path),
    });
    [file("Page", Class::Page, PAGE)].into_iter().chain(assets)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::{StatusCode, header};
    use axum::response::Response;
    use nodesift_edge::Peer;
    use tower::ServiceExt as _;

    use super::*;
    use crate::access::Rights;
    use crate::calls::testing::idle;
    use crate::paths::is_name;

    static FILES: [Asset; 2] = [
        Asset {
            path: INDEX,
            media_type: "text/html",
            plain: b"the page",
            gzipped: b"",
            etag: "\"1\"",
            is_hashed: false,
        },
        Asset {
            path: "/assets/page-1.js",
            media_type: "text/javascript",
            plain: b"",
            gzipped: b"",
            etag: "\"2\"",
            is_hashed: true,
        },
    ];

    async fn ask(router: &Router, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if method == "POST" { "{}" } else { "" };
        let peer = Peer { is_explorer: true, ..Peer::default() };
        router.clone().oneshot(request.extension(peer).body(Body::from(body)).unwrap()).await.unwrap()
    }

    fn with(files: &'static [Asset]) -> Router {
        router(idle(), Access::default(), files)
    }

    /// A path with a name in the place of each segment in braces.
    fn named(path: &str) -> String {
        path.split('/').map(|segment| if is_name(segment) { "n" } else { segment }).collect::<Vec<_>>().join("/")
    }

    #[tokio::test]
    async fn of_the_table_it_has_what_reads_and_nothing_that_decides_or_is_a_cores() {
        let router = with(&FILES);
        for route in ROUTES {
            let call = route.call();
            for (method, path, media_type) in [
                call.http.map(|http| (http.method, named(http.path), "application/json")),
                call.grpc.map(|grpc| ("POST", format!("{}{}", grpc.service, call.name), "application/grpc")),
            ]
            .into_iter()
            .flatten()
            {
                let answer = ask(&router, method, &path, &[("content-type", media_type)]).await;
                let is_grpc = media_type == "application/grpc";
                let expected = !is_grpc && (is_served(&call) || path == PAGE);
                // A stream of events has no end.
                let is_answered = answer.status().is_success();
                let body = if is_answered { Body::empty() } else { answer.into_body() };
                let text = axum::body::to_bytes(body, 1 << 16).await.unwrap();
                let is_absent = String::from_utf8_lossy(&text).contains("there is nothing at");
                assert_eq!(!is_absent, expected, "{method} {path}");
                let must_be_absent = matches!(call.class, Class::Decide | Class::Attend) || path.starts_with(EXTENDER);
                assert!(is_absent || !must_be_absent, "{method} {path}");
            }
        }
    }

    #[tokio::test]
    async fn every_answer_says_what_a_browser_may_do_with_it_and_none_is_shared_with_other_origins() {
        let router = with(&FILES);
        let cross_site = [("sec-fetch-site", "cross-site")];
        for (method, path, headers, status) in [
            ("GET", "/", &[][..], StatusCode::OK),
            ("GET", "/assets/page-1.js", &[][..], StatusCode::OK),
            ("GET", "/v1/access", &[][..], StatusCode::OK),
            ("GET", "/v1/nodes", &cross_site[..], StatusCode::FORBIDDEN),
            ("GET", "/nothing", &[][..], StatusCode::NOT_FOUND),
            ("PUT", "/", &[][..], StatusCode::METHOD_NOT_ALLOWED),
            ("OPTIONS", "/v1/nodes", &[("origin", "http://localhost")][..], StatusCode::METHOD_NOT_ALLOWED),
        ] {
            let answer = ask(&router, method, path, headers).await;
            assert_eq!(answer.status(), status, "{method} {path}");
            let headers = answer.headers();
            let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            for part in ["default-src 'none'", "frame-ancestors 'none'", "trusted-types 'none'", "form-action 'none'"] {
                assert!(policy.contains(part), "{policy}");
            }
            assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
            assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
            assert_eq!(headers[header::REFERRER_POLICY], "no-referrer");
            assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
            assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
            let stored = headers[header::CACHE_CONTROL].to_str().unwrap();
            assert_eq!(
                stored == "no-store",
                !FILES.iter().any(|file| file.path == path) && path != PAGE || method == "PUT"
            );
            assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN), "{method} {path}");
            assert!(!headers.contains_key(header::SET_COOKIE), "{method} {path}");
        }
    }

    #[tokio::test]
    async fn answers_are_compressed_for_those_who_take_them_so() {
        let router = with(&FILES);
        let coded = async |headers: &[(&str, &str)]| {
            let answer = ask(&router, "GET", "/v1/access", headers).await;
            answer.headers().get(header::CONTENT_ENCODING).map(|coding| coding.to_str().unwrap().to_owned())
        };
        assert_eq!(coded(&[("accept-encoding", "gzip, br")]).await.as_deref(), Some("gzip"));
        assert_eq!(coded(&[("accept-encoding", "br")]).await, None);
        assert_eq!(coded(&[]).await, None);
    }

    #[tokio::test]
    async fn a_document_that_is_sent_while_it_is_encoded_ends_compressed_too() {
        let answer = ask(&with(&FILES), "GET", "/v1/state", &[("accept-encoding", "gzip")]).await;
        assert_eq!(answer.headers()[header::CONTENT_ENCODING], "gzip");
        // The compressor asks for trailers after the end of the document.
        let text = axum::body::to_bytes(answer.into_body(), 1 << 16).await.unwrap();
        assert!(text.starts_with(&[0x1f, 0x8b]), "{text:?}");
    }

    #[tokio::test]
    async fn whoever_opens_the_page_may_not_decide() {
        let access = Access { rights: Rights::default(), ..Access::default() };
        let router = router(idle(), access, &FILES);
        let answer = ask(&router, "GET", "/v1/access", &[]).await;
        let text = axum::body::to_bytes(answer.into_body(), 1 << 16).await.unwrap();
        let access: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(access["classes"], serde_json::json!(["probe", "read", "operate"]));
        assert_eq!(access["listener"], "explorer");
    }

    #[tokio::test]
    async fn a_program_without_the_page_says_how_to_get_it() {
        let answer = ask(&with(&[]), "GET", "/", &[]).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let text = axum::body::to_bytes(answer.into_body(), 1 << 16).await.unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("make explorer") && !text.contains("<script") && !text.contains("style"), "{text}");
    }
}
