//! Signatures of artifacts: ECDSA on the curve P-256, in cosign's simple signing format. Start at [`SigningKey::sign`] and [`verify`].
//!
//! What is signed is a payload that names the digest of the manifest. Payloads and signatures are the layers of another artifact in the
//! same repository, under the tag `sha256-DIGEST.sig`. So `cosign verify --key` accepts what is signed here, and the other way round.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::artifact::{Descriptor, Digest, Manifest, digest_of, digest_text, hex};
use crate::bundle::{self, Finding};
use crate::key::{KeyError, PublicKey};
use crate::limits::FINDINGS;
use crate::words::bounded;

/// The media type of payloads.
pub(crate) const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The annotation of a payload's layer with its signature.
pub(crate) const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Value of `critical.type` in a payload that is a signature of cosign.
const TYPE: &str = "cosign container image signature";

/// Why an artifact is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Nobody has signed it.
    #[error(
        "it is not signed: neither the tag {0} nor a bundle among its referrers is there; sign it with `nodesift-dev module push --sign KEY` or `cosign sign --key KEY`"
    )]
    Unsigned(String),
    /// All signatures are by keys that are not trusted; with their number.
    #[error(
        "none of its {0} signatures is by a key that is trusted here: sign it with one, or add the key of its signer"
    )]
    Stranger(usize),
    /// No signature counts, for different reasons.
    #[error("none of its {count} signatures counts: {found}")]
    Others {
        /// Number of the signatures, whether or not they were read.
        count: usize,
        /// Description of the signatures, one clause per reason.
        found: String,
    },
}

/// Signatures attached to a manifest, not verified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signatures {
    /// In cosign's simple signing format.
    pub payloads: Vec<Signature>,
    /// The texts of sigstore bundles.
    pub bundles: Vec<String>,
    /// Why others were not read.
    pub unread: Vec<String>,
    /// How many others do not count either.
    pub others: usize,
    /// How many others were not looked at, since there are too many.
    pub beyond: usize,
}

impl Signatures {
    /// How many were read.
    pub fn len(&self) -> usize {
        self.payloads.len() + self.bundles.len()
    }

    /// How many there are, whether or not they were read.
    fn count(&self) -> usize {
        self.len() + self.unread.len() + self.others + self.beyond
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// A signature, and what is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The payload, in JSON.
    pub payload: String,
    /// Signature of the payload: ASN.1 (DER), in base64.
    pub signature: String,
}

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    r#type: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// A key that signs.
pub struct SigningKey(EcdsaKeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a private key in PEM.
    ///
    /// # Errors
    ///
    /// [`KeyError::Private`].
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let hint = match () {
            () if text.contains("ENCRYPTED") => ", or has a password, which is not asked for",
            () if text.contains("EC PRIVATE KEY") => "; `openssl pkcs8 -topk8 -nocrypt` converts it",
            () => "",
        };
        let refused = KeyError::Private(hint);
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| refused.clone())?;
        let random = SystemRandom::new();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.secret_pkcs8_der(), &random)
            .map(Self)
            .map_err(|_| refused)
    }

    /// The key that verifies what this one signs.
    pub fn public(&self) -> PublicKey {
        PublicKey::from_point(self.0.public_key().as_ref())
    }

    /// Signs the manifest with this digest in a repository, `REGISTRY/REPOSITORY`.
    ///
    /// # Errors
    ///
    /// Where the system gives no random numbers.
    pub fn sign(&self, repository: &str, digest: &Digest) -> Result<Signature, String> {
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": repository},
                "image": {"docker-manifest-digest": digest_text(digest)},
                "type": TYPE,
            },
            "optional": null,
        });
        let payload = payload.to_string();
        let signature = self.signature(payload.as_bytes())?;
        Ok(Signature { payload, signature })
    }

    /// The signature of a message, in base64.
    ///
    /// # Errors
    ///
    /// Where the system gives no random numbers.
    pub fn signature(&self, message: &[u8]) -> Result<String, String> {
        let signature = self.0.sign(&SystemRandom::new(), message);
        signature
            .map(|signature| STANDARD.encode(signature))
            .map_err(|_| "the system gives no random numbers".to_owned())
    }
}

impl PublicKey {
    /// Whether this signature is by this key, and for this manifest.
    pub fn has_signed(&self, signature: &Signature, digest: &Digest) -> bool {
        signature.judge(digest, std::slice::from_ref(self)) == Finding::Good
    }
}

impl Signature {
    /// Checks this signature against the digest of a manifest and trusted keys.
    pub(crate) fn judge(&self, digest: &Digest, keys: &[PublicKey]) -> Finding {
        let Ok(bytes) = STANDARD.decode(&self.signature) else { return Finding::Stranger };
        // What is not signed is not parsed.
        if !keys.iter().any(|key| key.verifies(self.payload.as_bytes(), &bytes)) {
            return Finding::Stranger;
        }
        match serde_json::from_str::<Payload>(&self.payload) {
            Err(error) => Finding::Malformed(bounded(&error.to_string())),
            Ok(payload) if payload.critical.r#type != TYPE => Finding::Statement(bounded(&payload.critical.r#type)),
            Ok(payload) if payload.critical.image.digest != digest_text(digest) => Finding::OfAnother,
            Ok(_) => Finding::Good,
        }
    }
}

/// Whether one of the signatures of a manifest is by one of these keys.
///
/// # Errors
///
/// [`VerifyError`], which says what was found.
pub fn verify(signatures: &Signatures, manifest: &[u8], keys: &[PublicKey]) -> Result<(), VerifyError> {
    let digest = digest_of(manifest);
    let payloads = signatures.payloads.iter().map(|signature| signature.judge(&digest, keys));
    let found = payloads.chain(signatures.bundles.iter().map(|text| bundle::judge(text, manifest, keys)));
    let found: Vec<Finding> = found.collect();
    match found.as_slice() {
        found if found.contains(&Finding::Good) => Ok(()),
        _ if signatures.is_empty() => Err(VerifyError::Unsigned(tag(&digest))),
        found if signatures.count() == found.len() && found.iter().all(|found| *found == Finding::Stranger) => {
            Err(VerifyError::Stranger(found.len()))
        }
        found => Err(VerifyError::Others { count: signatures.count(), found: described(signatures, found) }),
    }
}

/// Describes the signatures that were found: first what may hide a signature that counts, equal descriptions once with their number.
fn described(signatures: &Signatures, found: &[Finding]) -> String {
    let mut words: Vec<(String, usize)> = Vec::new();
    if signatures.beyond > 0 {
        words.push((format!("{} were not looked at, since there are too many", signatures.beyond), 1));
    }
    let unread = signatures.unread.iter().map(|reason| format!("one was not read ({reason})"));
    for text in unread.chain(found.iter().map(ToString::to_string)) {
        match words.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => words.push((text, 1)),
        }
    }
    let told: usize = words.iter().take(FINDINGS).map(|(_, count)| count).sum();
    // Those that were not looked at are one text.
    let told = told + signatures.beyond.saturating_sub(1);
    let times = |(text, count): (String, usize)| if count > 1 { format!("{text}, {count} times") } else { text };
    let mut words: Vec<String> = words.into_iter().take(FINDINGS).map(times).collect();
    let rest = signatures.count().saturating_sub(told);
    if rest > 0 {
        words.push(format!("and {rest} more"));
    }
    words.join("; ")
}

/// The layers of a manifest that are signed payloads, each with its signature.
///
/// # Errors
///
/// Why this is no manifest.
pub fn layers(manifest: &[u8]) -> Result<Vec<(Descriptor, String)>, String> {
    let manifest: Manifest = serde_json::from_slice(manifest).map_err(|error| bounded(&error.to_string()))?;
    let payloads = manifest.layers.into_iter().filter(|layer| layer.media_type == PAYLOAD);
    let signed = |layer: Descriptor| layer.annotations.get(SIGNATURE).cloned().map(|signature| (layer, signature));
    Ok(payloads.filter_map(signed).collect())
}

/// The tag of the signatures of a manifest.
pub fn tag(digest: &Digest) -> String {
    format!("sha256-{}.sig", hex(digest))
}

/// A key that is made now.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn generated() -> SigningKey {
    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    SigningKey(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random).unwrap())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Output};

    use super::*;
    use crate::artifact::digest_of;

    fn openssl(folder: &Path, arguments: &[&str]) -> Output {
        Command::new("openssl").args(arguments).current_dir(folder).output().unwrap()
    }

    /// A private key and its public one, as openssl makes them.
    fn keys(folder: &Path, curve: &str) -> (String, String) {
        let curve = format!("ec_paramgen_curve:{curve}");
        assert!(openssl(folder, &["genpkey", "-algorithm", "EC", "-pkeyopt", &curve, "-out", "key"]).status.success());
        assert!(openssl(folder, &["pkey", "-in", "key", "-pubout", "-out", "key.pub"]).status.success());
        (fs::read_to_string(folder.join("key")).unwrap(), fs::read_to_string(folder.join("key.pub")).unwrap())
    }

    #[test]
    fn openssl_verifies_what_is_signed_here_and_the_other_way_round() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = keys(folder.path(), "P-256");
        let (private, public) = (SigningKey::from_pem(&private).unwrap(), PublicKey::from_pem(&public).unwrap());
        assert_eq!(private.public(), public);
        let digest = digest_of(b"manifest");
        let ours = private.sign("registry.example.com/team/isolation", &digest).unwrap();
        fs::write(folder.path().join("payload"), &ours.payload).unwrap();
        fs::write(folder.path().join("signature"), STANDARD.decode(&ours.signature).unwrap()).unwrap();
        let verified =
            openssl(folder.path(), &["dgst", "-sha256", "-verify", "key.pub", "-signature", "signature", "payload"]);
        assert!(verified.status.success(), "{verified:?}");
        // As cosign writes it.
        let payload = format!(
            "{{\"critical\":{{\"identity\":{{\"docker-reference\":\"a.b/c\"}},\"image\":{{\"docker-manifest-digest\":\"{}\"}},\
             \"type\":\"cosign container image signature\"}},\"optional\":{{\"creator\":\"x\"}}}}",
            digest_text(&digest)
        );
        fs::write(folder.path().join("payload"), &payload).unwrap();
        let signed = openssl(folder.path(), &["dgst", "-sha256", "-sign", "key", "payload"]);
        let theirs = Signature { payload, signature: STANDARD.encode(signed.stdout) };
        for signature in [ours, theirs] {
            let signatures = Signatures { payloads: vec![signature], ..Signatures::default() };
            assert_eq!(verify(&signatures, b"manifest", std::slice::from_ref(&public)), Ok(()));
        }
    }

    #[test]
    fn a_signature_counts_for_one_manifest_and_by_a_known_key() {
        let folder = tempfile::tempdir().unwrap();
        let (key, stranger) = (keys(folder.path(), "P-256"), keys(folder.path(), "P-256"));
        let (signer, key) = (SigningKey::from_pem(&key.0).unwrap(), PublicKey::from_pem(&key.1).unwrap());
        let stranger = PublicKey::from_pem(&stranger.1).unwrap();
        let (digest, other) = (digest_of(b"manifest"), digest_of(b"other"));
        let good = signer.sign("a.b/c", &digest).unwrap();
        let verify_of = |signatures: &[&Signature], keys: &[&PublicKey], manifest: &[u8]| {
            let payloads: Vec<Signature> = signatures.iter().copied().cloned().collect();
            let keys: Vec<PublicKey> = keys.iter().copied().cloned().collect();
            verify(&Signatures { payloads, ..Signatures::default() }, manifest, &keys)
        };
        let verify = |signatures: &[&Signature], keys: &[&PublicKey]| verify_of(signatures, keys, b"manifest");
        assert_eq!(verify(&[&good], &[&stranger, &key]), Ok(()));
        assert_eq!(verify(&[], &[&key]), Err(VerifyError::Unsigned(tag(&digest))));
        assert_eq!(verify(&[&good], &[&stranger]), Err(VerifyError::Stranger(1)));
        assert_eq!(verify(&[&good], &[]), Err(VerifyError::Stranger(1)));
        let of_another = VerifyError::Others { count: 1, found: Finding::OfAnother.to_string() };
        assert_eq!(verify_of(&[&good], &[&key], b"other"), Err(of_another));
        let of_another = signer.sign("a.b/c", &other).unwrap();
        let mixed = Signature { payload: good.payload.clone(), signature: of_another.signature.clone() };
        let broken = Signature { signature: "!".to_owned(), ..good.clone() };
        assert_eq!(verify(&[&mixed, &broken], &[&key]), Err(VerifyError::Stranger(2)));
        let refused = verify(&[&mixed, &of_another, &broken], &[&key]).unwrap_err().to_string();
        assert!(
            refused.contains("none of its 3 signatures counts") && refused.contains("another manifest"),
            "{refused}"
        );
        assert_eq!(verify(&[&broken, &good], &[&key]), Ok(()));
    }

    #[test]
    fn keys_of_other_kinds_are_refused_with_the_command_that_makes_one() {
        let folder = tempfile::tempdir().unwrap();
        let (other, public) = keys(folder.path(), "P-384");
        let (private, _) = keys(folder.path(), "P-256");
        let sec1 = openssl(folder.path(), &["ec", "-in", "key"]).stdout;
        let sec1 = String::from_utf8(sec1).unwrap();
        for (text, hint) in [(other.as_str(), "genpkey"), ("", "genpkey"), ("ENCRYPTED", "password"), (&sec1, "-topk8")]
        {
            let error = SigningKey::from_pem(text).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
        for (text, hint) in [(public.as_str(), "-pubout"), ("", "-pubout"), (&private, "stay secret")] {
            let error = PublicKey::from_pem(text).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
