//! Builds a project into a component. Start at [`build`](fn@build).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nodesift_guest::component::{self, ComponentError, Import};

use crate::language::{DetectError, Language};

/// A component that was built.
#[derive(Debug)]
pub struct Built {
    /// The language of the project.
    pub language: Language,
    /// The bytes of the component.
    pub component: Vec<u8>,
    /// `sha256:` and the digest, as a policy names it.
    pub digest: String,
    /// What the component imports, sorted.
    pub imports: Vec<Import>,
    /// What was done, in order, with the time that it took.
    pub steps: Vec<Step>,
}

/// One step of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was done, in a word or two.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
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

/// The steps of a running build. A language runs each of its own through [`Steps::run`], which tells and times it.
pub(crate) struct Steps<'a> {
    tell: &'a mut dyn FnMut(&str),
    done: Vec<Step>,
}

impl Steps<'_> {
    /// Runs a step: a verb or two that say what is done, as `compile`.
    pub(crate) fn run<T>(&mut self, name: &'static str, step: impl FnOnce() -> T) -> T {
        (self.tell)(name);
        let started = Instant::now();
        let value = step();
        self.done.push(Step { name, took: started.elapsed() });
        value
    }
}

/// Builds the project in `folder`; `language` is needed only where the folder could be in several. `tell` is called with the name of
/// each step before it begins. Tools print on the standard error of this process.
///
/// # Errors
///
/// Where the language is not known, a tool is missing, or the project does not compile or conform to the contract.
pub fn build(folder: &Path, language: Option<Language>, tell: &mut dyn FnMut(&str)) -> Result<Built, BuildError> {
    let folder = folder.canonicalize().map_err(|error| BuildError::Folder(folder.to_owned(), error))?;
    let language = language.map_or_else(|| Language::of(&folder), Ok)?;
    let mut steps = Steps { tell, done: Vec::new() };
    let component = language.support().build(&folder, &mut steps)?;
    let (digest, imports) = (component::digest(&component), component::imports(&component)?);
    Ok(Built { language, component, digest, imports, steps: steps.done })
}
