//! Reading and unpacking files, and refusing duplicates. Start at [`read`].

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::items::{self, Item, ItemError};
use crate::limits::CLUSTER_FILE_BYTES;
use nodesift_object::{Kind, Object, Pod};

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{file}: {source}")]
    Read {
        /// The file as it was named.
        file: String,
        /// What the system reports.
        source: std::io::Error,
    },
    /// The file, unpacked, is larger than [`CLUSTER_FILE_BYTES`].
    #[error("{file}: more than {} GiB unpacked", CLUSTER_FILE_BYTES >> 30)]
    TooLarge {
        /// The file as it was named.
        file: String,
    },
    /// The file holds nothing.
    #[error("{file}: empty; expected what `kubectl get nodes,pods -A -o json` writes")]
    Empty {
        /// The file as it was named.
        file: String,
    },
    /// Something in the file is wrong.
    #[error("{file}: {source}")]
    Item {
        /// The file as it was named.
        file: String,
        /// What is wrong, with its place in the file.
        source: Box<ItemError>,
    },
    /// Two objects of one kind have the same name.
    #[error("{kind} {name:?} is there twice: {first} and {second}")]
    Duplicate {
        /// Their kind.
        kind: Kind,
        /// `namespace/name` of namespaced objects, else the name.
        name: String,
        /// File and place of the first.
        first: String,
        /// File and place of the second.
        second: String,
    },
    /// Two pods of different names have the same UID.
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

/// What files contain.
#[derive(Debug, Default)]
pub struct Contents {
    /// The objects of the kinds that the cache keeps, in order.
    pub objects: Vec<Object>,
    /// How many objects of other kinds were skipped.
    pub skipped: Skipped,
}

/// How many objects were skipped, by kind.
pub type Skipped = BTreeMap<String, usize>;

/// Reads cluster files.
///
/// # Errors
///
/// The first problem of any file.
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

/// Reads one cluster file that is already in memory. Messages call it `name`.
///
/// # Errors
///
/// The first problem of the file.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<Contents, Error> {
    let mut contents = Contents::default();
    let bytes = unpack(name, bytes.to_vec())?;
    parse_into(name, &bytes, &mut Places::default(), &mut contents.skipped, |item| contents.objects.push(item.object))?;
    Ok(contents)
}

/// Reads files of pods, each with its object as JSON text. Objects of other kinds are counted as skipped.
///
/// # Errors
///
/// The first problem of any file.
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

/// A pod, and its object as JSON text.
pub type WholePod = (Box<Pod>, String);

/// The place of each object, for messages about duplicates.
#[derive(Default)]
struct Places {
    /// By kind and key.
    names: HashMap<(Kind, String), String>,
    /// Of pods: key and place, by UID.
    uids: HashMap<String, (String, String)>,
}

impl Places {
    /// Adds an object.
    ///
    /// # Errors
    ///
    /// Where another object has its name or UID.
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

/// Gives each object of a file to `take`, counts the others, and refuses duplicates.
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
                    // The first duplicate is reported.
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
