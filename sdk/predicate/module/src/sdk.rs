//! Where projects get the SDK from.

use std::path::PathBuf;

/// Where a project gets the SDK from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sdk {
    /// From this program, which writes it into the project, into the folder `sdk`.
    Carried,
    /// From the registry of the language, in the version of this program.
    Registry,
    /// From a folder, or a packed file where the language has those.
    Path(PathBuf),
}
