//! Chunks of a watch, cut anywhere, into whole lines.

use crate::kube::failure::Failure;
use crate::limits::WATCH_EVENT_BYTES;

/// Joins chunks to lines. A line that has no end when the stream ends is never returned.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Bytes after the last newline.
    rest: Vec<u8>,
}

impl Lines {
    /// Adds a chunk. Returns the lines that it completes, each with its newline; empty where it completes none.
    ///
    /// # Errors
    ///
    /// [`Failure::Malformed`] where a line is longer than [`WATCH_EVENT_BYTES`].
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(last) = chunk.iter().rposition(|byte| *byte == b'\n') else {
            self.rest.extend_from_slice(chunk);
            return if self.rest.len() > WATCH_EVENT_BYTES {
                self.rest = Vec::new();
                Err(Failure::Malformed(format!("an event of more than {} MiB", WATCH_EVENT_BYTES >> 20)))
            } else {
                Ok(Vec::new())
            };
        };
        let (whole, rest) = chunk.split_at(last + 1);
        let mut lines = std::mem::take(&mut self.rest);
        lines.extend_from_slice(whole);
        self.rest.extend_from_slice(rest);
        Ok(lines)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_into_chunks_gives_the_same_lines_and_never_a_part_of_one() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let text = "{\"ü\":1}\n\n{\"🦀\":\"x\"}\nunfinished".as_bytes();
        let whole = text.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        for _ in 0..2_000 {
            let (mut lines, mut seen, mut from) = (Lines::default(), Vec::new(), 0);
            while from < text.len() {
                let to = random.usize(from + 1..=text.len());
                let more = lines.push(&text[from..to]).unwrap();
                assert!(more.is_empty() || more.ends_with(b"\n"), "seed {seed}");
                seen.extend(more);
                from = to;
            }
            assert_eq!(seen, &text[..whole], "seed {seed}");
        }
    }

    #[test]
    fn a_line_without_end_fails_at_the_limit() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 1 << 20];
        let pushed = (0..).map(|_| lines.push(&chunk)).take(20).position(|outcome| outcome.is_err());
        assert_eq!(pushed, Some(WATCH_EVENT_BYTES >> 20));
    }
}
