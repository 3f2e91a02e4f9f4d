//! Signatures as sigstore bundles, which cosign 3 attaches to what it signs. Start at [`judge`].
//!
//! A bundle holds a signature, what verifies it, and what a transparency log says of it. Only the signature is looked at, and only with
//! keys that are trusted already: neither certificates nor the log and its times count for anything. What is signed is either the manifest
//! itself, or a statement in an envelope (DSSE) that names the digest of the manifest and says that this is a signature. Statements that
//! say something else, such as what a scan has found, are signed alike and are none.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::artifact::{Descriptor, Digest, Manifest, digest_of, hex};
use crate::key::PublicKey;
use crate::limits::ENVELOPE_SIGNATURES;
use crate::words::bounded;

/// The media type of bundles.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The type of payloads that are statements.
const STATEMENT: &str = "application/vnd.in-toto+json";

/// The types of statements, of which only the name has changed.
const STATEMENTS: [&str; 2] = ["https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"];

/// Predicate type of in-toto statements that are signatures of cosign.
pub(crate) const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// Result of checking one signature or bundle of a manifest against trusted keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A signature of this manifest by one of the keys.
    Good,
    /// A signature by another key.
    Stranger,
    /// A signature by no key that is trusted, with a certificate.
    Certificate,
    /// One of the keys has signed it, and it is about another manifest.
    OfAnother,
    /// One of the keys has signed it, and it says something else than that this is a signature.
    Statement(String),
    /// It cannot be read.
    Malformed(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("one is good"),
            Self::Stranger => f.write_str("one is by another key"),
            Self::Certificate => f.write_str("one is a bundle with a certificate, not of a key that is trusted here"),
            Self::OfAnother => f.write_str("one is by a trusted key, of another manifest"),
            Self::Statement(kind) => {
                write!(f, "one is by a trusted key and says {kind:?}, which is no signature ({SIGNED})")
            }
            Self::Malformed(reason) => write!(f, "one cannot be read ({reason})"),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    verification_material: Material,
    message_signature: Option<MessageSignature>,
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    certificate: Option<serde::de::IgnoredAny>,
    x509_certificate_chain: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct MessageSignature {
    signature: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct Subject {
    digest: BTreeMap<String, String>,
}

/// Checks the text of a sigstore bundle against a manifest and trusted keys.
pub(crate) fn judge(text: &str, manifest: &[u8], keys: &[PublicKey]) -> Finding {
    let bundle: Bundle = match serde_json::from_str(text) {
        Ok(bundle) => bundle,
        Err(error) => return Finding::Malformed(bounded(&error.to_string())),
    };
    let Material { certificate, x509_certificate_chain } = &bundle.verification_material;
    let stranger = match certificate.is_some() || x509_certificate_chain.is_some() {
        true => Finding::Certificate,
        false => Finding::Stranger,
    };
    match (bundle.message_signature, bundle.dsse_envelope) {
        (Some(MessageSignature { signature }), None) => match is_signed(manifest, &[signature], keys) {
            true => Finding::Good,
            false => stranger,
        },
        (None, Some(envelope)) => envelope.judge(&digest_of(manifest), keys).unwrap_or(stranger),
        _ => Finding::Malformed("it has not one of messageSignature and dsseEnvelope".to_owned()),
    }
}

impl Envelope {
    /// Checks the signed statement against the digest of a manifest; `None` where no key has signed the envelope. The payload is parsed
    /// only after its signature is verified.
    fn judge(&self, digest: &Digest, keys: &[PublicKey]) -> Option<Finding> {
        let Ok(payload) = STANDARD.decode(&self.payload) else {
            return Some(Finding::Malformed("its payload is not in base64".to_owned()));
        };
        let signatures: Vec<String> =
            self.signatures.iter().take(ENVELOPE_SIGNATURES).map(|signature| signature.sig.clone()).collect();
        if !is_signed(&encoded(&self.payload_type, &payload), &signatures, keys) {
            return None;
        }
        if self.payload_type != STATEMENT {
            return Some(Finding::Statement(bounded(&self.payload_type)));
        }
        let statement: Statement = match serde_json::from_slice(&payload) {
            Ok(statement) => statement,
            Err(error) => return Some(Finding::Malformed(bounded(&format!("its statement: {error}")))),
        };
        if !STATEMENTS.contains(&statement.kind.as_str()) || statement.predicate_type != SIGNED {
            return Some(Finding::Statement(bounded(&statement.predicate_type)));
        }
        let digest = hex(digest);
        let is_about = |subject: &Subject| subject.digest.get("sha256").is_some_and(|found| *found == digest);
        Some(if statement.subject.iter().any(is_about) { Finding::Good } else { Finding::OfAnother })
    }
}

/// The blob of the bundle that a manifest attaches to another manifest, and the digest of that; none where it attaches something else.
///
/// # Errors
///
/// Why this is no manifest.
pub fn bundle_of(manifest: &[u8]) -> Result<Option<(Descriptor, String)>, String> {
    let manifest: Manifest = serde_json::from_slice(manifest).map_err(|error| bounded(&error.to_string()))?;
    let bundle = manifest.layers.into_iter().find(|layer| layer.media_type == BUNDLE);
    Ok(bundle.zip(manifest.subject.map(|subject| subject.digest)))
}

/// Returns the bytes that the signatures of a DSSE envelope cover: its type and payload, each with its length.
fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Whether one of these signatures, in base64, is by one of the keys.
fn is_signed(message: &[u8], signatures: &[String], keys: &[PublicKey]) -> bool {
    let mut signatures = signatures.iter().filter_map(|signature| STANDARD.decode(signature).ok());
    signatures.any(|signature| keys.iter().any(|key| key.verifies(message, &signature)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
