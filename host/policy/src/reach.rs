//! Paths and registries that a policy may name: files below one folder, and some registries. Start at [`Reach`].
//!
//! The policy of a file is the operator's, and may name whatever this process can read. One that is an object of a cluster may be written
//! by somebody who has no right on this machine, and whose errors are written into the object: so it names no paths, unless the operator
//! says below which folder. A path counts as where it leads: links are followed one by one, from a handle on the folder, so that nothing
//! outside is opened or looked at, also where somebody changes links meanwhile.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};

use crate::file::{self, FileError, OUTSIDE};
use crate::limits::PATH_LINKS;
use nodesift_registry::{Address, Hosts};

/// Restriction of the files and registries that a policy may name; by default, there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    files: Files,
    registries: Option<Hosts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Files {
    #[default]
    Everywhere,
    Below(Folder),
    Nowhere,
}

/// Why a policy may not name something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReachError {
    /// There is no folder for its files.
    #[error("a policy of the cluster names files only below the folder of --module-folder, and there is none")]
    NoFolder,
    /// The path does not begin with the folder, or goes up.
    #[error("{OUTSIDE}")]
    Outside,
    /// The registry is not listed.
    #[error("{0} is not listed: --registries has the hosts that modules are pulled from")]
    Unlisted(String),
}

impl Reach {
    /// That of a policy which is an object of a cluster. Without a folder it names no files.
    pub fn for_object(folder: Option<Folder>, registries: Option<Hosts>) -> Self {
        Self { files: folder.map_or(Files::Nowhere, Files::Below), registries }
    }

    /// That of the operator's own policy. Without a folder it names any files.
    pub fn for_file(folder: Option<Folder>, registries: Option<Hosts>) -> Self {
        Self { files: folder.map_or(Files::Everywhere, Files::Below), registries }
    }

    /// A path that a policy names. Nothing is looked at.
    ///
    /// # Errors
    ///
    /// [`ReachError::NoFolder`], [`ReachError::Outside`].
    pub(crate) fn path(&self, path: PathBuf) -> Result<NamedPath, ReachError> {
        match &self.files {
            Files::Everywhere => Ok(path.into()),
            Files::Below(folder) => {
                let within = folder.within(&path).ok_or(ReachError::Outside)?;
                Ok(NamedPath { path, below: Some((folder.clone(), within)) })
            }
            Files::Nowhere => Err(ReachError::NoFolder),
        }
    }

    /// An address of a module, from which nothing leads to other hosts than the listed ones.
    ///
    /// # Errors
    ///
    /// [`ReachError::Unlisted`].
    pub(crate) fn registry(&self, address: Address) -> Result<Address, ReachError> {
        let Some(hosts) = &self.registries else { return Ok(address) };
        let named = address.registry().to_owned();
        address.limited_to(hosts).ok_or(ReachError::Unlisted(named))
    }
}

/// A folder below which the files of a policy are. Clones are the same one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder(Arc<FolderPaths>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FolderPaths {
    /// Absolute path of the folder as the operator names it; symbolic links are not resolved.
    named: PathBuf,
    /// Path of the folder with all symbolic links resolved.
    real: PathBuf,
}

impl Folder {
    /// This folder, which is there.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (named, real) = (std::path::absolute(path)?, fs::canonicalize(path)?);
        match real.is_dir() {
            true => Ok(Self(Arc::new(FolderPaths { named, real }))),
            false => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// The rest of a path that begins with this folder and never goes up.
    fn within(&self, path: &Path) -> Option<PathBuf> {
        let FolderPaths { named, real } = &*self.0;
        let rest = path.strip_prefix(named).or_else(|_| path.strip_prefix(real)).ok()?;
        let is_inside = rest.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        (is_inside && !rest.as_os_str().is_empty()).then(|| rest.to_owned())
    }

    /// Follows a path of [`Self::within`] to what it names.
    fn find(&self, within: &Path) -> Result<Found, FileError> {
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut above = vec![openat(CWD, &self.0.real, folder, Mode::empty()).map_err(io::Error::from)?];
        let (mut rest, mut links) = (parts(within), 0);
        loop {
            let Some(name) = rest.pop() else { return Err(FileError::Io(ErrorKind::IsADirectory.into())) };
            let here = above.last().ok_or(FileError::Outside)?;
            if name == ".." {
                above.pop();
                if above.is_empty() {
                    return Err(FileError::Outside);
                }
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let entry = openat(here, &name, flags, Mode::empty()).map_err(io::Error::from)?;
            let found = File::from(entry);
            let metadata = found.metadata()?;
            if metadata.is_symlink() {
                links += 1;
                if links > PATH_LINKS {
                    return Err(FileError::Io(ErrorKind::TooManyLinks.into()));
                }
                // Of the link that was opened, whatever has its name by now.
                let target = readlinkat(&found, "", Vec::new()).map_err(io::Error::from)?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    let FolderPaths { named, real } = &*self.0;
                    let inside = target.strip_prefix(real).or_else(|_| target.strip_prefix(named));
                    rest.extend(parts(inside.map_err(|_| FileError::Outside)?));
                    above.truncate(1);
                } else {
                    rest.extend(parts(&target));
                }
            } else if rest.is_empty() {
                let folder = above.pop().ok_or(FileError::Outside)?;
                return Ok(Found { folder, name, handle: found, metadata });
            } else {
                above.push(found.into());
            }
        }
    }
}

/// The names of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// File that a path names: verified to be below its folder, and not open for reading.
struct Found {
    folder: OwnedFd,
    name: OsString,
    handle: File,
    metadata: Metadata,
}

impl Found {
    fn read(self, limit: u64) -> Result<Vec<u8>, FileError> {
        // Before it is opened, because that alone has an effect on some devices.
        file::check(&self.metadata, limit)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // By its name in the folder that was found: a link that has taken its place is not followed.
        let file = openat(&self.folder, &self.name, flags, Mode::empty()).map_err(io::Error::from)?;
        file::read_open(File::from(file), limit)
    }

    fn real(&self) -> io::Result<PathBuf> {
        use std::os::fd::AsRawFd as _;
        fs::read_link(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }
}

/// A path that a policy names. What is read of it is below the folder of its policy, where that has one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedPath {
    path: PathBuf,
    /// The folder, and the path from there.
    below: Option<(Folder, PathBuf)>,
}

impl NamedPath {
    /// The path as it is named, joined to the folder of the policy's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something in this folder. `name` does not go up.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> Self {
        let below = self.below.as_ref().map(|(folder, within)| (folder.clone(), within.join(&name)));
        Self { path: self.path.join(&name), below }
    }

    /// The content of a regular file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// As [`file::read`]; [`FileError::Outside`] where it leads out of the policy's folder.
    pub(crate) fn read(&self, limit: u64) -> Result<Vec<u8>, FileError> {
        match &self.below {
            None => file::read(&self.path, limit),
            Some((folder, within)) => folder.find(within)?.read(limit),
        }
    }

    /// Metadata of the file, with symbolic links followed.
    pub(crate) fn metadata(&self) -> Result<Metadata, FileError> {
        match &self.below {
            None => Ok(fs::metadata(&self.path)?),
            Some((folder, within)) => Ok(folder.find(within)?.metadata),
        }
    }

    /// Path of the file with all symbolic links resolved.
    pub(crate) fn real(&self) -> Result<PathBuf, FileError> {
        match &self.below {
            None => Ok(fs::canonicalize(&self.path)?),
            Some((folder, within)) => Ok(folder.find(within)?.real()?),
        }
    }
}

impl<T: Into<PathBuf>> From<T> for NamedPath {
    /// A path of the operator, which leads anywhere.
    fn from(path: T) -> Self {
        Self { path: path.into(), below: None }
    }
}

impl fmt::Display for NamedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
