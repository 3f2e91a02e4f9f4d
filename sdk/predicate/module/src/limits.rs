//! Limits, with unit and reason.

/// Bytes of a project's name: it becomes the name of a package, of files and of a type.
pub(crate) const NAME_BYTES: usize = 64;

/// Bytes of memory that a module may have once it is initialised at build time. A module that needs more than the sandbox grants at
/// most would be built and then refused.
pub(crate) const PRE_INITIALISED_BYTES: usize = 256 << 20;

/// Bytes of standard error that are kept while a module is initialised at build time: the text of a panic, and where it was.
pub(crate) const INITIALISE_TEXT_BYTES: usize = 4 << 10;
