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
    let served = assets
        .iter()
        .fold(served, |router, asset| router.route(asset.path, get(async |headers: HeaderMap| asset.answer(&headers))));
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
