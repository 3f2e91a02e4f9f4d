//! The keys of a policy that may sign modules. Start at [`read`].

use crate::file::FileError;
use crate::reach::NamedPath;
use crate::spec::Key;
use nodesift_registry::limits::KEY_BYTES;
use nodesift_registry::{KeyError, PublicKey};

/// Why a key of a policy is not known.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// It cannot be read.
    #[error("key {path}: {source}")]
    File {
        /// Path of the key's file.
        path: NamedPath,
        /// Error of reading the file.
        source: FileError,
    },
    /// It cannot be used.
    #[error("key {path}: {source}")]
    Key {
        /// Path of the key's file.
        path: NamedPath,
        /// Error of parsing the key.
        source: KeyError,
    },
}

/// All of these keys.
///
/// # Errors
///
/// What is wrong with the first that cannot be used: without it, fewer keys would be trusted than the policy names.
pub(crate) fn read(keys: &[Key]) -> Result<Vec<PublicKey>, KeysError> {
    let read = |key: &Key| match key {
        Key::Inline(key) => Ok(key.clone()),
        Key::Path(path) => {
            let bytes = path.read(KEY_BYTES);
            let bytes = bytes.map_err(|source| KeysError::File { path: path.clone(), source })?;
            let key = PublicKey::from_pem(&String::from_utf8_lossy(&bytes));
            key.map_err(|source| KeysError::Key { path: path.clone(), source })
        }
    };
    keys.iter().map(read).collect()
}
