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
    /// The connection to the registry could not be made.
    #[error("{registry} cannot be reached: {reason}. Check the address, and that this machine may connect to it{}", hint(.registry))]
    Unreachable {
        /// Host and port of the registry.
        registry: String,
        /// Cause of the failure, and the proxy that was used, if any.
        reason: String,
    },
    /// The registry is connected but has sent nothing for [`SILENCE`](limits::SILENCE).
    #[error("{registry} has not answered for {} s: try again once it is well", limits::SILENCE.as_secs())]
    Silent {
        /// Host and port of the registry.
        registry: String,
    },
    /// The whole transfer took longer than its time limit.
    #[error("the transfer has not ended after {seconds} s: try again over a faster connection")]
    Slow {
        /// Time limit of the transfer, in seconds.
        seconds: u64,
    },
    /// The caller cancelled the transfer.
    #[error("the transfer was given up for something newer")]
    Over,
    /// The connection broke before all of the content had been received.
    #[error("{registry} ended the connection before all of {what} was there: try again")]
    Cut {
        /// Host and port of the registry.
        registry: String,
        /// Content that was being transferred.
        what: String,
    },
    /// The registry requires credentials, and docker's configuration has none that can be used.
    #[error(
        "{registry} does not let us read or write {repository} without credentials: run `docker login {registry}`, or set DOCKER_CONFIG to a folder with a config.json for it"
    )]
    Anonymous {
        /// Host and port of the registry.
        registry: String,
        /// Path of the repository in the registry.
        repository: String,
    },
    /// The registry or its token server rejects the configured credentials: status 401.
    #[error(
        "{registry} refuses the credentials that docker's configuration has for it: run `docker login {registry}` again"
    )]
    Credentials {
        /// Host and port of the registry.
        registry: String,
    },
    /// The registry or its token server denies access to the repository: status 403.
    #[error(
        "{registry} forbids it for {repository}{words}: ask its owner for the right to read it, or to write to push"
    )]
    Forbidden {
        /// Host and port of the registry.
        registry: String,
        /// Path of the repository in the registry.
        repository: String,
        /// Error text of the registry in parentheses, or empty.
        words: String,
    },
    /// The registry does not have the content: status 404.
    #[error("{registry} does not have {what}: check the name, and that it was pushed")]
    Missing {
        /// Host and port of the registry.
        registry: String,
        /// Content that was requested.
        what: String,
    },
    /// The registry limits the rate of requests: status 429.
    #[error("{registry} gets too many requests from here{words}: try again later, or log in for a higher limit")]
    Busy {
        /// Host and port of the registry.
        registry: String,
        /// Seconds to wait as in `Retry-After`, and the registry's error text in parentheses; each may be missing.
        words: String,
    },
    /// The registry failed with a status of 500 or above.
    #[error("{registry} failed with status {status}{words}: try again once it is well")]
    Failed {
        /// Host and port of the registry.
        registry: String,
        /// HTTP status code of the response.
        status: u16,
        /// Error text of the registry in parentheses, or empty.
        words: String,
    },
    /// The registry answered with a status that the OCI distribution specification does not have for the request.
    #[error("{registry} answered {status} for {what}{words}: is it a registry of the OCI distribution specification?")]
    Unexpected {
        /// Host and port of the registry.
        registry: String,
        /// HTTP status code of the response.
        status: u16,
        /// Content or operation that was requested.
        what: String,
        /// Error text of the registry in parentheses, or empty.
        words: String,
    },
    /// A response of the registry cannot be parsed.
    #[error("{what} of {registry} cannot be read: {reason}")]
    Malformed {
        /// Host and port of the registry.
        registry: String,
        /// Content that was requested.
        what: String,
        /// Parse error, or the part that is missing.
        reason: String,
    },
    /// A response of the registry exceeds its size limit.
    #[error("{what} of {registry} has more than {limit} bytes, and is not taken")]
    TooLarge {
        /// Host and port of the registry.
        registry: String,
        /// Content that was requested.
        what: String,
        /// Size limit of the content, in bytes.
        limit: u64,
    },
    /// The content that was received does not have the digest by which it was requested.
    #[error(
        "{what} of {registry} does not have the digest by which it was asked for, {expected}: the registry, or something on the way, is broken or lies"
    )]
    Content {
        /// Host and port of the registry.
        registry: String,
        /// Content that was requested.
        what: String,
        /// Digest by which the content was requested, `sha256:` and hexadecimal digits.
        expected: String,
    },
    /// Neither the artifact's manifest nor its component has the digest that was requested.
    #[error(
        "neither the manifest of {reference} nor its component has the digest {expected}: the tag has moved on, or the digest is mistyped; `nodesift-dev module inspect oci://{reference}` prints what is there"
    )]
    Digest {
        /// Reference of the artifact, `REGISTRY/REPOSITORY:TAG`.
        reference: String,
        /// Digest that the manifest or the component should have.
        expected: String,
    },
    /// The registry refers to an address, by a redirect, a challenge or an upload location, that must not be requested: one without TLS, in
    /// another network, or after too many redirects.
    #[error("{registry} leads to {to}, which is not asked: {reason}")]
    Unsafe {
        /// Host and port of the registry.
        registry: String,
        /// Scheme, host and port of what it leads to. The rest of an address may be a secret.
        to: String,
        /// Reason for which the address is not requested.
        reason: &'static str,
    },
    /// The registry refers to a host that is not in the operator's list (`--registries`).
    #[error("{registry} leads to {host}, which is not listed: --registries has the hosts that modules are pulled from")]
    Unlisted {
        /// Host and port of the registry.
        registry: String,
        /// Host and port to which the registry refers.
        host: String,
    },
    /// Another host, to which the registry refers, failed. Its error text is not repeated: whoever wrote the policy may not be allowed to
    /// send requests to it.
    #[error(
        "{registry} leads to {host}, which {fault}: check that this machine may connect to it, or try again once it is well"
    )]
    Elsewhere {
        /// Host and port of the registry.
        registry: String,
        /// Host and port to which the registry refers.
        host: String,
        /// Failure of that host, as a clause that follows its name in the message.
        fault: String,
        /// Whether a retry may succeed a moment later.
        is_passing: bool,
    },
    /// The credentials of docker's configuration cannot be read.
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

/// Returns a hint about plain HTTP for a registry that is named with a port; empty for others.
fn hint(registry: &str) -> &'static str {
    match registry.contains(':') {
        true => "; plain http is used for loopback addresses alone, or with --plain-http",
        false => "",
    }
}
