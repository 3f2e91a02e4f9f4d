//! `nodesift version`: which program this is, for people and for scripts that look after many of them. Start at [`run`].

use std::fmt::Write as _;

use nodesift_api::version::{CONTRACT, REVISION};
use nodesift_policy::API_VERSION;
use nodesift_policy::kubernetes::Table;
use serde::Serialize;

use crate::args::VersionArgs;
use crate::report::written;
use crate::serve::explorer;
use crate::terminal;

/// Prints it.
///
/// # Errors
///
/// The error of a write to stdout.
pub(crate) fn run(args: &VersionArgs) -> anyhow::Result<()> {
    let version = Version::current();
    terminal::print(&written(args.output, &version, || version.table())?)
}

/// The program, as documents show it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: &'static str,
    /// The commit that it was built from, where the build names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'static str>,
    /// The contract of predicates.
    contract: &'static str,
    /// The package of the gRPC API.
    api: &'static str,
    /// The `apiVersion` of policies.
    policies: &'static str,
    /// The versions of Kubernetes whose verdicts it can give.
    kubernetes: Vec<String>,
    /// Who allocates memory: `jemalloc`, or `system` for the C library. It decides what events and requests cost, and how much memory
    /// stays resident.
    allocator: &'static str,
    /// Whether the page of the explorer is in it.
    explorer: bool,
    /// Whether it checks itself as tests want it, which a program in service should not.
    debug_assertions: bool,
}

impl Version {
    fn current() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            revision: REVISION,
            contract: &CONTRACT,
            api: "nodesift.v1",
            policies: API_VERSION,
            kubernetes: Table::built_in().versions.iter().map(ToString::to_string).collect(),
            allocator: if cfg!(feature = "jemalloc") { "jemalloc" } else { "system" },
            explorer: explorer::is_there(),
            debug_assertions: cfg!(debug_assertions),
        }
    }

    fn table(&self) -> String {
        let mut out = String::new();
        for (name, value) in [
            ("version", self.version),
            ("revision", self.revision.unwrap_or("not named by the build")),
            ("contract", self.contract),
            ("api", self.api),
            ("policies", self.policies),
            ("kubernetes", &self.kubernetes.join(", ")),
            ("allocator", self.allocator),
            ("explorer", if self.explorer { "in it" } else { "not in it: make explorer" }),
            ("built", if self.debug_assertions { "with debug assertions" } else { "for service" }),
        ] {
            // Writing to a String cannot fail.
            let _infallible = writeln!(out, "{name:<10} {value}");
        }
        out
    }
}
