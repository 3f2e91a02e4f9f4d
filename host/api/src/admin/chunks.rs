//! Documents that are sent while they are encoded, so that memory does not grow with the cluster. Start at [`channel`].

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use crate::limits;

/// A part of a document.
enum Chunk {
    Text(Bytes),
    /// Its absence means that the document is truncated.
    End,
}

/// Sends in chunks what is written to it, at the pace of the reader (backpressure).
pub(super) struct Chunks {
    buffer: Vec<u8>,
    sender: mpsc::Sender<Chunk>,
}

/// A document to be written on a thread that may block, and the body that it becomes.
pub(super) fn channel() -> (Chunks, Body) {
    let (sender, receiver) = mpsc::channel(limits::STATE_CHUNKS);
    let chunks = stream::unfold(Some(receiver), |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Chunk::Text(text)) => Some((Ok(text), Some(receiver))),
            Some(Chunk::End) => None,
            None => Some((Err(io::Error::other("the document ended early")), None)),
        }
    });
    // What compresses a body asks once more after its end, for trailers.
    (Chunks { buffer: Vec::with_capacity(limits::STREAM_CHUNK), sender }, Body::from_stream(chunks.fuse()))
}

impl Chunks {
    /// Sends what is left, and ends the document.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::BrokenPipe`] where the reader has left.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.flush()?;
        self.send(Chunk::End)
    }

    fn send(&self, chunk: Chunk) -> io::Result<()> {
        self.sender.blocking_send(chunk).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= limits::STREAM_CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::replace(&mut self.buffer, Vec::with_capacity(limits::STREAM_CHUNK));
        if text.is_empty() { Ok(()) } else { self.send(Chunk::Text(text.into())) }
    }
}
