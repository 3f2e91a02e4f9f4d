//! HTTP/2 frames in a stream of bytes, in whatever pieces they arrive: where each begins, and what belongs to it. Nothing is
//! decoded or refused here; that is h2's part. Start at [`Frames::step`].

/// The first bytes of every HTTP/2 connection (RFC 9113, 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of the head of a frame (RFC 9113, 4.1).
pub(crate) const HEAD: usize = 9;

/// Types of frames (RFC 9113, 6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;

/// Frames in a stream of bytes.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Bytes of the preface that have been seen.
    preface: usize,
    /// Whether it is something else than HTTP/2.
    is_other: bool,
    head: [u8; HEAD],
    /// Bytes of the head that have been seen.
    filled: usize,
    /// Bytes of the payload that have not.
    rest: usize,
}

/// Head of a frame that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// Bytes of the payload.
    pub(crate) length: usize,
}

/// Role of some bytes in the stream.
#[derive(Debug)]
pub(crate) enum Part {
    /// Of the preface, of a head that has not ended, or of something else than HTTP/2.
    Other,
    /// The last bytes of a head.
    Head(Head),
    /// Bytes of the payload of the frame that began last.
    Payload,
}

impl Frames {
    /// Frames of a stream without a preface.
    pub(crate) fn without_preface() -> Self {
        Self { preface: PREFACE.len(), ..Self::default() }
    }

    /// Whether no frame has begun that has not ended.
    pub(crate) fn is_between(&self) -> bool {
        self.filled == 0 && self.rest == 0
    }

    /// Whether it is HTTP/2, as far as that is known.
    pub(crate) fn is_h2(&self) -> bool {
        !self.is_other && self.preface == PREFACE.len()
    }

    /// Whether the first bytes have told HTTP/2 from something else.
    pub(crate) fn is_known(&self) -> bool {
        self.is_other || self.is_h2()
    }

    /// Goes on by some of the next bytes, one of them at least: how many, and their role.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> (usize, Part) {
        if self.is_other {
            return (bytes.len(), Part::Other);
        }
        let awaited = PREFACE.get(self.preface..).unwrap_or_default();
        if !awaited.is_empty() {
            let length = awaited.len().min(bytes.len());
            self.is_other = bytes.get(..length) != awaited.get(..length);
            self.preface += length;
            return (length, Part::Other);
        }
        if self.rest > 0 {
            let length = self.rest.min(bytes.len());
            self.rest -= length;
            return (length, Part::Payload);
        }
        let length = bytes.len().min(HEAD - self.filled);
        for (to, from) in self.head.iter_mut().skip(self.filled).zip(bytes) {
            *to = *from;
        }
        self.filled += length;
        if self.filled < HEAD {
            return (length, Part::Other);
        }
        let [high, middle, low, kind, flags, ..] = self.head;
        self.filled = 0;
        self.rest = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        (length, Part::Head(Head { kind, flags, length: self.rest }))
    }
}
