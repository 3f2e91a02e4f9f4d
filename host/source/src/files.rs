//! Cluster files: whatever `kubectl get … -o json|yaml` writes, plain or gzip, one or many, `-` for standard input.
//!
//! Nothing is delivered unless everything could be read: the first thing that is wrong is an [`Error`] that names the
//! file, the object and the field.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::Skipped;
use super::items::{self, Item, ItemError};
use crate::limits::CLUSTER_FILE_BYTES;
use nodesift_object::{Kind, Object, Pod};

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{file}: {source}")]
    Read {
        /// As it was named.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file, unpacked, is larger than any cluster.
    #[error("{file}: more than {} GiB unpacked", CLUSTER_FILE_BYTES >> 30)]
    TooLarge {
        /// As it was named.
        file: String,
    },
    /// There is nothing in the file.
    #[error("{file}: empty; expected what `kubectl get nodes,pods -A -o json` writes")]
    Empty {
        /// As it was named.
        file: String,
    },
    /// Something in the file is wrong.
    #[error("{file}: {source}")]
    Item {
        /// As it was named.
        file: String,
        /// What, and where.
        source: Box<ItemError>,
    },
    /// Two objects of one kind have one name.
    #[error("{kind} {name:?} is there twice: {first} and {second}")]
    Duplicate {
        /// Their kind.
        kind: Kind,
        /// Their name, with the namespace where they have one.
        name: String,
        /// File and place of the first.
        first: String,
        /// File and place of the second.
        second: String,
    },
    /// Two pods of different names have one UID.
    #[error("pod UID {uid:?} is there twice: {first} and {second}")]
    DuplicateUid {
        /// `metadata.uid`.
        uid: String,
        /// Name, file and place of the first.
        first: String,
        /// Name, file and place of the second.
        second: String,
    },
}

/// What files hold.
#[derive(Debug, Default)]
pub struct Contents {
    /// The objects of the kinds that matter, in order.
    pub objects: Vec<Object>,
    /// Objects of other kinds, counted.
    pub skipped: Skipped,
}

/// Reads cluster files.
pub fn read(files: &[PathBuf]) -> Result<Contents, Error> {
    let mut contents = Contents::default();
    let mut places = Places::default();
    for file in files {
        let name = display_name(file);
        let bytes = bytes_of(file)?;
        parse_into(&name, &bytes, &mut places, &mut contents.skipped, |item| contents.objects.push(item.object))?;
    }
    Ok(contents)
}

/// Reads one cluster file that is already in memory, under a name for messages.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<Contents, Error> {
    let mut contents = Contents::default();
    let bytes = unpack(name, bytes.to_vec())?;
    parse_into(name, &bytes, &mut Places::default(), &mut contents.skipped, |item| contents.objects.push(item.object))?;
    Ok(contents)
}

/// Reads files of pods, each with its whole object as JSON text; objects of other kinds are counted as skipped.
pub fn read_pods(files: &[PathBuf]) -> Result<(Vec<WholePod>, Skipped), Error> {
    let (mut pods, mut skipped) = (Vec::new(), Skipped::new());
    let mut places = Places::default();
    for file in files {
        let mut others = Skipped::new();
        parse_into(&display_name(file), &bytes_of(file)?, &mut places, &mut skipped, |item| match item.object {
            Object::Pod(pod) => pods.push((pod, item.json.to_owned())),
            other => *others.entry(other.kind().to_string()).or_default() += 1,
        })?;
        others.into_iter().for_each(|(kind, count)| *skipped.entry(kind).or_default() += count);
    }
    Ok((pods, skipped))
}

/// A pod, and its whole object as JSON text.
pub type WholePod = (Box<Pod>, String);

/// Where each object was, to tell about duplicates.
#[derive(Default)]
struct Places {
    /// By kind and key.
    names: HashMap<(Kind, String), String>,
    /// Of pods, by UID, with the pod's key.
    uids: HashMap<String, (String, String)>,
}

impl Places {
    /// Remembers an object's place, or says which one had its name or UID before.
    fn insert(&mut self, object: &Object, place: String) -> Result<(), Error> {
        let (kind, name) = (object.kind(), object.key());
        if let Some(first) = self.names.get(&(kind, name.clone())) {
            return Err(Error::Duplicate { kind, name, first: first.clone(), second: place });
        }
        if let Object::Pod(pod) = object
            && !pod.metadata.uid.is_empty()
        {
            let uid = pod.metadata.uid.clone();
            if let Some((other, first)) = self.uids.get(&uid) {
                let (first, second) = (format!("{other} in {first}"), format!("{name} in {place}"));
                return Err(Error::DuplicateUid { uid, first, second });
            }
            self.uids.insert(uid, (name.clone(), place.clone()));
        }
        self.names.insert((kind, name), place);
        Ok(())
    }
}

fn parse_into(
    file: &str,
    bytes: &[u8],
    places: &mut Places,
    skipped: &mut Skipped,
    mut take: impl FnMut(Item<'_>),
) -> Result<(), Error> {
    let empty = || Error::Empty { file: file.to_owned() };
    let mut nothing = true;
    let mut duplicate = None;
    items::parse(bytes, &mut |found| {
        nothing = false;
        match found {
            items::Found::Skipped(kind) => *skipped.entry(kind).or_default() += 1,
            items::Found::Item(item) => {
                let place = format!("{file}: {}", item.place);
                match places.insert(&item.object, place) {
                    Ok(()) => take(*item),
                    // The first one is told.
                    Err(error) => duplicate = duplicate.take().or(Some(error)),
                }
            }
            items::Found::EmptyList => {}
        }
    })
    .map_err(|source| Error::Item { file: file.to_owned(), source: Box::new(source) })?;
    match duplicate {
        Some(duplicate) => Err(duplicate),
        None if nothing => Err(empty()),
        None => Ok(()),
    }
}

fn display_name(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() }
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn bytes_of(file: &Path) -> Result<Vec<u8>, Error> {
    let name = display_name(file);
    let read = |source| Error::Read { file: name.clone(), source };
    let mut bytes = Vec::new();
    if is_stdin(file) {
        std::io::stdin().lock().take(CLUSTER_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
    } else {
        let mut opened = std::fs::File::open(file).map_err(read)?;
        opened.by_ref().take(CLUSTER_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
    }
    unpack(&name, bytes)
}

fn unpack(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    let bytes = if bytes.starts_with(GZIP) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(bytes.as_slice())
            .take(CLUSTER_FILE_BYTES + 1)
            .read_to_end(&mut unpacked)
            .map_err(|source| Error::Read { file: name.to_owned(), source })?;
        unpacked
    } else {
        bytes
    };
    if bytes.len() as u64 > CLUSTER_FILE_BYTES {
        return Err(Error::TooLarge { file: name.to_owned() });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
