//! Cluster files: what `kubectl get … -o json|yaml` writes, plain or gzip, one file or many, `-` for standard input.
//!
//! - `read` reads and unpacks files, counts what is skipped and refuses duplicates.
//! - `items` finds the objects of one file's text, JSON or YAML, and decodes them.
//!
//! Nothing is delivered unless everything could be read: the first problem is an [`Error`] with file, object and field. Files
//! are read once and never watched. Start at [`read()`].

mod items;
mod read;

pub use items::{ItemError, Place};
pub use read::{Contents, Error, Skipped, WholePod, read, read_bytes, read_pods};

#[cfg(test)]
mod tests;
