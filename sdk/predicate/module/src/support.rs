//! Trait [`Support`], which each language implements: its template, its SDK, and its build.

use std::path::Path;

use crate::error::BuildError;
use crate::pack::Pack;
use crate::sdk::Sdk;
use crate::steps::Steps;

/// Support of one language: how its projects are recognised, started and built.
pub(crate) trait Support: Sync {
    /// Whether the folder is a project in this language, by a file that every such project has.
    fn recognises(&self, folder: &Path) -> bool;

    /// The files of a new project. `{{name}}` and what else [`project`](crate::project) lists is filled in, in their texts and
    /// their paths; the ending `.in` of a path is dropped.
    fn template(&self) -> Pack;

    /// The files of a new project of a scorer, as those of [`Self::template`]; an empty pack where there is none.
    fn scorer_template(&self) -> Pack;

    /// The files of the SDK, and the folder below `sdk/` of the project that they go to.
    fn sdk(&self) -> (Pack, &'static str);

    /// Returns the text for `{{sdk}}` in the manifest of the template, by which the project depends on this SDK. `version` is that of this
    /// program, with which the SDKs are released.
    fn sdk_reference(&self, sdk: &Sdk, version: &str) -> String;

    /// The name as it is written.
    fn title(&self) -> &'static str;

    /// The file of the template that holds the predicate.
    fn source(&self) -> &'static str;

    /// Commands that install the toolchain on Debian or Ubuntu, for the workflow of a new project.
    fn toolchain_commands(&self) -> &'static [&'static str];

    /// An image with apt-get in which these commands do as root, without `sudo`, for the jobs of GitLab of a new project.
    fn image(&self) -> &'static str;

    /// Commands that run the unit tests of a new project, for its README and for what is printed.
    fn test_commands(&self) -> &'static [&'static str];

    /// Builds the project into a component that imports nothing but the contract.
    ///
    /// # Errors
    ///
    /// Where a tool is missing ([`BuildError::Tool`] says what to install), or the project does not compile.
    fn build(&self, folder: &Path, steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError>;
}
