//! The folder of compiled code. The process executes what is in it, so nobody else may be able to write there. Start at
//! [`open`].

use std::fs::{DirBuilder, metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use wasmtime::{Cache, CacheConfig};

/// The mode of the folder: only its owner may read, write and enter it.
const MODE: u32 = 0o700;

/// Why a folder is not used.
#[derive(Debug, thiserror::Error)]
enum Refused {
    /// It cannot be made or looked at.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Another user could have put code there.
    #[error("it belongs to user {owner}, not to user {own}, and its content would be executed")]
    Owner { owner: u32, own: u32 },
    /// Other users can put code there.
    #[error("it has the mode {mode:04o}, not {MODE:04o}, and its content would be executed")]
    Mode { mode: u32 },
    /// wasmtime rejects it.
    #[error(transparent)]
    Cache(#[from] wasmtime::Error),
}

/// The cache in a folder, which is made if it is not there. `None`, with a warning, where the folder cannot be used or is not
/// this user's alone: modules then load more slowly, and nothing else changes.
pub(super) fn open(folder: &Path) -> Option<Cache> {
    let opened = checked(folder).and_then(|folder| {
        let mut config = CacheConfig::new();
        config.with_directory(folder);
        Ok(Cache::new(config)?)
    });
    opened
        .inspect_err(|error| tracing::warn!(folder = %folder.display(), %error, "compiled modules are not cached"))
        .ok()
}

/// The folder without symbolic links, if it belongs to this user alone.
fn checked(folder: &Path) -> Result<PathBuf, Refused> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    let folder = folder.canonicalize()?;
    let found = metadata(&folder)?;
    let (owner, own, mode) = (found.uid(), rustix::process::geteuid().as_raw(), found.mode() & 0o7777);
    if owner != own {
        return Err(Refused::Owner { owner, own });
    }
    if mode != MODE {
        return Err(Refused::Mode { mode });
    }
    Ok(folder)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn only_a_folder_of_this_user_alone_is_used() {
        let parent = tempfile::tempdir().unwrap();
        let made = parent.path().join("a/b");
        assert_eq!(checked(&made).unwrap(), made.canonicalize().unwrap());
        for (mode, is_used) in
            [(0o700, true), (0o701, false), (0o710, false), (0o755, false), (0o777, false), (0o1777, false)]
        {
            let folder = parent.path().join(format!("{mode:o}"));
            create_dir(&folder).unwrap();
            set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            assert_eq!(checked(&folder).is_ok(), is_used, "{mode:o}");
            // Under another name it is the same folder.
            let link = parent.path().join(format!("link-{mode:o}"));
            symlink(&folder, &link).unwrap();
            assert_eq!(checked(&link).is_ok(), is_used, "a link to {mode:o}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(checked(file.path()), Err(Refused::Io(_))));
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        set_permissions(folder.path(), Permissions::from_mode(MODE)).unwrap();
        if chown(folder.path(), Some(12_345), None).is_err() {
            // Only root can give a folder away.
            println!("not root: another user's folder is not tested here");
            return;
        }
        assert!(matches!(checked(folder.path()), Err(Refused::Owner { owner: 12_345, .. })));
    }
}
