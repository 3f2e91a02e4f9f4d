//! Proof that a component is the one that a policy names: the manifest of its artifact, and the signatures of that.
//!
//! It is kept in files beside components, of which nothing is trusted: it is compared with the digest of the policy and verified with its
//! keys each time. Start at [`Proof::artifact`].

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::file;
use crate::limits::PULLED_RECORD_BYTES;
use nodesift_registry::{self as registry, Artifact, Digest, PublicKey, Signature, Signatures, VerifyError};

/// Why a proof shows nothing.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// It is not there, or no proof.
    #[error("its manifest is not kept here")]
    Absent,
    /// The manifest is none of a module.
    #[error("kept is {0}")]
    Manifest(String),
    /// Neither the manifest nor the component has the digest of the policy.
    #[error("neither its manifest nor its component has the digest in the policy, {0}")]
    Digest(String),
    /// Nobody has signed it who may, by `spec.modules.keys`.
    #[error("{0}")]
    Signature(#[from] VerifyError),
}

/// The manifest of an artifact and its signatures.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Proof {
    manifest: String,
    signatures: Vec<Signature>,
    #[serde(default)]
    bundles: Vec<String>,
}

impl Proof {
    /// The proof of a manifest with these signatures; those that were not read are left out.
    pub(crate) fn new(manifest: &str, signatures: Signatures) -> Self {
        let Signatures { payloads, bundles, .. } = signatures;
        Self { manifest: manifest.to_owned(), signatures: payloads, bundles }
    }

    /// The proof in a file.
    ///
    /// # Errors
    ///
    /// [`ProofError::Absent`].
    pub(crate) fn read(path: &Path) -> Result<Self, ProofError> {
        let bytes = file::read(path, PULLED_RECORD_BYTES).map_err(|_| ProofError::Absent)?;
        serde_json::from_slice(&bytes).map_err(|_| ProofError::Absent)
    }

    /// The digest of the component that it is about, as documents write it; nothing is verified.
    pub(crate) fn component(&self) -> Option<String> {
        Artifact::read(self.manifest.as_bytes()).ok().map(|artifact| artifact.component.digest)
    }

    /// The artifact, where it is the one with this digest and one of the keys has signed it. Without keys nobody has to.
    ///
    /// # Errors
    ///
    /// All of [`ProofError`] but [`ProofError::Absent`].
    pub(crate) fn artifact(&self, digest: &Digest, keys: &[PublicKey]) -> Result<Artifact, ProofError> {
        let artifact = Artifact::read(self.manifest.as_bytes()).map_err(ProofError::Manifest)?;
        if !artifact.is(digest) {
            return Err(ProofError::Digest(registry::digest_text(digest)));
        }
        if !keys.is_empty() {
            let (payloads, bundles) = (self.signatures.clone(), self.bundles.clone());
            let signatures = Signatures { payloads, bundles, ..Signatures::default() };
            registry::verify(&signatures, artifact.manifest.as_bytes(), keys)?;
        }
        Ok(artifact)
    }
}
