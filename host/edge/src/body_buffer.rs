//! A request body read whole into one buffer. Its limits are those that [`body`](super::body) has put around it.
//!
//! A large body gets mapped pages, which go back to the system when it is dropped. Allocators keep freed megabytes, per
//! thread: with `BytesMut`, a hundred chunked bodies of 4 MiB raised resident memory by 11.7 MiB instead of less than 8 MiB.
//! Start at [`read`].

use std::error::Error as StdError;
use std::iter::successors;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, SizeHint};
use memmap2::MmapMut;

use crate::{BoxError, Error, limits};

/// Reads a body whole. One that arrives in one frame is not copied, any other is copied once.
///
/// # Errors
///
/// The limit that the body has exceeded, [`Error::BodyBroken`], or [`Error::Overloaded`] where the system has no memory.
pub async fn read<B>(mut body: B) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let mut buffer = BodyBuffer::default();
    while let Some(frame) = body.frame().await {
        // Trailers are skipped.
        let Ok(data) = frame.map_err(|error| reason(&*Into::<BoxError>::into(error)))?.into_data() else { continue };
        buffer.push(data, &body.size_hint())?;
    }
    Ok(buffer.into())
}

/// Why a body has ended early: a limit, or a failure of the transport.
fn reason(error: &(dyn StdError + 'static)) -> Error {
    let limit = successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref::<Error>());
    limit.cloned().unwrap_or_else(|| Error::BodyBroken { reason: error.to_string() })
}

/// The bytes that have arrived.
#[derive(Debug, Default)]
enum BodyBuffer {
    #[default]
    Empty,
    /// One frame, as it arrived.
    One(Bytes),
    /// Several frames of a small body.
    Small(Vec<u8>),
    /// Several frames of a body larger than [`limits::SMALL_BYTES`].
    Large(Pages),
}

/// Mapped pages; only those that were written take memory.
#[derive(Debug)]
struct Pages {
    map: MmapMut,
    filled: usize,
}

impl BodyBuffer {
    /// Appends a frame; `rest` is the length of what follows.
    fn push(&mut self, frame: Bytes, rest: &SizeHint) -> Result<(), Error> {
        let bytes = |length: u64| usize::try_from(length).unwrap_or(usize::MAX);
        let (least, most) = (bytes(rest.lower()), bytes(rest.upper().unwrap_or(rest.lower())));
        let filled = self.as_ref().len() + frame.len();
        *self = match std::mem::take(self) {
            Self::Empty => Self::One(frame),
            Self::Large(pages) => Self::Large(pages.with(&frame)?),
            // A declared length is mapped at once, an undeclared one when the body has become large.
            small if filled.saturating_add(least) > limits::SMALL_BYTES => {
                let pages = Pages::new(filled.saturating_add(most))?;
                Self::Large(pages.with(small.as_ref())?.with(&frame)?)
            }
            Self::One(first) => {
                let mut whole = Vec::with_capacity(filled + least);
                whole.extend_from_slice(&first);
                whole.extend_from_slice(&frame);
                Self::Small(whole)
            }
            Self::Small(mut whole) => {
                whole.extend_from_slice(&frame);
                Self::Small(whole)
            }
        };
        Ok(())
    }
}

impl AsRef<[u8]> for BodyBuffer {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::One(first) => first,
            Self::Small(whole) => whole,
            Self::Large(pages) => pages.as_ref(),
        }
    }
}

impl From<BodyBuffer> for Bytes {
    fn from(buffer: BodyBuffer) -> Self {
        match buffer {
            BodyBuffer::Empty => Self::new(),
            BodyBuffer::One(first) => first,
            BodyBuffer::Small(whole) => whole.into(),
            BodyBuffer::Large(pages) => Self::from_owner(pages),
        }
    }
}

impl Pages {
    fn new(bytes: usize) -> Result<Self, Error> {
        let map = MmapMut::map_anon(bytes).map_err(|_| Error::Overloaded)?;
        // Huge pages would take megabytes at the first write. A failure means that the system has none.
        #[cfg(target_os = "linux")]
        drop(map.advise(memmap2::Advice::NoHugePage));
        Ok(Self { map, filled: 0 })
    }

    fn with(mut self, frame: &[u8]) -> Result<Self, Error> {
        let limit = self.map.len();
        let end = self.filled + frame.len();
        // Longer than the upper bound of its size hint.
        let place = self.map.get_mut(self.filled..end).ok_or(Error::BodyTooLarge { limit })?;
        place.copy_from_slice(frame);
        self.filled = end;
        Ok(self)
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        self.map.get(..self.filled).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hint(lower: u64, upper: u64) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(lower);
        hint.set_upper(upper);
        hint
    }

    #[test]
    fn frames_come_together_whatever_length_is_declared() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let frame_bytes = [10, 1000, 20_000][random.usize(..3)];
            let frames: Vec<Vec<u8>> = (0..random.usize(..9))
                .map(|_| (0..random.usize(..frame_bytes)).map(|_| random.u8(..)).collect())
                .collect();
            let whole = frames.concat();
            let is_declared = random.bool();
            let (mut buffer, mut left) = (BodyBuffer::default(), whole.len() as u64);
            for frame in &frames {
                left -= frame.len() as u64;
                let rest = if is_declared { hint(left, left) } else { hint(0, left + random.u64(..1 << 20)) };
                buffer.push(Bytes::copy_from_slice(frame), &rest).unwrap();
            }
            let is_large = whole.len() > limits::SMALL_BYTES && frames.len() > 1;
            assert_eq!(matches!(buffer, BodyBuffer::Large(_)), is_large);
            assert_eq!(Bytes::from(buffer), whole);
        }
    }

    #[test]
    fn a_body_longer_than_its_size_hint_is_refused() {
        let mut buffer = BodyBuffer::default();
        let frame = Bytes::from(vec![0; limits::SMALL_BYTES]);
        buffer.push(frame.clone(), &hint(0, 1)).unwrap();
        buffer.push(frame.clone(), &hint(0, 1)).unwrap();
        let refused = buffer.push(frame, &SizeHint::new());
        assert!(matches!(refused, Err(Error::BodyTooLarge { limit }) if limit == 2 * limits::SMALL_BYTES + 1));
    }
}
