//! The search for the signatures of a manifest: what is found, what cannot be read, and when it ends. Start at [`Search`].
//!
//! Whoever may write beside a module can attach anything to it, also before the signature that counts. So whatever is bad hides nothing
//! else; where keys are known, the search goes on until one of them has signed, or to a limit, which is told.

use crate::artifact::{Digest, digest_of};
use crate::bundle::{self, Finding};
use crate::key::PublicKey;
use crate::limits::{ATTACHED, SIGNATURES};
use crate::sign::{Signature, Signatures};
use crate::words::bounded;

/// A search for signatures of one manifest.
#[derive(Debug)]
pub struct Search<'a> {
    manifest: &'a [u8],
    digest: Digest,
    keys: &'a [PublicKey],
    found: Signatures,
    /// How many of the kind that is looked at now.
    looked_at: usize,
    is_good: bool,
}

impl<'a> Search<'a> {
    /// A search that ends once one of these keys has signed; without keys, with the first few signatures.
    pub fn new(manifest: &'a [u8], keys: &'a [PublicKey]) -> Self {
        let digest = digest_of(manifest);
        Self { manifest, digest, keys, found: Signatures::default(), looked_at: 0, is_good: false }
    }

    /// The digest of the manifest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Whether somebody asks for a signature by a key.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether a signature by one of the keys was found: no other one matters.
    pub fn is_good(&self) -> bool {
        self.is_good
    }

    /// Begins with signatures of another kind, of which as many are looked at as of the one before.
    pub fn begin_kind(&mut self) {
        self.looked_at = 0;
    }

    /// Whether one more is to be looked at. One that is not is counted, unless a good one was found.
    pub fn goes_on(&mut self) -> bool {
        let limit = if self.has_keys() { ATTACHED } else { SIGNATURES };
        match () {
            () if self.is_good => false,
            () if self.looked_at >= limit => {
                self.found.beyond += 1;
                false
            }
            () => {
                self.looked_at += 1;
                true
            }
        }
    }

    /// So many others are not looked at.
    pub fn passes_over(&mut self, count: usize) {
        self.found.beyond += if self.is_good { 0 } else { count };
    }

    /// A signature in cosign's simple signing format.
    pub fn payload(&mut self, signature: Signature) {
        if self.keeps(&signature.judge(&self.digest, self.keys)) {
            self.found.payloads.push(signature);
        }
    }

    /// The text of a bundle.
    pub fn bundle(&mut self, text: String) {
        if self.keeps(&bundle::judge(&text, self.manifest, self.keys)) && !self.found.bundles.contains(&text) {
            self.found.bundles.push(text);
        }
    }

    /// Why one cannot be read.
    pub fn unread(&mut self, reason: &str) {
        match self.found.unread.len() < ATTACHED {
            true => self.found.unread.push(bounded(reason)),
            false => self.found.others += 1,
        }
    }

    /// Ends the search and returns the signatures that were found.
    pub fn found(self) -> Signatures {
        self.found
    }

    /// Whether one that is this to those who search is kept. Of those that do not count, a few are.
    fn keeps(&mut self, finding: &Finding) -> bool {
        self.is_good |= *finding == Finding::Good;
        let is_kept = self.is_good || !self.has_keys() || self.found.len() < SIGNATURES;
        self.found.others += usize::from(!is_kept);
        is_kept
    }
}
