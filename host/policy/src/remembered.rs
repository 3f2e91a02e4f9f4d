//! The last good policy, remembered over restarts: its document and the bytes of its modules, in a folder of its own.
//!
//! ```text
//! policy.json      the document, where it came from, and the digest of each module
//! previous.json    the same of the policy before, where the active one may be rolled back to it
//! modules/<SHA-256>.wasm
//! modules/<SHA-256 in the document>.json    manifest and signatures of a module that is an artifact
//! ```
//!
//! Each file is written beside and renamed, modules first: whatever happens meanwhile, `policy.json` names what is there. All of it is
//! compared with its digests when it is read, and with those of the document; signatures are verified with its keys. Start at
//! [`StateFolder::remember`] and [`StateFolder::recall`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::activate::{ActivateError, Digest, Module};
use crate::file::{self, FileError};
use crate::keys::{self, KeysError};
use crate::kubernetes::{Auto, Release};
use crate::limits::REMEMBERED_BYTES;
use crate::proof::{Proof, ProofError};
use crate::pulled::PulledFolder;
use crate::spec::{ACCOUNTING, Key, ModuleSource, NamedModule, Policy, PolicyError};
use nodesift_engine::{ActivePolicy, KubernetesVersion};
use nodesift_registry::{digest_text, hex, read_digest};
use nodesift_sandbox::limits::COMPONENT_BYTES;

const ACTIVE: &str = "policy.json";
const PREVIOUS: &str = "previous.json";
const MODULES: &str = "modules";

/// The bits of a mode by which others than the owner write. Reading gives nobody a say in which policy is served.
const WRITE_OF_OTHERS: u32 = 0o022;

/// Why a state folder is not used. What is in it decides which policy is served, so nobody else may write to it.
#[derive(Debug, thiserror::Error)]
pub enum Exposed {
    /// It belongs to another user.
    #[error("belongs to user {owner}, not to {own}: name a folder of this user")]
    Owner {
        /// User id of the owner of the folder or file.
        owner: u32,
        /// The effective user of this process.
        own: u32,
    },
    /// Others than its owner may write to it.
    #[error("has mode {mode:04o}, so that others can replace the policy: chmod go-w, or name a folder below")]
    Mode {
        /// Permission bits of the folder or file, with setuid, setgid and sticky bit.
        mode: u32,
    },
}

/// Why a policy is not remembered.
#[derive(Debug, thiserror::Error)]
pub enum RememberError {
    /// Others may write to the folder.
    #[error("{}: {source}", .path.display())]
    Exposed {
        /// Path of the folder that others may write to.
        path: PathBuf,
        /// Ownership or permission that lets others write.
        source: Exposed,
    },
    /// A file or folder cannot be written.
    #[error("{}: {source}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// I/O error of the write.
        source: io::Error,
    },
    /// A module cannot be read again.
    #[error("{0}")]
    Module(ActivateError),
    /// A module's file has another content than when the policy became active.
    #[error("the module of predicate {name} has changed since the policy became active")]
    Changed {
        /// Name of the predicate, or `accounting`.
        name: String,
    },
}

/// Why a remembered policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecallError {
    /// Others may write to the folder.
    #[error("{}: {source}", .path.display())]
    Exposed {
        /// Path of the folder or of a file in it that others may write to.
        path: PathBuf,
        /// Ownership or permission that lets others write.
        source: Exposed,
    },
    /// The document names another content of a module than the one that is remembered for it.
    #[error("{}: module of predicate {name}: the document wants {wanted}, remembered is {found}", .path.display())]
    Pinned {
        /// Path of the file with the remembered policy.
        path: PathBuf,
        /// Name of the predicate, or `accounting`.
        name: String,
        /// The digest that the document names.
        wanted: String,
        /// The digest that is remembered.
        found: String,
    },
    /// Nothing shows that a module is the artifact that the document names.
    #[error("{}: module of predicate {name}: {source}", .path.display())]
    Unproven {
        /// The file that should show it.
        path: PathBuf,
        /// Name of the predicate, or `accounting`.
        name: String,
        /// Why it does not.
        source: ProofError,
    },
    /// A key of the document is not known.
    #[error("module of predicate {name}: {source}")]
    Keys {
        /// Name of the predicate, or `accounting`.
        name: String,
        /// Error of the first key that cannot be used.
        source: KeysError,
    },
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// Path of the file with the remembered policy.
        path: PathBuf,
        /// Error of reading the file.
        source: FileError,
    },
    /// A file does not hold what was written.
    #[error("{}: {reason}", .path.display())]
    Damaged {
        /// Path of the file with the remembered policy.
        path: PathBuf,
        /// Parse error, or the part that is missing or has another digest.
        reason: String,
    },
    /// This version of the program does not accept the document.
    #[error("{0}")]
    Document(#[from] PolicyError),
}

/// The folder in which the last good policy is remembered.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    /// Where modules of registries are.
    pulled: PulledFolder,
    /// The last attempt has failed, which has been told.
    is_failing: bool,
}

/// A policy as it was remembered. Its modules are those of the folder, with their digests.
#[derive(Debug)]
pub struct Remembered {
    /// The policy, parsed from the remembered document.
    pub policy: Policy,
    /// The document as written.
    pub document: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Manifest {
    /// Where the document came from.
    source: String,
    document: String,
    document_digest: String,
    /// By the name of the predicate. Built-ins are those of the program.
    modules: BTreeMap<String, String>,
    /// Modules of scorers by their names, as [`Self::modules`] has them of predicates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    scorers: BTreeMap<String, String>,
    /// The digest of the accounting component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accounting: Option<String>,
    /// The version of Kubernetes that the policy was active under, where it followed an API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kubernetes: Option<Followed>,
}

/// The version of a policy that followed an API server, and what that said it was.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Followed {
    version: String,
    server: String,
}

impl Followed {
    fn from_active(kubernetes: &KubernetesVersion) -> Option<Self> {
        let server = kubernetes.origin.server()?.to_owned();
        Some(Self { version: kubernetes.version.to_string(), server })
    }

    fn auto(&self) -> Option<Auto> {
        let minor = self.version.parse().ok()?;
        Some(Auto::Server(Release { minor, git_version: self.server.as_str().into() }))
    }
}

impl StateFolder {
    /// A folder, which is made when something is remembered.
    pub fn new(path: &Path, pulled: &PulledFolder) -> Self {
        Self { path: path.to_owned(), pulled: pulled.clone(), is_failing: false }
    }

    /// Remembers a policy that is active. Where `may_go_back` is true, the one that was remembered last is kept beside it for
    /// [`Self::roll_back`]. A folder that cannot be written is told once: the sidecar goes on without.
    pub fn remember(&mut self, policy: &Policy, active: &ActivePolicy, may_go_back: bool) {
        let outcome = self.write(policy, active, may_go_back);
        self.tell(outcome);
    }

    /// Remembers the policy that was kept beside the one that was remembered last.
    pub fn roll_back(&mut self) {
        let outcome = rename(&self.path.join(PREVIOUS), &self.path.join(ACTIVE)).and_then(|()| self.clean());
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: Result<(), RememberError>) {
        match outcome {
            Ok(()) => self.is_failing = false,
            Err(error) if self.is_failing => tracing::debug!(%error, "the policy is not remembered"),
            Err(error) => {
                self.is_failing = true;
                let folder = self.path.display();
                tracing::warn!(%folder, %error, "the policy is not remembered: a start with a broken one would not be ready");
            }
        }
    }

    fn write(&self, policy: &Policy, active: &ActivePolicy, may_go_back: bool) -> Result<(), RememberError> {
        self.own().map_err(|source| RememberError::Exposed { path: self.path.clone(), source })?;
        let modules = self.path.join(MODULES);
        let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        make(&modules).map_err(|source| RememberError::Write { path: modules.clone(), source })?;
        let mut digests = BTreeMap::new();
        for (spec, predicate) in policy.predicates.iter().zip(&active.predicates) {
            if !matches!(spec.module, ModuleSource::Builtin) {
                self.write_module(spec.named_module(), &predicate.digest)?;
                digests.insert(spec.name.clone(), digest_text(&predicate.digest));
            }
        }
        let mut scorers = BTreeMap::new();
        for (spec, scorer) in policy.scores.iter().zip(&active.scorers) {
            if !matches!(spec.module, ModuleSource::Builtin) {
                self.write_module(spec.named_module(), &scorer.component.digest)?;
                scorers.insert(spec.name.clone(), digest_text(&scorer.component.digest));
            }
        }
        let mut accounting_digest = None;
        if let (Some(spec), Some(accounting)) = (&policy.accounting, &active.accounting) {
            let digest = &accounting.settings().digest;
            self.write_module(spec.named_module(), digest)?;
            accounting_digest = Some(digest_text(digest));
        }
        let document = active.origin.document.to_string();
        let document_digest = digest_text(&Sha256::digest(&document).into());
        let (source, modules, accounting) = (active.origin.source.clone(), digests, accounting_digest);
        let kubernetes = Followed::from_active(&active.settings.kubernetes);
        let manifest = Manifest { source, document, document_digest, modules, scorers, accounting, kubernetes };
        let path = self.path.join(ACTIVE);
        let text = serde_json::to_vec_pretty(&manifest);
        let text = text.map_err(|error| RememberError::Write { path: path.clone(), source: error.into() })?;
        match file::read(&path, REMEMBERED_BYTES) {
            Ok(known) if known == text => return self.clean(),
            Ok(known) if may_go_back => write(&self.path.join(PREVIOUS), &known)?,
            _ => {}
        }
        write(&path, &text)?;
        self.clean()
    }

    /// Writes a module, and what shows that it is the one of the document, unless both are there.
    fn write_module(&self, named: NamedModule<'_>, digest: &Digest) -> Result<(), RememberError> {
        let path = self.module(digest);
        let artifact = named.module.artifact();
        let is_proven = artifact.is_none_or(|(wanted, keys)| self.check_proof(wanted, keys, digest).is_ok());
        if is_proven && is_whole(&path, digest) {
            return Ok(());
        }
        let module = Module::read(named, &self.pulled).map_err(RememberError::Module)?;
        if module.digest != *digest {
            return Err(RememberError::Changed { name: named.name.to_owned() });
        }
        if let (Some((wanted, _)), Some(proof)) = (artifact, &module.proof) {
            let path = self.proof(wanted);
            let text = serde_json::to_vec(proof);
            let text = text.map_err(|error| RememberError::Write { path: path.clone(), source: error.into() })?;
            write(&path, &text)?;
        }
        write(&path, &module.bytes)
    }

    /// Checks that the artifact with this digest is kept, signed by one of the keys, and that its component has that digest.
    fn check_proof(&self, wanted: &Digest, keys: &[Key], digest: &Digest) -> Result<(), Unproven> {
        let keys = keys::read(keys)?;
        let artifact = Proof::read(&self.proof(wanted))?.artifact(wanted, &keys)?;
        let found = read_digest(&artifact.component.digest);
        if found == Some(*digest) { Ok(()) } else { Err(ProofError::Digest(digest_text(wanted)).into()) }
    }

    /// Removes modules that neither policy names.
    fn clean(&self) -> Result<(), RememberError> {
        let manifests = [ACTIVE, PREVIOUS].iter().filter_map(|name| manifest(&self.path.join(name)).ok().flatten());
        let digests = |manifest: Manifest| {
            manifest.modules.into_values().chain(manifest.scorers.into_values()).chain(manifest.accounting)
        };
        let wanted: BTreeSet<String> = manifests.flat_map(digests).collect();
        let folder = self.path.join(MODULES);
        let failed = |source| RememberError::Write { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let digest = match path.extension().is_some_and(|extension| extension == "json") {
                // It is named by what the document names, and stays as long as its component.
                true => Proof::read(&path).ok().and_then(|proof| proof.component()),
                false => path.file_stem().map(|stem| format!("sha256:{}", stem.to_string_lossy())),
            };
            if digest.is_none_or(|digest| !wanted.contains(&digest)) {
                fs::remove_file(&path).map_err(|source| RememberError::Write { path, source })?;
            }
        }
        Ok(())
    }

    /// The policy that was remembered last; none where there is none. `builtins` are the names of the built-in predicates, and
    /// `auto` decides the version of Kubernetes of a policy that follows the cluster. One that is not valid under it is read under the version
    /// that it was active under.
    ///
    /// # Errors
    ///
    /// Where a file cannot be read or does not have its digest, or the document is not accepted.
    pub fn recall(&self, builtins: &[&str], auto: &Auto) -> Result<Option<Remembered>, RecallError> {
        self.own().map_err(|source| RecallError::Exposed { path: self.path.clone(), source })?;
        let path = self.path.join(ACTIVE);
        let Some(manifest) = manifest(&path)? else { return Ok(None) };
        let Manifest { source, document, document_digest, modules, scorers, accounting, kubernetes } = manifest;
        if document_digest != digest_text(&Sha256::digest(&document).into()) {
            return Err(RecallError::Damaged { path, reason: "the document does not have its digest".to_owned() });
        }
        // Keys may be files beside the document.
        let folder = Path::new(&source).parent().unwrap_or(Path::new(""));
        let read = |auto: &Auto| Policy::read_under(&document, &source, folder, auto, builtins);
        // What was valid under the version of the server then is served under it, as it was before the restart.
        let then = kubernetes.and_then(|then| then.auto()).filter(|_| !matches!(auto, Auto::Argument(_)));
        let mut policy = match (read(auto), then) {
            (Err(error), Some(then)) => read(&then).map_err(|_| error)?,
            (policy, _) => policy?,
        };
        let digest_in = |text: Option<&String>, what: String| {
            let digest = text.and_then(|text| read_digest(text));
            digest.ok_or_else(|| RecallError::Damaged { path: path.clone(), reason: format!("no module of {what}") })
        };
        for spec in policy.predicates.iter_mut().filter(|spec| spec.module != ModuleSource::Builtin) {
            let digest = digest_in(modules.get(&spec.name), format!("predicate {}", spec.name))?;
            spec.module = self.recall_module(&spec.name, &spec.module, digest)?;
        }
        for spec in policy.scores.iter_mut().filter(|spec| spec.module != ModuleSource::Builtin) {
            let digest = digest_in(scorers.get(&spec.name), format!("scorer {}", spec.name))?;
            spec.module = self.recall_module(&spec.name, &spec.module, digest)?;
        }
        if let Some(spec) = &mut policy.accounting {
            let digest = digest_in(accounting.as_ref(), "the accounting component".to_owned())?;
            spec.module = self.recall_module(ACCOUNTING, &spec.module, digest)?;
        }
        Ok(Some(Remembered { policy, document }))
    }

    /// The module with this digest, which is compared when it is loaded, where it is the one that the document names.
    fn recall_module(&self, name: &str, named: &ModuleSource, digest: Digest) -> Result<ModuleSource, RecallError> {
        if let ModuleSource::Path { digest: Some(wanted), .. } = named
            && *wanted != digest
        {
            let (path, name) = (self.path.join(ACTIVE), name.to_owned());
            return Err(RecallError::Pinned { path, name, wanted: digest_text(wanted), found: digest_text(&digest) });
        }
        if let Some((wanted, keys)) = named.artifact() {
            self.check_proof(wanted, keys, &digest).map_err(|error| match error {
                Unproven::Proof(source) => {
                    RecallError::Unproven { path: self.proof(wanted), name: name.to_owned(), source }
                }
                Unproven::Keys(source) => RecallError::Keys { name: name.to_owned(), source },
            })?;
        }
        Ok(ModuleSource::Path { path: self.module(&digest).into(), digest: Some(digest) })
    }

    /// Whether nobody else may write to the folder, where there is one. Other errors are those of its use.
    ///
    /// Unlike for machine code, folders above it are not looked at: that of a volume of Kubernetes is everybody's (mode 0777), in a pod
    /// whose containers trust each other.
    fn own(&self) -> Result<(), Exposed> {
        let Ok(found) = fs::metadata(&self.path) else { return Ok(()) };
        if !found.is_dir() {
            return Ok(());
        }
        is_own(&found)
    }

    fn module(&self, digest: &Digest) -> PathBuf {
        self.path.join(MODULES).join(format!("{}.wasm", hex(digest)))
    }

    /// The file that shows that a module is the artifact with this digest.
    fn proof(&self, wanted: &Digest) -> PathBuf {
        self.path.join(MODULES).join(format!("{}.json", hex(wanted)))
    }
}

/// Why a module is not shown to be the one of the document.
#[derive(Debug)]
enum Unproven {
    Proof(ProofError),
    Keys(KeysError),
}

impl From<ProofError> for Unproven {
    fn from(error: ProofError) -> Self {
        Self::Proof(error)
    }
}

impl From<KeysError> for Unproven {
    fn from(error: KeysError) -> Self {
        Self::Keys(error)
    }
}

/// Whether nobody else may write to a file or folder.
fn is_own(found: &Metadata) -> Result<(), Exposed> {
    let (owner, own, mode) = (found.uid(), rustix::process::geteuid().as_raw(), found.mode() & 0o7777);
    if owner != own {
        return Err(Exposed::Owner { owner, own });
    }
    if mode & WRITE_OF_OTHERS != 0 {
        return Err(Exposed::Mode { mode });
    }
    Ok(())
}

/// Reads what was remembered. The document in it proves itself by a digest beside it, so the file has to be ours: not a link, which may
/// lead to anybody's. Modules and their proofs are compared with the document instead.
fn manifest(path: &Path) -> Result<Option<Manifest>, RecallError> {
    let failed = |source: FileError| RecallError::Read { path: path.to_owned(), source };
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| failed(error.into()))?,
    };
    let found = file.metadata().map_err(|error| failed(error.into()))?;
    is_own(&found).map_err(|source| RecallError::Exposed { path: path.to_owned(), source })?;
    let bytes = file::read_open(file, REMEMBERED_BYTES).map_err(failed)?;
    let damaged = |error: serde_json::Error| RecallError::Damaged { path: path.to_owned(), reason: error.to_string() };
    serde_json::from_slice(&bytes).map(Some).map_err(damaged)
}

/// Whether a module is there with its content.
fn is_whole(path: &Path, digest: &Digest) -> bool {
    file::read(path, COMPONENT_BYTES as u64).is_ok_and(|bytes| *digest == *Sha256::digest(&bytes))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RememberError> {
    file::replace(path, &path.with_extension("new"), bytes)
        .map_err(|source| RememberError::Write { path: path.to_owned(), source })
}

fn rename(from: &Path, to: &Path) -> Result<(), RememberError> {
    file::rename(from, to).map_err(|source| RememberError::Write { path: to.to_owned(), source })
}

#[cfg(test)]
mod tests;
