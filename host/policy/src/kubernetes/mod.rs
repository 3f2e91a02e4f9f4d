//! Versions of Kubernetes whose verdicts a policy can give: what is known of each, and how a policy chooses one.
//!
//! ```text
//! version   minor versions, and the release that an API server runs
//! table     predicates/kubernetes.yaml: versions, default predicates, switches
//! switches  the switches of one version, with what a policy changes of them
//! nearest   the known name that a wrong one is most like
//! server    the version of policies that name none: the API server's, as it was read last
//! ```
//!
//! No code compares versions: a difference is a switch of the table, which predicates get as arguments and the host as
//! [`Semantics`](nodesift_engine::Semantics). Start at [`Table::built_in`], then [`Switches`].

mod nearest;
mod server;
mod switches;
mod table;
mod version;

pub use server::{Auto, ServerVersion};
pub use switches::{QuirkState, SwitchError, Switches};
pub use table::{DefaultPredicate, DefaultScore, Kind, Stage, Switch, Table, TableError};
pub use version::{MinorVersion, Release, VersionError};

/// The value of `spec.kubernetes` that follows the API server.
pub const AUTO: &str = "Auto";
