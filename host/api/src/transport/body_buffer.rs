//! A request body read whole into one buffer. Its limits are those that [`body`](super::body) has put around it.
//!
//! Start at [`read`].

use axum::body::{Body, Bytes};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use crate::Error;

/// Reads a body whole. One that arrives in one frame is not copied; one that declares its length is copied once.
///
/// # Errors
///
/// The limit that the body has exceeded, or [`Error::BodyBroken`].
pub(crate) async fn read(mut body: Body) -> Result<Bytes, Error> {
    let mut first = Bytes::new();
    let mut buffer = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Trailers are skipped.
        let Ok(data) = frame.map_err(reason)?.into_data() else { continue };
        if first.is_empty() {
            first = data;
            continue;
        }
        if buffer.is_empty() {
            let rest = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
            buffer.reserve(first.len().saturating_add(data.len()).saturating_add(rest));
            buffer.extend_from_slice(&first);
        }
        buffer.extend_from_slice(&data);
    }
    Ok(if buffer.is_empty() { first } else { buffer.freeze() })
}

/// Why a body has ended early: a limit, or a failure of the transport.
fn reason(error: axum::Error) -> Error {
    match error.into_inner().downcast::<Error>() {
        Ok(limit) => *limit,
        Err(transport) => Error::BodyBroken { reason: transport.to_string() },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    #[tokio::test]
    async fn a_body_in_any_frames_is_read_whole() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let frame_bytes = [10, 1000, 20_000][random.usize(..3)];
            let frames: Vec<Vec<u8>> = (0..random.usize(..9))
                .map(|_| (0..random.usize(..frame_bytes)).map(|_| random.u8(..)).collect())
                .collect();
            let whole = frames.concat();
            let frames = frames.into_iter().map(|frame| Ok::<_, Infallible>(Frame::data(Bytes::from(frame))));
            let body = Body::new(StreamBody::new(stream::iter(frames)));
            assert_eq!(read(body).await.unwrap(), whole);
        }
        assert_eq!(read(Body::from("declared")).await.unwrap(), "declared");
    }
}
