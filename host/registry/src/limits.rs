//! Every limit of transfers from and to registries, with its unit and its reason.

use std::time::Duration;

/// Bytes of a component, as everywhere in this program.
pub const COMPONENT_BYTES: u64 = 64 << 20;

/// Bytes of a manifest. Registries refuse larger ones themselves.
pub const MANIFEST_BYTES: u64 = 4 << 20;

/// Bytes of any other answer: a token, or the text of an error.
pub const ANSWER_BYTES: u64 = 64 << 10;

/// Bytes of a signed payload. It names a repository and a digest.
pub const PAYLOAD_BYTES: u64 = 16 << 10;

/// Bytes of a key in PEM. One on the curve P-256 takes 250.
pub const KEY_BYTES: u64 = 16 << 10;

/// Signatures of one module that are looked at where no keys are known, and kept of those that do not count. A module is signed by a few, and each costs a request.
pub const SIGNATURES: usize = 16;

/// Signatures of one module that are compared with keys until one is good: whoever may attach something can do so often. At most two requests
/// each, they take seconds.
pub const ATTACHED: usize = 256;

/// Parts of a list of referrers that are asked for. Registries send hundreds of entries in each; all of them together have at most
/// [`MANIFEST_BYTES`].
pub const REFERRER_PAGES: usize = 16;

/// Bytes of the manifest of a signature. It names one blob.
pub const REFERRER_BYTES: u64 = 64 << 10;

/// Bytes of a bundle. One with a key takes 2 KB, one with a certificate and entries of a log 12 KB.
pub const BUNDLE_BYTES: u64 = 128 << 10;

/// Signatures of an envelope that are compared with keys. Tools write one.
pub const ENVELOPE_SIGNATURES: usize = 8;

/// Findings that an error about signatures describes; the others are counted.
pub const FINDINGS: usize = 4;

/// Redirects of one request. Registries send blobs by one, to where they store them.
pub const REDIRECTS: usize = 4;

/// Time to connect to a registry.
pub const CONNECT: Duration = Duration::from_secs(5);

/// Time for which a registry may send nothing.
pub const SILENCE: Duration = Duration::from_secs(15);

/// Time for everything that one pull does: the largest component at 5 Mbit/s.
pub const PULL: Duration = Duration::from_secs(120);

/// Time for everything that one push does. People push from slow lines, and wait for it.
pub const PUSH: Duration = Duration::from_secs(600);

/// Pauses before a pull is tried again that may succeed then. A registry that restarts is back within seconds.
pub const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Interval at which it is looked whether anybody still waits for a pull.
pub const LOOK: Duration = Duration::from_millis(100);

/// Bytes of an upload between two reports of its progress.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Bytes of docker's configuration. Hundreds of registries take less than 100 KB.
pub const CONFIG_BYTES: u64 = 1 << 20;

/// Bytes of what a credential helper prints. Tokens of clouds take some kilobytes.
pub const HELPER_BYTES: u64 = 64 << 10;

/// Time for a credential helper. Those of clouds ask a server.
pub const HELPER: Duration = Duration::from_secs(10);

/// Bytes of a registry's own words in an error.
pub const WORDS_BYTES: usize = 300;

/// Bytes of a text that should be a digest, in an error. The longest digests in use, SHA-512, have 135.
pub const NO_DIGEST_BYTES: usize = 135;
