//! Reading files as streams, and refusing duplicates. Start at [`read`].

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::input::{Failure, Format, Input};
use super::items::{Found, Item, ItemError, Parser, Place, Stopped};
use crate::limits::{CLUSTER_FILE_BYTES, CLUSTER_OBJECT_BYTES};
use nodesift_object::defaults::Defaulted;
use nodesift_object::{Kind, Object, Pod, ResourceClaim};

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{file}: {source}")]
    Read {
        /// The file as it was named.
        file: String,
        /// I/O error of opening or reading the file.
        source: io::Error,
    },
    /// The file, unpacked, is larger than [`CLUSTER_FILE_BYTES`].
    #[error("{file}: more than {} GiB unpacked", CLUSTER_FILE_BYTES >> 30)]
    TooLarge {
        /// The file as it was named.
        file: String,
    },
    /// One object of the file is larger than [`CLUSTER_OBJECT_BYTES`].
    #[error("{file}: an object of more than {} MiB", CLUSTER_OBJECT_BYTES >> 20)]
    ObjectTooLarge {
        /// The file as it was named.
        file: String,
    },
    /// The file holds nothing.
    #[error("{file}: empty; expected what `kubectl get nodes,pods -A -o json` writes")]
    Empty {
        /// The file as it was named.
        file: String,
    },
    /// The file holds workloads alone, which have templates of pods; or the files hold neither a node nor a pod.
    #[error(
        "{file}: holds only {kinds}: a cluster consists of nodes and pods, as `kubectl get nodes,pods -A -o json` writes them; pods of a template are there once it is applied"
    )]
    NothingOfUse {
        /// The file as it was named, or all of them.
        file: String,
        /// Kinds of its objects, each once, separated by commas.
        kinds: String,
    },
    /// Files that are to hold pods hold none.
    #[error("{file}: holds no pod, only {kinds}: pods of a template are there once it is applied")]
    NoPods {
        /// The files as they were named.
        file: String,
        /// Kinds of their objects, each once, separated by commas.
        kinds: String,
    },
    /// Files that are to hold claims hold none.
    #[error("{file}: holds no ResourceClaim of a version that is read, only {kinds}")]
    NoClaims {
        /// The files as they were named.
        file: String,
        /// Kinds of their objects, each once, separated by commas.
        kinds: String,
    },
    /// The file holds the beginning of a list, and no file its end.
    #[error(
        "{file}: a {kind} that goes on (metadata.continue), and its end is nowhere: read the whole list, as `kubectl get` does"
    )]
    Partial {
        /// The file as it was named.
        file: String,
        /// The kind of the list.
        kind: String,
    },
    /// Something in the file is wrong.
    #[error("{file}: {source}")]
    Item {
        /// The file as it was named.
        file: String,
        /// Error in the content, with its place in the file.
        source: Box<ItemError>,
    },
    /// Two objects of one kind have the same name.
    #[error("{kind} {name:?} is there twice: {first} and {second}")]
    Duplicate {
        /// Kind of both objects.
        kind: Kind,
        /// `namespace/name` of namespaced objects, else the name.
        name: String,
        /// File and place of the first.
        first: String,
        /// File and place of the second.
        second: String,
    },
    /// Two pods of different names have the same UID.
    #[error("pod UID {uid:?} is there twice: {first} and {name} in {second}")]
    DuplicateUid {
        /// UID of both pods, `metadata.uid`.
        uid: String,
        /// File and place of the first.
        first: String,
        /// `namespace/name` of the second.
        name: String,
        /// File and place of the second.
        second: String,
    },
}

/// Counts of objects that were skipped, have no `apiVersion`, or lack defaults, in the files that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many objects of other kinds were skipped.
    pub skipped: Skipped,
    /// How many objects without `apiVersion` were taken for what their kind alone says.
    pub unversioned: BTreeMap<Kind, usize>,
    /// In how many objects that nobody but their author has made something was filled in, as an API server does.
    pub filled: BTreeMap<Defaulted, usize>,
    /// How many objects lack it and were taken as they are: nodes, and those with a UID.
    pub lacking: BTreeMap<Defaulted, usize>,
}

impl Summary {
    /// Adds what other files contain.
    pub fn add(&mut self, other: Self) {
        other.skipped.into_iter().for_each(|(kind, count)| *self.skipped.entry(kind).or_default() += count);
        other.unversioned.into_iter().for_each(|(kind, count)| *self.unversioned.entry(kind).or_default() += count);
        other.filled.into_iter().for_each(|(what, count)| *self.filled.entry(what).or_default() += count);
        other.lacking.into_iter().for_each(|(what, count)| *self.lacking.entry(what).or_default() += count);
    }
}

/// How many objects were skipped, by kind.
pub type Skipped = BTreeMap<String, usize>;

/// How far files have been read.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the files as they are stored.
    pub bytes: u64,
    /// All bytes of the files; `None` where one of them is a pipe.
    pub total: Option<u64>,
}

/// Reads cluster files, and gives each object of a kind that the cache keeps to `take`. One object is held at a time, however
/// large the files are, except for items that leave kind or version to their list where the list says so after its items: they
/// are held as text until then. `progress` is called after each object.
///
/// # Errors
///
/// The first problem of any file. The objects before it have been given to `take`.
pub fn read(
    files: &[PathBuf],
    take: &mut dyn FnMut(Object),
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary, Error> {
    let total = files.iter().map(|file| size(file)).sum();
    let (mut summary, mut places, mut heard) = (Summary::default(), Places::default(), Heard::default());
    let mut before = 0;
    for file in files {
        let name = display_name(file);
        let input = open(file, &name)?;
        let meter = input.meter();
        parse(&name, input, Some(&mut places), (&mut summary, &mut heard), &mut |item| {
            take(item.object);
            progress(Progress { bytes: before + meter.stored_bytes(), total });
        })?;
        before += meter.stored_bytes();
    }
    heard.require_cluster(files)?;
    Ok(summary)
}

/// Reads cluster files as [`read`] does, and gives each object with its JSON text, which has all of its fields.
///
/// # Errors
///
/// As [`read`].
pub fn read_texts(files: &[PathBuf], take: &mut dyn FnMut(Object, &str)) -> Result<Summary, Error> {
    let (mut summary, mut places, mut heard) = (Summary::default(), Places::default(), Heard::default());
    for file in files {
        let name = display_name(file);
        let input = open(file, &name)?;
        let into = (&mut summary, &mut heard);
        parse(&name, input, Some(&mut places), into, &mut |item| take(item.object, item.json))?;
    }
    heard.require_cluster(files)?;
    Ok(summary)
}

/// Reads one cluster file that is already in memory, as [`read`] does, and takes it for a part of a cluster: it may hold whatever is in
/// one. Messages call it `name`.
///
/// # Errors
///
/// The first problem of the file.
pub fn read_bytes(name: &str, bytes: &[u8], take: &mut dyn FnMut(Object)) -> Result<Summary, Error> {
    read_from(name, bytes, take)
}

/// Reads one cluster file from where it comes, as [`read`] does.
pub(super) fn read_from(name: &str, stored: impl io::Read, take: &mut dyn FnMut(Object)) -> Result<Summary, Error> {
    let input = Input::from_reader(stored).map_err(|source| Error::Read { file: name.to_owned(), source })?;
    let mut summary = Summary::default();
    let into = (&mut summary, &mut Heard::default());
    parse(name, input, Some(&mut Places::default()), into, &mut |item| take(item.object))?;
    Ok(summary)
}

/// Reads files of pods, each with its object as JSON text. Objects of other kinds are counted as skipped.
///
/// # Errors
///
/// The first problem of any file; also where they hold something, and no pod.
pub fn read_pods(files: &[PathBuf]) -> Result<(Vec<WholePod>, Summary), Error> {
    let (mut pods, mut summary, mut others) = (Vec::new(), Summary::default(), Skipped::new());
    let (mut places, mut heard) = (Places::default(), Heard::default());
    for file in files {
        let name = display_name(file);
        let input = open(file, &name)?;
        let read = parse(&name, input, Some(&mut places), (&mut summary, &mut heard), &mut |item| match item.object {
            Object::Pod(pod) => pods.push((pod, item.json.to_owned())),
            other => *others.entry(other.kind().to_string()).or_default() += 1,
        });
        read.map_err(|error| match error {
            Error::NothingOfUse { file, kinds } => Error::NoPods { file, kinds },
            other => other,
        })?;
    }
    heard.any_of(&[Kind::Pod]).map_err(|kinds| Error::NoPods { file: names(files), kinds })?;
    heard.whole()?;
    summary.add(Summary { skipped: others, ..Summary::default() });
    summary.unversioned.retain(|kind, _| *kind == Kind::Pod);
    summary.filled.retain(|what, _| what.kind() == Kind::Pod);
    summary.lacking.retain(|what, _| what.kind() == Kind::Pod);
    Ok((pods, summary))
}

/// Reads files of ResourceClaims that a scheduler core has in mind: several may be called `<extended-resources>`, which is what each
/// claim is called that has yet to be made for a pod. Objects of other kinds are left out.
///
/// # Errors
///
/// The first problem of any file; also where they hold something, and no claim.
pub fn read_claims(files: &[PathBuf]) -> Result<Vec<ResourceClaim>, Error> {
    let (mut claims, mut heard) = (Vec::new(), Heard::default());
    for file in files {
        let name = display_name(file);
        let input = open(file, &name)?;
        let read = parse(&name, input, None, (&mut Summary::default(), &mut heard), &mut |item| {
            if let Object::ResourceClaim(claim) = item.object {
                claims.push(*claim);
            }
        });
        read.map_err(|error| match error {
            Error::NothingOfUse { file, kinds } => Error::NoClaims { file, kinds },
            other => other,
        })?;
    }
    heard.any_of(&[Kind::ResourceClaim]).map_err(|kinds| Error::NoClaims { file: names(files), kinds })?;
    heard.whole()?;
    Ok(claims)
}

/// A pod, and its object as JSON text.
pub type WholePod = (Box<Pod>, String);

/// Gives each object of a file to `take`, counts the others, and refuses duplicates where the places of objects are noted.
fn parse(
    file: &str,
    input: Input<'_>,
    mut places: Option<&mut Places>,
    (summary, heard): (&mut Summary, &mut Heard),
    take: &mut dyn FnMut(Item<'_>),
) -> Result<(), Error> {
    let meter = input.meter();
    let (mut is_empty, mut duplicate) = (true, None);
    // Kinds that are passed over, until something else is found.
    let mut useless = Some(BTreeSet::new());
    if let Some(places) = &mut places {
        places.begin(file);
    }
    let mut found = |found: Found<'_>| {
        is_empty = false;
        meter.end_of_object();
        match found {
            Found::Skipped(kind) => {
                if let Some(useless) = &mut useless {
                    useless.insert(kind.clone());
                }
                heard.skipped(&kind);
                *summary.skipped.entry(kind).or_default() += 1;
            }
            Found::Waiting => {}
            Found::EmptyList => {
                useless = None;
                heard.has_empty = true;
            }
            Found::Page { kind, goes_on } => heard.page(file, kind, goes_on),
            Found::Item(item) => {
                useless = None;
                heard.kinds.insert(item.object.kind());
                if item.is_unversioned {
                    *summary.unversioned.entry(item.object.kind()).or_default() += 1;
                }
                let counts = if item.is_filled { &mut summary.filled } else { &mut summary.lacking };
                item.lacks.iter().for_each(|what| *counts.entry(*what).or_default() += 1);
                if let Some(Err(error)) = places.as_mut().map(|places| places.insert(&item.object, item.place)) {
                    duplicate = Some(error);
                    return ControlFlow::Break(());
                }
                take(*item);
            }
        }
        ControlFlow::Continue(())
    };
    let parser = Parser::new(&mut found);
    let parsed = match input.format() {
        Ok((Format::Json, text)) => parser.json(text),
        Ok((Format::Yaml, text)) => parser.yaml(text),
        Ok((Format::Nothing, _)) => Ok(()),
        Err(_) => Err(Stopped::Elsewhere),
    };
    let file = || file.to_owned();
    match (parsed, meter.take_failure(), duplicate) {
        (_, Some(Failure::Io(source)), _) => Err(Error::Read { file: file(), source }),
        (_, Some(Failure::TooLarge), _) => Err(Error::TooLarge { file: file() }),
        (_, Some(Failure::ObjectTooLarge), _) => Err(Error::ObjectTooLarge { file: file() }),
        (_, None, Some(duplicate)) => Err(duplicate),
        (Err(Stopped::Wrong(source)), None, None) => Err(Error::Item { file: file(), source }),
        (Err(Stopped::Elsewhere), None, None) => {
            Err(Error::Read { file: file(), source: io::Error::other("not read to its end") })
        }
        (Ok(()), None, None) if is_empty => Err(Error::Empty { file: file() }),
        (Ok(()), None, None) => match useless {
            Some(kinds) if kinds.iter().all(|kind| TEMPLATES.contains(&kind.as_str())) => {
                let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
                Err(Error::NothingOfUse { file: file(), kinds })
            }
            Some(_) | None => Ok(()),
        },
    }
}

/// Kinds and lists that files hold, by which a cluster, pods or claims are told from what was given in their place.
#[derive(Default)]
struct Heard {
    /// Kinds that the cache keeps.
    kinds: BTreeSet<Kind>,
    /// Others, as messages call them.
    skipped: BTreeSet<String>,
    /// Whether there was a list without items: a cluster may be empty.
    has_empty: bool,
    /// The lists of which there was a part that says that it goes on, with its file, by their kind.
    begun: BTreeMap<String, String>,
    /// The kinds of lists of which there was a part that does not.
    ended: BTreeSet<String>,
}

impl Heard {
    fn skipped(&mut self, kind: &str) {
        if !self.skipped.contains(kind) {
            self.skipped.insert(kind.to_owned());
        }
    }

    fn page(&mut self, file: &str, kind: String, goes_on: bool) {
        if goes_on {
            self.begun.insert(kind, file.to_owned());
        } else {
            self.ended.insert(kind);
        }
    }

    /// Refuses files that hold something, and neither a node nor a pod.
    fn require_cluster(&self, files: &[PathBuf]) -> Result<(), Error> {
        let any = self.any_of(&[Kind::Node, Kind::Pod]);
        any.map_err(|kinds| Error::NothingOfUse { file: names(files), kinds })?;
        self.whole()
    }

    /// Whether there is an object of these kinds, or nothing at all. The error is what there is.
    fn any_of(&self, wanted: &[Kind]) -> Result<(), String> {
        let is_empty = self.kinds.is_empty() && self.skipped.is_empty();
        if is_empty || self.has_empty || wanted.iter().any(|kind| self.kinds.contains(kind)) {
            return Ok(());
        }
        let kinds: BTreeSet<String> =
            self.kinds.iter().map(Kind::to_string).chain(self.skipped.iter().cloned()).collect();
        Err(kinds.into_iter().collect::<Vec<_>>().join(", "))
    }

    /// Whether each list has an end: pages may be in several files, in whichever order.
    fn whole(&self) -> Result<(), Error> {
        match self.begun.iter().find(|(kind, _)| !self.ended.contains(*kind)) {
            Some((kind, file)) => Err(Error::Partial { file: file.clone(), kind: kind.clone() }),
            None => Ok(()),
        }
    }
}

/// The names of files, as messages call them all.
fn names(files: &[PathBuf]) -> String {
    files.iter().map(|file| display_name(file)).collect::<Vec<_>>().join(", ")
}

/// Kinds with a template of pods. In a list, as of `kubectl get all`, they are beside their pods; a file that holds nothing else is no
/// cluster.
const TEMPLATES: &[&str] =
    &["CronJob", "DaemonSet", "Deployment", "Job", "PodTemplate", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// The place of each object, for messages about duplicates. Objects are known by fingerprints of their names, which take 24
/// bytes: the names of a million pods would take as much memory as the cluster.
#[derive(Default)]
struct Places {
    files: Vec<String>,
    objects: FxHashMap<u64, Entry>,
    /// Random, so that nobody can make two names with one fingerprint.
    fingerprint: RandomState,
    check: RandomState,
}

/// An object that was found.
struct Entry {
    /// More bits of the fingerprint: together 96, so that two names never have the same by chance.
    check: u32,
    /// Index of the file.
    file: u32,
    document: u32,
    /// [`NO_INDEX`] outside a list.
    index: u32,
}

/// The index of an object that is not in a list.
const NO_INDEX: u32 = u32::MAX;

impl Places {
    /// Begins a file: the objects that follow are in it.
    fn begin(&mut self, file: &str) {
        self.files.push(file.to_owned());
    }

    /// Adds an object.
    ///
    /// # Errors
    ///
    /// Where another object has its name or UID.
    fn insert(&mut self, object: &Object, place: Place) -> Result<(), Error> {
        let (kind, name) = (object.kind(), object.key());
        if let Some(first) = self.note(&("name", kind, &name), place) {
            return Err(Error::Duplicate { kind, name, first, second: self.text(place) });
        }
        if let Object::Pod(pod) = object
            && !pod.metadata.uid.is_empty()
            && let Some(first) = self.note(&("uid", kind, &pod.metadata.uid), place)
        {
            let uid = pod.metadata.uid.clone();
            return Err(Error::DuplicateUid { uid, first, name, second: self.text(place) });
        }
        Ok(())
    }

    /// Notes where an object with this name is. Returns the place of another one that has it.
    fn note(&mut self, name: &(&str, Kind, &String), place: Place) -> Option<String> {
        let (fingerprint, check) = (self.fingerprint.hash_one(name), self.check.hash_one(name));
        let check = u32::try_from(check >> u32::BITS).unwrap_or_default();
        if let Some(first) = self.objects.get(&fingerprint).filter(|first| first.check == check) {
            let index = (first.index != NO_INDEX).then_some(first.index);
            let file = self.files.get(first.file as usize).map_or("", String::as_str);
            return Some(format!("{file}: {}", Place { document: first.document, index }));
        }
        let file = u32::try_from(self.files.len().saturating_sub(1)).unwrap_or_default();
        let entry = Entry { check, file, document: place.document, index: place.index.unwrap_or(NO_INDEX) };
        self.objects.insert(fingerprint, entry);
        None
    }

    fn text(&self, place: Place) -> String {
        format!("{}: {place}", self.files.last().map_or("", String::as_str))
    }
}

fn display_name(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() }
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// The size of a file; `None` where it has none.
fn size(file: &Path) -> Option<u64> {
    let metadata = if is_stdin(file) { None } else { file.metadata().ok() };
    metadata.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}

fn open(file: &Path, name: &str) -> Result<Input<'static>, Error> {
    let opened = if is_stdin(file) {
        Input::from_reader(io::stdin().lock())
    } else {
        nodesift_file::open(file).and_then(Input::from_reader)
    };
    opened.map_err(|source| Error::Read { file: name.to_owned(), source })
}
