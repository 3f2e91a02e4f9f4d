//! The state of a policy's files, without their content, and of what else decides what they mean. Start at [`Files::stamp`].

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::object::ObjectState;
use super::source::Source;
use crate::file::FileError;
use crate::kubernetes::{Auto, ServerVersion};
use crate::reach::NamedPath;
use crate::spec::{Policy, locate};

/// The files of a policy: its document, and the modules that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    /// Source of the document.
    pub(super) root: Source,
    /// The source of the version of Kubernetes of a document that names none.
    pub(super) server: ServerVersion,
    /// By path, as the document names them.
    pub(super) modules: BTreeSet<NamedPath>,
}

/// The state of all files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Of the document's files and of the modules.
    files: Vec<Option<FileStamp>>,
    /// The document's files; none where it is an object.
    documents: Vec<PathBuf>,
    /// State of the policy object; `None` where the source is files.
    object: Option<ObjectState>,
    /// The source of the version of Kubernetes when the files were read.
    auto: Auto,
}

/// The state of one file. Times that a reader changes are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    mode: u32,
    owner: (u32, u32),
}

impl Files {
    pub(crate) fn new(root: &Source, server: &ServerVersion) -> Self {
        Self { root: root.clone(), server: server.clone(), modules: BTreeSet::new() }
    }

    /// Returns the files of this document with the modules of this policy.
    pub(crate) fn with_policy(&self, policy: &Policy) -> Self {
        let modules = policy.modules().flat_map(|named| named.module.files()).collect();
        Self { modules, ..self.clone() }
    }

    /// Their state now. A file that cannot be looked at has none.
    pub(crate) fn stamp(&self) -> Stamp {
        let (documents, object) = match &self.root {
            Source::Path(path, _) => (locate(path).unwrap_or_default(), None),
            Source::Object(object) => (Vec::new(), Some(object.state())),
            Source::Fixed(_) => (Vec::new(), None),
        };
        let auto = self.server.auto();
        let found = documents.iter().map(|path| fs::metadata(path).ok());
        let found = found.chain(self.modules.iter().map(|path| path.metadata().ok()));
        Stamp {
            files: found.map(|found| found.as_ref().map(stamp)).collect(),
            documents: documents.clone(),
            object,
            auto,
        }
    }

    /// All paths of the files: as they are named, and where symbolic links lead. What happens to one of them changes the policy. Those that
    /// lead out of the folder of the policy's files are none of it.
    pub(super) fn paths(&self) -> BTreeSet<PathBuf> {
        let root = match &self.root {
            Source::Path(path, _) => Some(path),
            Source::Object(_) | Source::Fixed(_) => None,
        };
        let documents = root.and_then(|root| locate(root).ok()).unwrap_or_default();
        let documents = root.into_iter().chain(&documents).map(|path| (path.clone(), fs::canonicalize(path).ok()));
        let modules = self.modules.iter().filter_map(|named| match named.real() {
            Err(FileError::Outside) => None,
            real => Some((named.path().to_owned(), real.ok())),
        });
        documents.chain(modules).flat_map(|(named, real)| std::iter::once(named).chain(real)).collect()
    }

    /// The folder in which every document is a file of the policy, also one that is not there yet; as it is named, and where symbolic
    /// links lead.
    pub(super) fn document_folders(&self) -> BTreeSet<PathBuf> {
        match &self.root {
            Source::Path(path, _) if path.is_dir() => {
                fs::canonicalize(path).into_iter().chain([path.clone()]).collect()
            }
            Source::Path(..) | Source::Object(_) | Source::Fixed(_) => BTreeSet::new(),
        }
    }

    /// The folders in which something has to happen before the state changes.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let folder = |path: &PathBuf| match path.is_dir() {
            true => Some(path.clone()),
            false => path
                .parent()
                .map(|parent| if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() }),
        };
        self.paths().iter().filter_map(folder).collect()
    }
}

impl Stamp {
    /// Whether all that differs is what decided the version of Kubernetes.
    pub(super) fn is_same_but_for_version(&self, other: &Self) -> bool {
        let Self { files, documents, object, auto } = self;
        *auto != other.auto && *files == other.files && *documents == other.documents && *object == other.object
    }
}

fn stamp(found: &Metadata) -> FileStamp {
    FileStamp {
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        mode: found.mode(),
        owner: (found.uid(), found.gid()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kubernetes::Release;
    use crate::reach::Reach;

    #[test]
    fn a_stamp_changes_with_content_mode_and_the_target_of_a_link_and_not_by_reading() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("policy.yaml"), name).unwrap();
        }
        let link = |target: &str| {
            std::os::unix::fs::symlink(target, at("new")).unwrap();
            fs::rename(at("new"), at("..data")).unwrap();
        };
        link("a");
        let server = ServerVersion::from(Auto::ServerUnknown);
        let files = Files::new(&Source::Path(at("..data"), Reach::default()), &server);
        let first = files.stamp();
        fs::read(at("a/policy.yaml")).unwrap();
        assert_eq!(files.stamp(), first);
        link("b");
        let second = files.stamp();
        assert_ne!(second, first);
        fs::write(at("b/policy.yaml"), "longer").unwrap();
        let third = files.stamp();
        assert_ne!(third, second);
        fs::remove_file(at("b/policy.yaml")).unwrap();
        assert_ne!(files.stamp(), third);
        let fourth = files.stamp();
        server.see(Release::from_answer(br#"{"major": "1", "minor": "36"}"#).unwrap());
        assert_ne!(files.stamp(), fourth);
        assert!(files.stamp().is_same_but_for_version(&fourth) && !fourth.is_same_but_for_version(&fourth));
        assert!(!files.stamp().is_same_but_for_version(&third), "another file too");
        assert!(files.paths().contains(&fs::canonicalize(at("b")).unwrap()));
    }
}
