//! Why a project is not built, or not known to be one.

use std::path::PathBuf;

use nodesift_guest::component::ComponentError;

/// Why the language of a folder is not known.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// The folder has no file by which a language is recognised.
    #[error(
        "{folder} is no project of a predicate: it has none of Cargo.toml, go.mod, package.json, pyproject.toml and Makefile; \
         start one with `nodesift-dev module new --lang LANGUAGE NAME`"
    )]
    Unknown {
        /// Path of the folder whose language is not known.
        folder: PathBuf,
    },
    /// It has those of several.
    #[error("{folder} could be a project in {}; say which with --lang", .languages.join(" or "))]
    Several {
        /// Path of the folder whose language is ambiguous.
        folder: PathBuf,
        /// The names of the languages.
        languages: Vec<&'static str>,
    },
}

/// Why a project was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The language is not known.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// The folder of the project cannot be read.
    #[error("{} cannot be read", .0.display())]
    Folder(PathBuf, #[source] std::io::Error),
    /// A program that is needed is not on this machine. The text says which, and what to install.
    #[error("{0}")]
    Tool(String),
    /// The project does not compile. What the compiler says has been printed.
    #[error("the project does not compile")]
    Compile(#[source] anyhow::Error),
    /// A file that the build has made or needs cannot be read or written.
    #[error("{} cannot be read or written", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    /// The module cannot be initialised at build time.
    #[error("the module cannot be initialised")]
    Initialise(#[source] anyhow::Error),
    /// The module does not conform to the contract.
    #[error(transparent)]
    Encode(#[from] ComponentError),
}
