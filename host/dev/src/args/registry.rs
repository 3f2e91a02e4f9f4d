//! Options of `module push` and `module pull`.

use std::path::PathBuf;

use nodesift_registry::{Address, AddressError};

use super::Format;

/// How a registry is reached.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct RegistryArgs {
    /// Connect without TLS. Registries on this machine are always reached so
    #[arg(long)]
    pub(crate) plain_http: bool,
}

impl RegistryArgs {
    /// The address that a text means.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub(crate) fn address(self, text: &str) -> Result<Address, AddressError> {
        Address::parse(text, self.plain_http)
    }
}

/// Options of `module push`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModulePushArgs {
    /// WebAssembly component. It is compiled within limits, and nothing of it runs but `describe`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where to: oci://REGISTRY/REPOSITORY:TAG. Credentials are those of docker: `docker login`
    #[arg(value_name = "REFERENCE")]
    pub(crate) reference: String,
    /// Sign it with this private key: PEM, ECDSA on P-256, as of `openssl genpkey -algorithm EC -pkeyopt
    /// ec_paramgen_curve:P-256`. `cosign verify --key` accepts the signature
    #[arg(long, value_name = "KEY")]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Format of what is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Options of `module pull`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModulePullArgs {
    /// Module to pull: oci://REGISTRY/REPOSITORY:TAG, or @sha256:DIGEST instead of the tag
    #[arg(value_name = "REFERENCE")]
    pub(crate) reference: String,
    /// File of the module [default: the last part of the repository, with .wasm]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Take it only if it is signed with the private key of this public key in PEM, or of another one that is given
    #[arg(long, value_name = "KEY")]
    pub(crate) verify: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Format of what is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: Format,
}
