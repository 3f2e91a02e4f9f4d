//! The folder of compiled code. The process executes what is in it, so nobody else may be able to write there. Start at
//! [`open`].

use std::fs::{DirBuilder, metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use wasmtime::{Cache, CacheConfig};

use crate::limits::CODE_COMPRESSION;

/// The mode of the folder: only its owner may read, write and enter it.
const MODE: u32 = 0o700;

/// Permissions of anybody but the owner. Other bits may be set: a folder inherits setgid from the one that it is made in.
const OTHERS: u32 = 0o077;

/// Permissions by which anybody but the owner can replace what is in a folder, unless it is [`STICKY`].
const WRITE_OF_OTHERS: u32 = 0o022;

/// In a folder with this bit only the owner of an entry can replace it.
const STICKY: u32 = 0o1000;

/// The user who can replace everything anyway.
const ROOT: u32 = 0;

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
    /// Another user could put another folder in its place.
    #[error("user {owner} can replace it, to whom {} belongs, and its content would be executed", folder.display())]
    AncestorOwner { folder: PathBuf, owner: u32 },
    /// Other users can put another folder in its place.
    #[error("others can replace it, since {} has the mode {mode:04o}, and its content would be executed", folder.display())]
    AncestorMode { folder: PathBuf, mode: u32 },
    /// wasmtime rejects the configuration of the cache.
    #[error(transparent)]
    Cache(#[from] wasmtime::Error),
}

/// The cache in a folder, which is made if it is not there. `None`, with a warning, where the folder cannot be used or is not
/// this user's alone: modules then load more slowly, and nothing else changes.
pub(super) fn open(folder: &Path) -> Option<Cache> {
    let opened = checked(folder).and_then(|folder| {
        let mut config = CacheConfig::new();
        config.with_directory(folder);
        // What is often loaded would else be compressed once more, to the highest level, by every process that comes across it.
        config.with_baseline_compression_level(CODE_COMPRESSION).with_optimized_compression_level(CODE_COMPRESSION);
        Ok(Cache::new(config)?)
    });
    opened
        .inspect_err(|error| tracing::warn!(folder = %folder.display(), %error, "compiled modules are not cached"))
        .ok()
}

/// The folder without symbolic links, if it belongs to this user alone and nobody else can put another in its place.
fn checked(folder: &Path) -> Result<PathBuf, Refused> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    let folder = folder.canonicalize()?;
    let found = metadata(&folder)?;
    let (owner, own, mode) = (found.uid(), rustix::process::geteuid().as_raw(), found.mode() & 0o7777);
    if owner != own {
        return Err(Refused::Owner { owner, own });
    }
    if mode & (MODE | OTHERS) != MODE {
        return Err(Refused::Mode { mode });
    }
    for ancestor in folder.ancestors().skip(1) {
        let found = metadata(ancestor)?;
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        let ancestor = || ancestor.to_owned();
        if owner != own && owner != ROOT {
            return Err(Refused::AncestorOwner { folder: ancestor(), owner });
        }
        if mode & WRITE_OF_OTHERS != 0 && mode & STICKY == 0 {
            return Err(Refused::AncestorMode { folder: ancestor(), mode });
        }
    }
    Ok(folder)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
    use std::time::{Duration, Instant};

    use wasmtime::{Config, Engine, Module};

    use super::*;

    #[test]
    fn only_a_folder_of_this_user_alone_is_used() {
        let parent = tempfile::tempdir().unwrap();
        let made = parent.path().join("a/b");
        assert_eq!(checked(&made).unwrap(), made.canonicalize().unwrap());
        for (mode, is_used) in [
            (0o700, true),
            (0o2700, true),
            (0o1700, true),
            (0o500, false),
            (0o701, false),
            (0o710, false),
            (0o755, false),
            (0o777, false),
            (0o1777, false),
        ] {
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
    fn a_folder_that_is_made_in_one_with_setgid_is_used() {
        let parent = tempfile::tempdir().unwrap();
        set_permissions(parent.path(), Permissions::from_mode(0o2755)).unwrap();
        let made = parent.path().join("made");
        assert_eq!(checked(&made).unwrap(), made.canonicalize().unwrap());
        assert_eq!(metadata(&made).unwrap().mode() & 0o7777, 0o2700);
    }

    #[test]
    fn a_folder_that_others_can_replace_is_refused() {
        let grandparent = tempfile::tempdir().unwrap();
        let parent = grandparent.path().join("parent");
        let folder = parent.join("folder");
        checked(&folder).unwrap();
        for above in [grandparent.path(), &parent] {
            for (mode, is_used) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, true), (0o2775, false)] {
                set_permissions(above, Permissions::from_mode(mode)).unwrap();
                let refused =
                    |error: &Refused| matches!(error, Refused::AncestorMode { mode: found, .. } if *found == mode);
                assert_eq!(checked(&folder).is_ok(), is_used, "{mode:o}");
                assert!(is_used || checked(&folder).is_err_and(|error| refused(&error)), "{mode:o}");
            }
            set_permissions(above, Permissions::from_mode(MODE)).unwrap();
        }
        if chown(&parent, Some(12_345), None).is_ok() {
            assert!(matches!(checked(&folder), Err(Refused::AncestorOwner { owner: 12_345, .. })));
        }
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

    /// The first file with this ending below a folder.
    fn found(folder: &Path, ending: &str) -> Option<PathBuf> {
        std::fs::read_dir(folder).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found(&path, ending)
            } else {
                Some(path).filter(|path| path.extension().is_some_and(|e| e == ending))
            }
        })
    }

    #[test]
    fn code_that_is_often_loaded_is_not_compressed_anew() {
        let folder = tempfile::tempdir().unwrap();
        let load = || {
            let mut config = Config::new();
            config.cache(open(&folder.path().join("code")));
            Module::new(&Engine::new(&config).unwrap(), b"\0asm\x01\0\0\0").unwrap();
        };
        // The cache writes its statistics on a thread of its own, of one load after the other.
        let until = |part: &str| {
            let end = Instant::now() + Duration::from_secs(60);
            loop {
                let stats = found(folder.path(), "stats").map(|path| (std::fs::read_to_string(&path).unwrap(), path));
                match stats {
                    Some((text, path)) if text.contains(part) => return (text, path),
                    stats => assert!(Instant::now() < end, "no {part} in {stats:?}"),
                }
                std::thread::yield_now();
            }
        };
        load();
        let (stats, path) = until("usages = 1");
        std::fs::write(&path, stats.replace("usages = 1", "usages = 1000000")).unwrap();
        load();
        until("usages = 1000001");
        load();
        let (stats, _) = until("usages = 1000002");
        assert!(stats.contains(&format!("compression = {CODE_COMPRESSION}")), "{stats}");
    }
}
