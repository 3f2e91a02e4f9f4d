//! A cluster file as a stream of text: unpacked, and limited in size. Start at [`Input::from_reader`].

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use crate::limits::{CLUSTER_FILE_BYTES, CLUSTER_FILE_CHUNK_BYTES, CLUSTER_OBJECT_BYTES};

/// Why a file cannot be read further.
#[derive(Debug)]
pub(super) enum Failure {
    /// The system, or the unpacker.
    Io(io::Error),
    /// The file, unpacked, is larger than [`CLUSTER_FILE_BYTES`].
    TooLarge,
    /// One object is larger than [`CLUSTER_OBJECT_BYTES`].
    ObjectTooLarge,
}

/// How far a file has been read. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Rc<Readings>);

#[derive(Debug, Default)]
struct Readings {
    /// Bytes read of the file as it is stored.
    stored: Cell<u64>,
    /// Bytes read of the unpacked text.
    text: Cell<u64>,
    /// Bytes of text before the current object.
    before_object: Cell<u64>,
    failure: RefCell<Option<Failure>>,
}

impl Meter {
    /// Bytes read of the file as it is stored.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.0.stored.get()
    }

    /// An object ends here.
    pub(super) fn end_of_object(&self) {
        self.0.before_object.set(self.0.text.get());
    }

    /// Why the file cannot be read further; parsers know only that it cannot.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.0.failure.borrow_mut().take()
    }

    fn fail<T>(&self, failure: Failure) -> io::Result<T> {
        *self.0.failure.borrow_mut() = Some(failure);
        Err(io::Error::other("not read further"))
    }
}

/// The text of a file.
pub(super) struct Input<'a> {
    text: BufReader<Box<dyn Read + 'a>>,
    meter: Meter,
}

/// The format of a text, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
    /// An empty text, or nothing but whitespace.
    Nothing,
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

impl<'a> Input<'a> {
    /// The text of what a reader gives.
    ///
    /// # Errors
    ///
    /// Where its first bytes cannot be read.
    pub(super) fn from_reader(stored: impl Read + 'a) -> io::Result<Self> {
        let meter = Meter::default();
        let mut stored = Counted { stored, meter: meter.clone() };
        let mut first = Vec::new();
        stored.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
        let is_packed = first == GZIP;
        let stored = Cursor::new(first).chain(stored);
        let text: Box<dyn Read + 'a> =
            if is_packed { Box::new(MultiGzDecoder::new(BufReader::new(stored))) } else { Box::new(stored) };
        let text = Limited { text, meter: meter.clone() };
        Ok(Self { text: BufReader::with_capacity(CLUSTER_FILE_CHUNK_BYTES, Box::new(text)), meter })
    }

    /// How far it has been read.
    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The format of the text, and the text without a byte order mark.
    ///
    /// # Errors
    ///
    /// Where the text cannot be read.
    pub(super) fn format(mut self) -> io::Result<(Format, impl BufRead + 'a)> {
        let mut begin = Vec::new();
        let format = loop {
            let chunk = self.text.fill_buf()?;
            let (is_end, bytes, before) = (chunk.is_empty(), chunk.len(), begin.len());
            begin.extend_from_slice(chunk);
            self.text.consume(bytes);
            // The mark may arrive in pieces.
            if BYTE_ORDER_MARK.starts_with(&begin) && begin.len() < BYTE_ORDER_MARK.len() && !is_end {
                continue;
            }
            let new = if before < BYTE_ORDER_MARK.len() { 0 } else { before };
            let text = begin.get(new..).unwrap_or_default();
            let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| new == 0).unwrap_or(text);
            match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'{' | b'[') => break Format::Json,
                Some(_) => break Format::Yaml,
                None if is_end => break Format::Nothing,
                None => {}
            }
        };
        if begin.starts_with(BYTE_ORDER_MARK) {
            begin.drain(..BYTE_ORDER_MARK.len());
        }
        let text: Box<dyn Read + 'a> = Box::new(Cursor::new(begin).chain(self.text.into_inner()));
        // Parsers read byte by byte, which is fast from a buffer alone.
        Ok((format, BufReader::with_capacity(CLUSTER_FILE_CHUNK_BYTES, text)))
    }
}

/// Counts the bytes of a file as it is stored.
struct Counted<R> {
    stored: R,
    meter: Meter,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.stored.read(out)?;
        let stored = &self.meter.0.stored;
        stored.set(stored.get() + bytes as u64);
        Ok(bytes)
    }
}

/// Counts the bytes of a text, ends it where it is too large, and notes why it cannot be read.
struct Limited<R> {
    text: R,
    meter: Meter,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = match self.text.read(out) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => return self.meter.fail(Failure::Io(error)),
        };
        let readings = &self.meter.0;
        let text = readings.text.get() + bytes as u64;
        readings.text.set(text);
        if text > CLUSTER_FILE_BYTES {
            return self.meter.fail(Failure::TooLarge);
        }
        if text - readings.before_object.get() > CLUSTER_OBJECT_BYTES {
            return self.meter.fail(Failure::ObjectTooLarge);
        }
        Ok(bytes)
    }
}
