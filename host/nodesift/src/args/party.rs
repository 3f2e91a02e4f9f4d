//! Options of the command `party`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

/// Name and sidecar of a party, and what it answers.
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
    #[arg(long, value_name = "FILE", required_unless_present = "seats", conflicts_with = "seats")]
    pub(crate) script: Option<PathBuf>,
    /// Number of seats, in the place of a script: each allocation takes one, which the end of its pod gives back
    #[arg(long, value_name = "COUNT")]
    pub(crate) seats: Option<usize>,
    /// Nodes on which seats are good, by names, or prefixes that end in * [default: all]
    #[arg(long, value_name = "NAME", requires = "seats", num_args = 1..)]
    pub(crate) nodes: Vec<String>,
    /// File that remembers who has a seat, so that a restart sells none twice [default: forgotten with the process]
    #[arg(long, value_name = "FILE", requires = "seats")]
    pub(crate) state: Option<PathBuf>,
}
