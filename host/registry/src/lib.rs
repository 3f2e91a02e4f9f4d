//! Modules in OCI registries: pushed, pulled by digest, signed and verified.
//!
//! ```text
//! transfer     pull and push: what is asked for, in which order, and compared with which digest
//! client       requests: TLS, redirects, credentials, bounds, refusals
//! challenge    what a registry asks for with status 401
//! credentials  docker's configuration and its helpers
//! artifact     a module as an OCI artifact
//! sign         keys and signatures, in cosign's format
//! bundle       signatures as sigstore bundles, in that of cosign 3
//! search       what is found of signatures, and when that ends
//! referrers    bundles in a registry
//! reference    where a module is
//! network      which addresses are part of the internet
//! hosts        the hosts that may be connected to, where an operator lists them
//! error        why something fails, and what to do
//! words        what others say, in errors
//! limits       every limit
//! ```
//!
//! It knows nothing of policies and predicates: whoever pushes says what the annotations are, whoever pulls which digest and which keys
//! he trusts. Nothing here is on the path of a request. Start at [`pull`].

mod artifact;
mod bundle;
mod challenge;
mod client;
mod credentials;
mod error;
mod hosts;
mod key;
pub mod limits;
mod network;
mod reference;
mod referrers;
mod search;
mod sign;
mod transfer;
mod words;

pub use artifact::{
    Artifact, COMPONENT, CONTRACT, DESCRIPTION, Descriptor, Digest, IMPORTS, MANIFEST, PREDICATE, TITLE, VERSION,
    digest_of, digest_text, hex, no_digest, read_digest,
};
pub use bundle::{BUNDLE, bundle_of};
pub use client::Progress;
pub use credentials::CredentialsError;
pub use error::RegistryError;
pub use hosts::{Host, HostError, Hosts};
pub use key::{KeyError, PublicKey};
pub use reference::{Address, AddressError, SCHEME};
pub use search::Search;
pub use sign::{
    Signature, Signatures, SigningKey, VerifyError, layers as signature_layers, tag as signature_tag, verify,
};
pub use transfer::{Pulled, Pushed, Wanted, pull, pull_signed, push};
pub use words::bounded;
