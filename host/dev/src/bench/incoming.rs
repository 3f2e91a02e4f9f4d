//! Bytes that a blocking client has received and not taken yet: one buffer that is neither cleared nor moved for each read, because
//! that would count as the sidecar's time. Start at [`Incoming::fill`].

use std::io::Read;

use anyhow::{Context as _, bail};

/// Bytes of the buffer: an answer with the names of 5,000 nodes twice over. It grows where one message is longer.
const BYTES: usize = 256 * 1024;

/// Least room for a read.
const READ_BYTES: usize = 64 * 1024;

/// Buffer of received bytes.
#[derive(Debug)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    taken: usize,
    arrived: usize,
}

impl Incoming {
    /// Creates an empty buffer.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; BYTES], taken: 0, arrived: 0 }
    }

    /// Returns the bytes that have arrived and are not taken.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..self.arrived).unwrap_or_default()
    }

    /// Takes so many bytes.
    pub(super) fn take(&mut self, count: usize) {
        self.taken = self.arrived.min(self.taken + count);
    }

    /// Reads once more.
    ///
    /// # Errors
    ///
    /// If the connection breaks or ends.
    pub(super) fn fill(&mut self, stream: &mut impl Read) -> anyhow::Result<()> {
        if self.taken == self.arrived {
            (self.taken, self.arrived) = (0, 0);
        }
        if self.bytes.len() - self.arrived < READ_BYTES {
            self.bytes.copy_within(self.taken..self.arrived, 0);
            (self.taken, self.arrived) = (0, self.arrived - self.taken);
            if self.bytes.len() - self.arrived < READ_BYTES {
                self.bytes.resize(2 * self.bytes.len(), 0);
            }
        }
        let room = self.bytes.get_mut(self.arrived..).unwrap_or_default();
        let read = stream.read(room).context("the sidecar does not answer")?;
        if read == 0 {
            bail!("the sidecar has closed the connection");
        }
        self.arrived += read;
        Ok(())
    }
}
