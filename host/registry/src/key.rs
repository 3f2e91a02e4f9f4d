//! Public keys on the curve P-256, and why a text is no key. Start at [`PublicKey`].

use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;

/// A public key on P-256 in DER, before its point: algorithm and curve, which are always written alike.
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Bytes of a point that is not compressed, with the byte that says so.
const POINT_BYTES: usize = 65;

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A text that is not a private key of this kind.
    #[error(
        "this is no private key in PEM (PKCS#8) on the curve P-256{0}: make one with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`"
    )]
    Private(&'static str),
    /// A text that is not a public key of this kind.
    #[error(
        "this is no public key in PEM on the curve P-256{0}: make one of a private key with `openssl pkey -pubout`"
    )]
    Public(&'static str),
}

/// A key that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// Reads a public key in PEM.
    ///
    /// # Errors
    ///
    /// [`KeyError::Public`].
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let hint = if text.contains("PRIVATE KEY") { ", but a private one, which must stay secret" } else { "" };
        let refused = KeyError::Public(hint);
        let key = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).map_err(|_| refused.clone())?;
        match key.as_ref().strip_prefix(&PUBLIC_KEY_HEAD) {
            Some(point) if point.len() == POINT_BYTES => Ok(Self(point.to_vec())),
            _ => Err(refused),
        }
    }

    /// The key with this point, which is not compressed.
    pub(crate) fn from_point(point: &[u8]) -> Self {
        Self(point.to_vec())
    }

    /// Whether this is a signature of a message by this key.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0).verify(message, signature).is_ok()
    }
}
