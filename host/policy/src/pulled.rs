//! Modules that were pulled from registries, in a folder: what is there needs no registry any more.
//!
//! ```text
//! <SHA-256 in the policy>.json   the manifest, and the signatures that were there
//! <SHA-256>.wasm                 the component
//! ```
//!
//! Nothing is believed of these files: when they are read, everything is compared with the digest of the policy and verified with its
//! keys, as when it came. What does not fit counts as not there. Start at [`PulledFolder::component`] and [`PulledFolder::pull`].

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use crate::file;
use crate::keys::{self, KeysError};
use crate::limits::PULLED_BYTES;
use crate::proof::Proof;
use crate::spec::RegistryModule;
use nodesift_registry::limits::COMPONENT_BYTES;
use nodesift_registry::{
    self as registry, Artifact, PublicKey, Pulled, RegistryError, Signatures, VerifyError, Wanted, digest_of, hex,
};

/// Pulls of this process that were written.
static PULLS: AtomicU64 = AtomicU64::new(0);

/// Why a module of a registry is not there.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// It has not been pulled.
    #[error("it has not been pulled yet")]
    NotHere,
    /// There is no folder for it.
    #[error("there is no folder for modules of registries: set XDG_CACHE_HOME or HOME, or give --state-folder")]
    NoFolder,
    /// It cannot be kept.
    #[error("it cannot be kept: {}: {source}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// I/O error of the write.
        source: io::Error,
    },
    /// A key of the policy is not known.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The registry does not give it.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Nobody has signed it who may, by `spec.modules.keys`.
    #[error("{0}")]
    Signature(#[from] VerifyError),
}

/// The folder of modules that were pulled. Clones mean the same.
#[derive(Debug, Clone, Default)]
pub struct PulledFolder(Option<PathBuf>);

impl PulledFolder {
    /// A folder, which is made when something is pulled.
    pub fn new(path: &Path) -> Self {
        Self(Some(path.to_owned()))
    }

    /// Without a folder, policies with modules of registries are refused.
    pub fn none() -> Self {
        Self(None)
    }

    fn path(&self, name: &str) -> Result<PathBuf, PullError> {
        self.0.as_ref().map(|folder| folder.join(name)).ok_or(PullError::NoFolder)
    }

    /// The component, as it was pulled, and what shows that it is the one of the policy.
    ///
    /// # Errors
    ///
    /// [`PullError::NotHere`] where it is not there, or not signed by a key of the policy; or what is wrong with these keys.
    pub(crate) fn component(&self, module: &RegistryModule) -> Result<(Vec<u8>, Proof), PullError> {
        let keys = keys::read(&module.keys)?;
        let path = self.path(&record_name(module))?;
        let proof = Proof::read(&path).map_err(|_| PullError::NotHere)?;
        let artifact = proof.artifact(&module.digest, &keys).map_err(|_| PullError::NotHere)?;
        let component = self.path(&component_name(&artifact))?;
        let bytes = file::read(&component, COMPONENT_BYTES).map_err(|_| PullError::NotHere)?;
        if registry::digest_text(&digest_of(&bytes)) != artifact.component.digest {
            return Err(PullError::NotHere);
        }
        touch(&path);
        touch(&component);
        Ok((bytes, proof))
    }

    /// Pulls the component, and keeps it. Waits for the registry, but no longer than `is_over` is false.
    ///
    /// # Errors
    ///
    /// All of [`PullError`] but [`PullError::NotHere`].
    pub(crate) fn pull(
        &self,
        module: &RegistryModule,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(Vec<u8>, Proof), PullError> {
        let keys = keys::read(&module.keys)?;
        let path = self.path(&record_name(module))?;
        let wanted = Wanted { digest: Some(module.digest), signatures: !keys.is_empty() };
        let Pulled { artifact, component, signatures } =
            registry::pull_signed(&module.address, wanted, &keys, None, is_over)?;
        check(&artifact, module, &signatures, &keys)?;
        let failed = |path: &Path, source: io::Error| PullError::Write { path: path.to_owned(), source };
        let proof = Proof::new(&artifact.manifest, signatures);
        let record = serde_json::to_vec(&proof).map_err(|error| failed(&path, error.into()))?;
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|source| failed(folder, source))?;
            // Whatever is not there any more is pulled again when it is needed.
            let _left = bound(folder, PULLED_BYTES.saturating_sub((record.len() + component.len()) as u64));
        }
        for (path, bytes) in [(self.path(&component_name(&artifact))?, &component), (path, &record)] {
            // Others may pull the same.
            let pull = PULLS.fetch_add(1, Ordering::Relaxed);
            let beside = path.with_extension(format!("{}-{pull}.new", std::process::id()));
            file::replace(&path, &beside, bytes).map_err(|source| failed(&path, source))?;
        }
        tracing::info!(module = %module.address, digest = hex(&artifact.digest()), bytes = component.len(), "module pulled");
        Ok((component, proof))
    }
}

/// Whether it is the artifact of the policy, and one of the keys has signed it.
fn check(
    artifact: &Artifact,
    module: &RegistryModule,
    signatures: &Signatures,
    keys: &[PublicKey],
) -> Result<(), PullError> {
    if !artifact.is(&module.digest) {
        let (reference, expected) = (module.address.to_string(), registry::digest_text(&module.digest));
        return Err(RegistryError::Digest { reference, expected }.into());
    }
    match keys {
        [] => Ok(()),
        keys => Ok(registry::verify(signatures, artifact.manifest.as_bytes(), keys)?),
    }
}

fn record_name(module: &RegistryModule) -> String {
    format!("{}.json", hex(&module.digest))
}

fn component_name(artifact: &Artifact) -> String {
    format!("{}.wasm", artifact.component.digest.trim_start_matches("sha256:"))
}

/// Notes that a file is in use.
fn touch(path: &Path) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    // Fails where it has just gone, or where the folder cannot be written to: then nothing is pulled that it would have to leave.
    let _unnoted = utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty());
}

/// Removes the files that were used least recently, until the others have no more than so many bytes.
fn bound(folder: &Path, bytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        files.push((found.modified().unwrap_or(SystemTime::UNIX_EPOCH), found.len(), entry.path()));
    }
    files.sort_unstable();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in files {
        if total <= bytes {
            break;
        }
        fs::remove_file(path)?;
        total -= size;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use nodesift_registry::Address;

    #[test]
    fn the_files_that_were_used_last_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (age, name) in ["a", "b", "c", "d"].iter().enumerate() {
            fs::write(at(name), [0; 100]).unwrap();
            let used = SystemTime::UNIX_EPOCH + Duration::from_secs(age as u64);
            fs::File::options().write(true).open(at(name)).unwrap().set_modified(used).unwrap();
        }
        touch(&at("a"));
        bound(folder.path(), 250).unwrap();
        let left: Vec<bool> = ["a", "b", "c", "d"].iter().map(|name| at(name).exists()).collect();
        assert_eq!(left, [true, false, false, true]);
        bound(folder.path(), 1 << 20).unwrap();
        assert!(at("a").exists() && at("d").exists());
    }

    #[test]
    fn without_a_folder_nothing_is_there_and_nothing_is_pulled() {
        let address = Address::parse("127.0.0.1:1/a:1", false).unwrap();
        let module = RegistryModule { address, digest: [0; 32], keys: Arc::new([]) };
        assert!(matches!(PulledFolder::none().component(&module), Err(PullError::NoFolder)));
        assert!(matches!(PulledFolder::none().pull(&module, &|| false), Err(PullError::NoFolder)));
        let folder = tempfile::tempdir().unwrap();
        let pulled = PulledFolder::new(folder.path());
        assert!(matches!(pulled.component(&module), Err(PullError::NotHere)));
        let refusal = pulled.pull(&module, &|| false).unwrap_err().to_string();
        assert!(refusal.contains("cannot be reached"), "{refusal}");
    }
}
