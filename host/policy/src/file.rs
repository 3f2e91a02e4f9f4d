//! Files that a policy names, and the policy's own: regular files of a bounded size, and nothing else. A device or a pipe could
//! give bytes without end, or none for ever. And files that this program keeps for itself. Start at [`read`] and [`replace`].

use std::fs::{File, Metadata, OpenOptions, metadata};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use crate::limits::POLICY_FILE_BYTES;

/// The words for a path outside. No others are used: they would say what is there.
pub(crate) const OUTSIDE: &str = "not below the folder of --module-folder";

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be opened or read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is a device, a pipe or a socket.
    #[error("this is not a regular file")]
    NotAFile,
    /// It leads out of the folder below which the policy's files are. What is there is not looked at.
    #[error("{OUTSIDE}")]
    Outside,
    /// It is larger than what it could be.
    #[error("this file has more than {limit} bytes")]
    TooLarge {
        /// Size limit of the file, in bytes.
        limit: u64,
    },
}

/// The content of a regular file of at most `limit` bytes. Symbolic links are followed.
///
/// # Errors
///
/// One variant of [`FileError`] per step. No more than the limit is read.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    // Before it is opened, because that alone has an effect on some devices; and after, because it may be another file by now.
    check(&metadata(path)?, limit)?;
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    read_open(OpenOptions::new().read(true).custom_flags(flags).open(path)?, limit)
}

/// Whether this is a regular file of at most `limit` bytes.
pub(crate) fn check(found: &Metadata, limit: u64) -> Result<(), FileError> {
    match found.is_file() {
        false if found.is_dir() => Err(FileError::Io(ErrorKind::IsADirectory.into())),
        false => Err(FileError::NotAFile),
        true if found.len() > limit => Err(FileError::TooLarge { limit }),
        true => Ok(()),
    }
}

/// The content of a file that is open, from there on, under the same conditions as [`read`].
pub(crate) fn read_open(file: File, limit: u64) -> Result<Vec<u8>, FileError> {
    check(&file.metadata()?, limit)?;
    let mut bytes = Vec::new();
    // A file may grow, and some files of the kernel do not tell their size.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge { limit });
    }
    Ok(bytes)
}

/// Writes a file for this user alone, under the name `beside`, and gives it its own once the disk has it.
///
/// # Errors
///
/// Why it cannot be written. Then the one before is there.
pub(crate) fn replace(path: &Path, beside: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(beside)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    written().and_then(|()| rename(beside, path)).inspect_err(|_| {
        // What was written of it takes room on a disk that may be full. Fails where it could not be made.
        let _gone = std::fs::remove_file(beside);
    })
}

/// Gives a file another name, and waits until the disk has it.
///
/// # Errors
///
/// Why that fails.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    File::open(to.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// The text of a document: a regular file of at most [`POLICY_FILE_BYTES`] in UTF-8.
///
/// # Errors
///
/// Why it cannot be read.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = read(path, POLICY_FILE_BYTES)?;
    String::from_utf8(bytes).map_err(|error| FileError::Io(io::Error::new(ErrorKind::InvalidData, error)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LIMIT: u64 = 100;

    #[test]
    fn a_file_is_read_up_to_its_limit_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (bytes, is_read) in [(0, true), (100, true), (101, false), (1_000_000, false)] {
            std::fs::write(&file, vec![7; bytes]).unwrap();
            for path in [&file, &link] {
                match read(path, LIMIT) {
                    Ok(read) => assert!(is_read && read.len() == bytes),
                    Err(error) => assert!(!is_read && matches!(error, FileError::TooLarge { limit: LIMIT }), "{error}"),
                }
            }
        }
        for path in [folder.path().join("none"), folder.path().to_owned()] {
            assert!(matches!(read(&path, LIMIT), Err(FileError::Io(_))), "{}", path.display());
        }
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        let socket = folder.path().join("socket");
        for path in [Path::new("/dev/zero"), Path::new("/dev/null"), &pipe, &link, &socket] {
            let error = read(path, LIMIT).unwrap_err();
            assert!(matches!(error, FileError::NotAFile), "{}: {error}", path.display());
        }
    }

    #[test]
    fn a_file_of_the_kernel_that_hides_its_size_is_read_no_further_than_the_limit() {
        assert!(matches!(read(Path::new("/proc/self/smaps"), LIMIT), Err(FileError::TooLarge { .. })));
        assert!(read(Path::new("/proc/self/comm"), LIMIT).is_ok());
    }
}
