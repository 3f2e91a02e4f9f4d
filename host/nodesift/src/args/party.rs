//! Options of the command `party`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

/// Name, sidecar and script of a party.
#[derive(Debug, clap::Args)]
pub(crate) struct PartyArgs {
    /// Name of the party in the policy
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// The sidecar: unix:PATH or http://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    /// Script of its answers, as YAML; read again whenever it changes, and then earlier answers are taken back. See
    /// docs/src/api/negotiate.md
    #[arg(long, value_name = "FILE")]
    pub(crate) script: PathBuf,
}
