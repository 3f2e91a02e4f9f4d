//! Names in paths. Start at [`Names`].

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::Error;

/// The names in a path, without their escapes: a text, or a tuple of as many as the path has. A path whose names are no UTF-8 is refused
/// as any other request is, as JSON.
#[derive(Debug)]
pub(crate) struct Names<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Names<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(names)| Self(names)).map_err(|rejection| Error::invalid("path", rejection.body_text()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::{StatusCode, header};
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(path: &str) -> (StatusCode, String, String) {
        let router: Router = Router::new()
            .route("/nodes/{node}", get(async |Names(node): Names<String>| node))
            .route("/pods/{namespace}/{pod}", get(async |Names((_, pod)): Names<(String, String)>| pod));
        let (parts, body) = router.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap().into_parts();
        let text = axum::body::to_bytes(body, 1 << 10).await.unwrap().to_vec();
        let media_type = parts.headers[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        (parts.status, media_type, String::from_utf8(text).unwrap())
    }

    #[tokio::test]
    async fn names_are_read_without_their_escapes() {
        assert_eq!(ask("/nodes/a%2Fb").await.2, "a/b");
        assert_eq!(ask("/pods/shop/%C3%A9").await.2, "é");
    }

    #[tokio::test]
    async fn names_that_are_no_text_are_refused_as_json() {
        for path in ["/nodes/%ff", "/pods/%ff/web-0", "/pods/shop/%ff"] {
            let (status, media_type, text) = ask(path).await;
            assert_eq!((status, media_type.as_str()), (StatusCode::BAD_REQUEST, "application/json"), "{path}");
            assert!(text.contains(r#""code":"INVALID_ARGUMENT""#), "{path}: {text}");
        }
    }
}
