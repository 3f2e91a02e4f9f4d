//! The component of an OCI artifact in a folder with an OCI image layout. Nothing is pulled from a registry.
//!
//! ```text
//! oci-layout            the version of the layout
//! index.json            which manifest belongs to a reference
//! blobs/sha256/DIGEST   manifests and components, named by their SHA-256
//! ```
//!
//! Everything that is read has the digest by which it is named, and the manifest or the component has the one of the policy. Start
//! at [`component`].

use oci_spec::distribution::Reference;
use oci_spec::image::OciLayout;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use sha2::{Digest as _, Sha256};

use super::digest::Digest;
use crate::file::FileError;
use crate::keys::{self, KeysError};
use crate::limits::{OCI_DOCUMENT_BYTES, OCI_MARK_BYTES, OCI_NAMED_REFERENCES, OCI_REFERRERS};
use crate::proof::Proof;
use crate::reach::NamedPath;
use crate::spec::{Key, OCI_INDEX, blob};
use nodesift_registry::limits::{BUNDLE_BYTES, PAYLOAD_BYTES, REFERRER_BYTES};
use nodesift_registry::{
    self as registry, Artifact, Descriptor, MANIFEST, Search, Signature, VerifyError, bounded, digest_text, hex,
    no_digest, read_digest,
};
use nodesift_sandbox::limits::COMPONENT_BYTES;

/// The version of image layouts that this program reads.
const LAYOUT_VERSION: &str = "1.0.0";

/// The annotations by which tools write the reference of a manifest: in full, or its tag.
const NAMES: [&str; 2] = ["org.opencontainers.image.ref.name", "io.containerd.image.name"];

/// Why an artifact gives no component.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// A file of the layout cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// Path of the file in the layout.
        path: NamedPath,
        /// Error of reading the file.
        source: FileError,
    },
    /// A file of the layout is not what it should be.
    #[error("{path}: {reason}")]
    Malformed {
        /// Path of the file in the layout.
        path: NamedPath,
        /// Parse error, or the reason why the content is not accepted.
        reason: String,
    },
    /// The index does not name the reference.
    #[error("the layout has no such reference; {0}")]
    Unknown(String),
    /// The index names it more than once, for different manifests.
    #[error("the layout has {0} manifests of this reference")]
    Ambiguous(usize),
    /// A blob does not have the digest by which it is named.
    #[error("{0}: the content does not have the digest of its name")]
    Corrupt(NamedPath),
    /// A key of the policy is not known.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// Nobody has signed it who may, by `spec.modules.keys`.
    #[error("in the layout, {0}")]
    Signature(#[from] VerifyError),
    /// Neither the manifest nor the component has the digest of the policy.
    #[error("neither its manifest nor its component has the digest in the policy, sha256:{0}")]
    Digest(String),
}

/// The index of a layout, or a list of what is attached to a manifest.
#[derive(Deserialize)]
struct Index {
    manifests: Vec<Entry>,
}

/// Each is read for itself: one that is odd makes no other one unreadable.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Known(Descriptor),
    Odd(IgnoredAny),
}

impl Index {
    fn known(&self) -> impl Iterator<Item = &Descriptor> {
        self.manifests.iter().filter_map(|entry| match entry {
            Entry::Known(descriptor) => Some(descriptor),
            Entry::Odd(IgnoredAny) => None,
        })
    }

    fn odd(&self) -> usize {
        self.manifests.len() - self.known().count()
    }
}

/// The component of the artifact with this reference, and what shows that it is the one of the policy. `expected` is the SHA-256 that its
/// manifest or the component must have; where there are keys, one of them has to have signed it.
///
/// # Errors
///
/// One variant of [`OciError`] per step that can fail.
pub(super) fn component(
    layout: &NamedPath,
    reference: &str,
    expected: &Digest,
    keys: &[Key],
) -> Result<(Vec<u8>, Proof), OciError> {
    let keys = keys::read(keys)?;
    let path = layout.join("oci-layout");
    let mark: OciLayout = document(&path, &read(&path, OCI_MARK_BYTES)?)?;
    if mark.image_layout_version() != LAYOUT_VERSION {
        let reason = format!("version {:?} is not {LAYOUT_VERSION}", bounded(mark.image_layout_version()));
        return Err(OciError::Malformed { path, reason });
    }
    let index_path = layout.join(OCI_INDEX);
    let index: Index = document(&index_path, &read(&index_path, OCI_DOCUMENT_BYTES)?)?;
    let named = named(&index, reference)?;
    if named.media_type != MANIFEST {
        let media_type = bounded(&named.media_type);
        let reason = format!("{reference} is of media type {media_type}, not {MANIFEST}");
        return Err(OciError::Malformed { path: index_path, reason });
    }
    let (manifest_path, manifest_digest) = place(layout, &index_path, &named.digest)?;
    let bytes = verified(&manifest_path, &manifest_digest, named.size, OCI_DOCUMENT_BYTES)?;
    // By the same rules as when it is recalled.
    let artifact = Artifact::read(&bytes);
    let artifact = artifact.map_err(|reason| OciError::Malformed { path: manifest_path.clone(), reason })?;
    let (path, digest) = place(layout, &manifest_path, &artifact.component.digest)?;
    if *expected != digest && *expected != manifest_digest {
        return Err(OciError::Digest(hex(expected)));
    }
    let mut search = Search::new(&bytes, &keys);
    if search.has_keys() {
        payloads(layout, &index_path, &index, &mut search);
        search.begin_kind();
        bundles(layout, &index_path, &index, &mut search);
        if index.odd() > 0 && !search.is_good() {
            search.unread(&format!("{} entries of the layout's index are no descriptors", index.odd()));
        }
    }
    let signatures = search.found();
    if !keys.is_empty() {
        registry::verify(&signatures, &bytes, &keys)?;
    }
    let component = verified(&path, &digest, artifact.component.size, COMPONENT_BYTES as u64)?;
    Ok((component, Proof::new(&artifact.manifest, signatures)))
}

/// Looks for the signatures of a manifest in the layout that are under the tag that they have in registries.
fn payloads(layout: &NamedPath, index_path: &NamedPath, index: &Index, search: &mut Search<'_>) {
    let tag = registry::signature_tag(search.digest());
    for descriptor in index.known().filter(|descriptor| has_tag(descriptor, &tag)) {
        if !search.goes_on() {
            continue;
        }
        match payload_layers(layout, index_path, descriptor) {
            Ok(layers) => {
                for (path, layer, signature) in layers {
                    if search.goes_on() {
                        match text(layout, &path, &layer, PAYLOAD_BYTES) {
                            Ok(payload) => search.payload(Signature { payload, signature }),
                            Err(error) => search.unread(&error.to_string()),
                        }
                    }
                }
            }
            Err(error) => search.unread(&error.to_string()),
        }
    }
}

/// The signed payloads of a manifest, each with the file that names it and its signature.
fn payload_layers(
    layout: &NamedPath,
    from: &NamedPath,
    descriptor: &Descriptor,
) -> Result<Vec<(NamedPath, Descriptor, String)>, OciError> {
    let (path, digest) = place(layout, from, &descriptor.digest)?;
    let bytes = verified(&path, &digest, descriptor.size, OCI_DOCUMENT_BYTES)?;
    let malformed = |reason| OciError::Malformed { path: path.clone(), reason };
    let layers = registry::signature_layers(&bytes).map_err(malformed)?;
    Ok(layers.into_iter().map(|(layer, signature)| (path.clone(), layer, signature)).collect())
}

/// Looks for bundles that the layout attaches to a manifest.
fn bundles(layout: &NamedPath, index_path: &NamedPath, index: &Index, search: &mut Search<'_>) {
    // Where a registry had no list of them, it is under a tag.
    let tag = format!("sha256-{}", hex(search.digest()));
    let mut listed: Vec<Descriptor> = Vec::new();
    for descriptor in index.known().filter(|descriptor| has_tag(descriptor, &tag)).take(1) {
        match list(layout, index_path, descriptor) {
            Ok(list) => listed.extend(list.known().cloned()),
            Err(error) => search.unread(&error.to_string()),
        }
    }
    listed.extend(index.known().filter(|descriptor| names(descriptor).next().is_none()).cloned());
    listed.retain(|descriptor| descriptor.media_type == MANIFEST && descriptor.size <= REFERRER_BYTES);
    let subject = digest_text(search.digest());
    for descriptor in listed.iter().take(OCI_REFERRERS) {
        match bundle_of(layout, index_path, descriptor, &subject) {
            Ok(Some((path, layer))) => {
                if search.goes_on() {
                    match text(layout, &path, &layer, BUNDLE_BYTES) {
                        Ok(text) => search.bundle(text),
                        Err(error) => search.unread(&error.to_string()),
                    }
                }
            }
            Ok(None) => {}
            Err(error) => search.unread(&error.to_string()),
        }
        if search.is_good() {
            return;
        }
    }
    search.passes_over(listed.len().saturating_sub(OCI_REFERRERS));
}

/// The list of what is attached to a manifest.
fn list(layout: &NamedPath, from: &NamedPath, descriptor: &Descriptor) -> Result<Index, OciError> {
    let (path, digest) = place(layout, from, &descriptor.digest)?;
    document(&path, &verified(&path, &digest, descriptor.size, OCI_DOCUMENT_BYTES)?)
}

/// The bundle that a manifest attaches to the one with this digest, with the file that names it; none where it attaches nothing to it.
fn bundle_of(
    layout: &NamedPath,
    from: &NamedPath,
    descriptor: &Descriptor,
    subject: &str,
) -> Result<Option<(NamedPath, Descriptor)>, OciError> {
    let (path, digest) = place(layout, from, &descriptor.digest)?;
    let bytes = verified(&path, &digest, descriptor.size, REFERRER_BYTES)?;
    let bundle = registry::bundle_of(&bytes).map_err(|reason| OciError::Malformed { path: path.clone(), reason })?;
    Ok(bundle.filter(|(_, of)| of == subject).map(|(layer, _)| (path, layer)))
}

/// The text of a blob that the document at `from` names.
fn text(layout: &NamedPath, from: &NamedPath, blob: &Descriptor, limit: u64) -> Result<String, OciError> {
    let (path, digest) = place(layout, from, &blob.digest)?;
    let text = String::from_utf8(verified(&path, &digest, blob.size, limit)?);
    text.map_err(|_| OciError::Malformed { path, reason: "no text".to_owned() })
}

/// Whether a descriptor has this tag, in full or alone.
fn has_tag(descriptor: &Descriptor, tag: &str) -> bool {
    let is_it = |name: &str| name.strip_suffix(tag).is_some_and(|rest| rest.is_empty() || rest.ends_with(':'));
    names(descriptor).any(is_it)
}

/// The names that an index gives a manifest.
fn names(descriptor: &Descriptor) -> impl Iterator<Item = &str> {
    NAMES.iter().filter_map(|key| descriptor.annotations.get(*key).map(String::as_str))
}

/// The descriptor of the reference: one that names it in full, else one that names its tag alone.
fn named<'i>(index: &'i Index, reference: &str) -> Result<&'i Descriptor, OciError> {
    let tag = reference.parse::<Reference>().ok().and_then(|parsed| parsed.tag().map(str::to_owned));
    let find = |name: &str| {
        let mut found: Vec<&Descriptor> =
            index.known().filter(|descriptor| names(descriptor).any(|known| known == name)).collect();
        found.sort_by_key(|descriptor| &descriptor.digest);
        found.dedup_by_key(|descriptor| &descriptor.digest);
        found
    };
    let mut found = find(reference);
    if let (true, Some(tag)) = (found.is_empty(), tag) {
        found = find(&tag);
    }
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let known: Vec<&str> = index.known().flat_map(names).take(OCI_NAMED_REFERENCES).collect();
            let known = match known.as_slice() {
                [] => "its index names none".to_owned(),
                known => format!("its index names {}", bounded(&known.join(", "))),
            };
            Err(OciError::Unknown(match index.odd() {
                0 => known,
                odd => format!("{known}, and {odd} of its entries are no descriptors"),
            }))
        }
        several => Err(OciError::Ambiguous(several.len())),
    }
}

/// The file and the digest of what the document at `from` names by a digest.
fn place(layout: &NamedPath, from: &NamedPath, digest: &str) -> Result<(NamedPath, Digest), OciError> {
    let known = read_digest(digest);
    let known = known.ok_or_else(|| OciError::Malformed { path: from.clone(), reason: no_digest(digest) })?;
    Ok((layout.join(blob(&known)), known))
}

fn verified(path: &NamedPath, digest: &Digest, size: u64, limit: u64) -> Result<Vec<u8>, OciError> {
    let bytes = read(path, limit)?;
    let found: Digest = Sha256::digest(&bytes).into();
    if found != *digest || bytes.len() as u64 != size {
        return Err(OciError::Corrupt(path.clone()));
    }
    Ok(bytes)
}

fn read(path: &NamedPath, limit: u64) -> Result<Vec<u8>, OciError> {
    path.read(limit).map_err(|source| OciError::Read { path: path.clone(), source })
}

fn document<T: DeserializeOwned>(path: &NamedPath, bytes: &[u8]) -> Result<T, OciError> {
    let malformed = |error: serde_json::Error| bounded(&error.to_string());
    serde_json::from_slice(bytes)
        .map_err(malformed)
        .map_err(|reason| OciError::Malformed { path: path.clone(), reason })
}

#[cfg(test)]
mod tests;
