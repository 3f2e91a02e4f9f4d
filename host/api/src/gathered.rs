//! A body in one piece, as it is put together of what arrives.
//!
//! A large one has pages of its own, which the system has back with its end. An allocator keeps for a while what megabytes
//! leave, for each thread by itself. Start at [`Gathered::push`].

use axum::body::Bytes;
use memmap2::MmapMut;

use super::Error;
use crate::limits;

/// What has arrived of a body.
#[derive(Debug, Default)]
pub(super) enum Gathered {
    #[default]
    Nothing,
    /// One piece, as it came.
    One(Bytes),
    /// Several pieces of a small body.
    Small(Vec<u8>),
    /// Several pieces of a large one.
    Large(Pages),
}

/// Pages of which only those that were written to take memory.
#[derive(Debug)]
pub(super) struct Pages {
    map: MmapMut,
    filled: usize,
}

impl Gathered {
    /// Adds a piece. At least and at most so many bytes come after it.
    pub(super) fn push(&mut self, piece: Bytes, least: u64, most: Option<u64>) -> Result<(), Error> {
        let before = self.as_ref().len() + piece.len();
        let rest = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        *self = match std::mem::take(self) {
            Self::Nothing => Self::One(piece),
            Self::Large(pages) => Self::Large(pages.with(&piece)?),
            // What says how long it is is put in its place at once; what does not, once it is large.
            known if before.saturating_add(rest(least)) > limits::BODY_BYTES_FREE => {
                let all = before.saturating_add(rest(most.unwrap_or(least)));
                Self::Large(Pages::new(all)?.with(known.as_ref())?.with(&piece)?)
            }
            Self::One(first) => {
                let mut whole = Vec::with_capacity(before + rest(least));
                whole.extend_from_slice(&first);
                whole.extend_from_slice(&piece);
                Self::Small(whole)
            }
            Self::Small(mut whole) => {
                whole.extend_from_slice(&piece);
                Self::Small(whole)
            }
        };
        Ok(())
    }
}

impl AsRef<[u8]> for Gathered {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::One(first) => first,
            Self::Small(whole) => whole,
            Self::Large(pages) => pages.as_ref(),
        }
    }
}

impl From<Gathered> for Bytes {
    fn from(gathered: Gathered) -> Self {
        match gathered {
            Gathered::Nothing => Self::new(),
            Gathered::One(first) => first,
            Gathered::Small(whole) => whole.into(),
            Gathered::Large(pages) => Self::from_owner(pages),
        }
    }
}

impl Pages {
    /// Room for so many bytes. Where the system has none, neither have we.
    fn new(bytes: usize) -> Result<Self, Error> {
        let map = MmapMut::map_anon(bytes).map_err(|_| Error::Overloaded)?;
        // Huge pages would take megabytes at the first touch. Where the system knows none there is nothing to be said.
        #[cfg(target_os = "linux")]
        drop(map.advise(memmap2::Advice::NoHugePage));
        Ok(Self { map, filled: 0 })
    }

    fn with(mut self, piece: &[u8]) -> Result<Self, Error> {
        let limit = self.map.len();
        let end = self.filled + piece.len();
        // A body that is longer than it said it would be at most.
        let place = self.map.get_mut(self.filled..end).ok_or(Error::BodyTooLarge { limit })?;
        place.copy_from_slice(piece);
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

    #[test]
    fn pieces_come_together_whatever_is_said_of_the_rest() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let piece_bytes = [10, 1000, 20_000][random.usize(..3)];
            let pieces: Vec<Vec<u8>> = (0..random.usize(..9))
                .map(|_| (0..random.usize(..piece_bytes)).map(|_| random.u8(..)).collect())
                .collect();
            let whole = pieces.concat();
            let is_declared = random.bool();
            let (mut gathered, mut left) = (Gathered::default(), whole.len() as u64);
            for piece in &pieces {
                left -= piece.len() as u64;
                let (least, most) = if is_declared { (left, left) } else { (0, left + random.u64(..1 << 20)) };
                gathered.push(Bytes::copy_from_slice(piece), least, Some(most)).unwrap();
            }
            let is_large = whole.len() > limits::BODY_BYTES_FREE && pieces.len() > 1;
            assert_eq!(matches!(gathered, Gathered::Large(_)), is_large);
            assert_eq!(Bytes::from(gathered), whole);
        }
    }

    #[test]
    fn more_than_was_said_is_refused() {
        let mut gathered = Gathered::default();
        let piece = Bytes::from(vec![0; limits::BODY_BYTES_FREE]);
        gathered.push(piece.clone(), 0, Some(1)).unwrap();
        gathered.push(piece.clone(), 0, Some(1)).unwrap();
        let refused = gathered.push(piece, 0, None);
        assert!(matches!(refused, Err(Error::BodyTooLarge { limit }) if limit == 2 * limits::BODY_BYTES_FREE + 1));
    }
}
