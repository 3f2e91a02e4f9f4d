//! Why a module cannot be pushed or pulled. Start at [`RegistryError`].

use crate::credentials::CredentialsError;
use crate::limits;

/// Why a module cannot be pushed or pulled. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// This program cannot make a client.
    #[error(
        "cannot prepare connections: {0}; certificate authorities are those of the system, or in the file that SSL_CERT_FILE names"
    )]
    Prepare(String),
    /// No connection.
    #[error("{registry} cannot be reached: {reason}. Check the address, and that this machine may connect to it{}", hint(.registry))]
    Unreachable {
        /// Host and port.
        registry: String,
        /// Why not.
        reason: String,
    },
    /// It is connected and sends nothing.
    #[error("{registry} has not answered for {} s: try again once it is well", limits::SILENCE.as_secs())]
    Silent {
        /// Host and port.
        registry: String,
    },
    /// All of it took too long.
    #[error("the transfer has not ended after {seconds} s: try again over a faster connection")]
    Slow {
        /// The limit.
        seconds: u64,
    },
    /// Nobody waits for it any more.
    #[error("the transfer was given up for something newer")]
    Over,
    /// The connection broke.
    #[error("{registry} ended the connection before all of {what} was there: try again")]
    Cut {
        /// Host and port.
        registry: String,
        /// What was transferred.
        what: String,
    },
    /// It wants to know who asks.
    #[error(
        "{registry} does not let us read or write {repository} without credentials: run `docker login {registry}`, or set DOCKER_CONFIG to a folder with a config.json for it"
    )]
    Anonymous {
        /// Host and port.
        registry: String,
        /// The repository.
        repository: String,
    },
    /// It does not know these credentials.
    #[error(
        "{registry} refuses the credentials that docker's configuration has for it: run `docker login {registry}` again"
    )]
    Credentials {
        /// Host and port.
        registry: String,
    },
    /// It knows who asks, and does not allow it.
    #[error(
        "{registry} forbids it for {repository}{words}: ask its owner for the right to read it, or to write to push"
    )]
    Forbidden {
        /// Host and port.
        registry: String,
        /// The repository.
        repository: String,
        /// Its own words.
        words: String,
    },
    /// There is no such thing.
    #[error("{registry} does not have {what}: check the name, and that it was pushed")]
    Missing {
        /// Host and port.
        registry: String,
        /// What is not there.
        what: String,
    },
    /// It is asked too often.
    #[error("{registry} gets too many requests from here{words}: try again later, or log in for a higher limit")]
    Busy {
        /// Host and port.
        registry: String,
        /// When to try again, and its own words.
        words: String,
    },
    /// It fails.
    #[error("{registry} failed with status {status}{words}: try again once it is well")]
    Failed {
        /// Host and port.
        registry: String,
        /// The status.
        status: u16,
        /// Its own words.
        words: String,
    },
    /// It answers what the protocol does not say.
    #[error("{registry} answered {status} for {what}{words}: is it a registry of the OCI distribution specification?")]
    Unexpected {
        /// Host and port.
        registry: String,
        /// The status.
        status: u16,
        /// What was asked for.
        what: String,
        /// Its own words.
        words: String,
    },
    /// It sends what cannot be read.
    #[error("{what} of {registry} cannot be read: {reason}")]
    Malformed {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// It sends more than there can be.
    #[error("{what} of {registry} has more than {limit} bytes, and is not taken")]
    TooLarge {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// The content is another than the one that was asked for.
    #[error(
        "{what} of {registry} does not have the digest by which it was asked for, {expected}: the registry, or something on the way, is broken or lies"
    )]
    Content {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
        /// Its digest.
        expected: String,
    },
    /// The artifact is another than the one that was asked for.
    #[error(
        "neither the manifest of {reference} nor its component has the digest {expected}: the tag has moved on, or the digest is mistyped; `nodesift module inspect oci://{reference}` prints what is there"
    )]
    Digest {
        /// The reference.
        reference: String,
        /// What was wanted.
        expected: String,
    },
    /// It leads to where nobody is to be led.
    #[error("{registry} leads to {to}, which is not asked: {reason}")]
    Unsafe {
        /// Host and port.
        registry: String,
        /// Scheme, host and port of what it leads to. The rest of an address may be a secret.
        to: String,
        /// Why not.
        reason: &'static str,
    },
    /// It leads to a host that the operator does not list.
    #[error("{registry} leads to {host}, which is not listed: --registries has the hosts that modules are pulled from")]
    Unlisted {
        /// Host and port.
        registry: String,
        /// The other host.
        host: String,
    },
    /// Another host, to which it leads, does not do its part. Nothing that it says is repeated: whoever wrote the policy may not be
    /// allowed to ask it.
    #[error(
        "{registry} leads to {host}, which {fault}: check that this machine may connect to it, or try again once it is well"
    )]
    Elsewhere {
        /// Host and port.
        registry: String,
        /// Those of the other one.
        host: String,
        /// What it does.
        fault: String,
        /// Whether that may be otherwise a moment later.
        is_passing: bool,
    },
    /// Credentials cannot be had.
    #[error(transparent)]
    Helper(#[from] CredentialsError),
    /// A signature cannot be made.
    #[error("the module cannot be signed: {0}")]
    Sign(String),
}

impl RegistryError {
    /// Whether the same may succeed a moment later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } | Self::Cut { .. } | Self::Busy { .. } => true,
            Self::Failed { status, .. } => *status != 501,
            Self::Elsewhere { is_passing, .. } => *is_passing,
            _ => false,
        }
    }
}

/// What is worth knowing of a registry on this machine.
fn hint(registry: &str) -> &'static str {
    match registry.contains(':') {
        true => "; plain http is used for loopback addresses alone, or with --plain-http",
        false => "",
    }
}
