//! Builds a project into a component. Start at [`build`](fn@build).

use std::path::Path;

use nodesift_guest::component::{self, Import};

use crate::error::BuildError;
use crate::language::Language;
use crate::steps::{Step, Steps};

/// A component that was built.
#[derive(Debug)]
pub struct Built {
    /// The language of the project.
    pub language: Language,
    /// The bytes of the component.
    pub component: Vec<u8>,
    /// `sha256:` and the digest, as a policy names it.
    pub digest: String,
    /// Interfaces that the component imports, sorted.
    pub imports: Vec<Import>,
    /// Steps of the build, in order, with the time that each took.
    pub steps: Vec<Step>,
}

/// Builds the project in `folder`; `language` is needed only where the folder could be in several. `tell` is called with the name of
/// each step before it begins. Tools print on the standard error of this process.
///
/// # Errors
///
/// Where the language is not known, a tool is missing, or the project does not compile or conform to the contract.
pub fn build(folder: &Path, language: Option<Language>, tell: &mut dyn FnMut(&str)) -> Result<Built, BuildError> {
    let folder = folder.canonicalize().map_err(|error| BuildError::Folder(folder.to_owned(), error))?;
    let language = language.map_or_else(|| Language::detect(&folder), Ok)?;
    let mut steps = Steps { tell, done: Vec::new() };
    let component = language.support().build(&folder, &mut steps)?;
    let (digest, imports) = (component::digest(&component), component::imports(&component)?);
    Ok(Built { language, component, digest, imports, steps: steps.done })
}
