//! The cluster files of a running sidecar, which can be read once more: what no predicate reads of an object is dropped, until a policy reads
//! it. Start at [`ClusterFiles::read`].

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::SAMPLE;
use nodesift_object::Object;
use nodesift_source::files;

/// The name of the built-in sample in messages.
pub(super) const SAMPLE_NAME: &str = "the built-in sample";

/// Cluster files, or the built-in sample, as they were when they were read first.
#[derive(Debug)]
pub(crate) enum ClusterFiles {
    /// Files with what tells their states apart; `None` for what is no regular file, as standard input.
    Files(Vec<(PathBuf, Option<Stamp>)>),
    /// The sample in this program.
    Sample,
}

/// State of a file: device, inode, size in bytes, and the time of the last change in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

/// Why cluster files are not read once more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadAgainError {
    /// It can be read once alone.
    #[error("{} is no regular file, which could be read again", .0.display())]
    NoFile(PathBuf),
    /// Its objects are no longer those that the cache has.
    #[error("{} has changed since it was read", .0.display())]
    Changed(PathBuf),
    /// It is not read to its end.
    #[error(transparent)]
    Read(#[from] files::Error),
}

impl ClusterFiles {
    /// Notes the states of files, which are read after that.
    pub(super) fn new(files: &[PathBuf]) -> Self {
        Self::Files(files.iter().map(|path| (path.clone(), stamp(path))).collect())
    }

    /// Gives on every object once more.
    ///
    /// # Errors
    ///
    /// Where a file cannot be read again, or is not what it was; objects may have been given on until then.
    pub(crate) fn read(&self, take: &mut dyn FnMut(Object)) -> Result<(), ReadAgainError> {
        let Self::Files(known) = self else {
            files::read_bytes(SAMPLE_NAME, SAMPLE, take)?;
            return Ok(());
        };
        unchanged(known)?;
        let paths: Vec<PathBuf> = known.iter().map(|(path, _)| path.clone()).collect();
        files::read(&paths, take, &mut |_| {})?;
        unchanged(known)
    }
}

fn unchanged(known: &[(PathBuf, Option<Stamp>)]) -> Result<(), ReadAgainError> {
    known.iter().try_for_each(|(path, before)| match (before, stamp(path)) {
        (None, _) => Err(ReadAgainError::NoFile(path.clone())),
        (Some(before), now) if Some(*before) == now => Ok(()),
        (Some(_), _) => Err(ReadAgainError::Changed(path.clone())),
    })
}

fn stamp(path: &Path) -> Option<Stamp> {
    let file = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const NODE: &str = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}"#;

    #[test]
    fn files_are_read_again_while_they_are_what_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cluster.json");
        std::fs::write(&path, NODE).unwrap();
        let files = ClusterFiles::new(std::slice::from_ref(&path));
        let count = || {
            let mut count = 0;
            files.read(&mut |_| count += 1).map(|()| count)
        };
        assert_eq!(count().unwrap(), 1);
        assert_eq!(count().unwrap(), 1);
        std::fs::write(&path, format!("{NODE}\n")).unwrap();
        assert!(matches!(count(), Err(ReadAgainError::Changed(_))));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(count(), Err(ReadAgainError::Changed(_))));
        let folder = ClusterFiles::new(&[folder.path().to_owned()]);
        assert!(matches!(folder.read(&mut |_| {}), Err(ReadAgainError::NoFile(_))));
        let mut objects = 0;
        ClusterFiles::Sample.read(&mut |_| objects += 1).unwrap();
        assert!(objects > 1_000, "{objects}");
    }
}
