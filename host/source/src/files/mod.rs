//! Cluster files: what `kubectl get … -o json|yaml` writes, plain or gzip, one file or many, `-` for standard input.
//!
//! | file | holds |
//! |---|---|
//! | `input` | a file as a stream of text: unpacked, limited in size |
//! | `envelope` | what an object says of itself before it is decoded |
//! | `items` | text → objects, one by one: JSON or YAML, lists and sequences |
//! | `yaml` | a stream of YAML documents, one after the other |
//! | `read` | files → objects and a summary; refuses duplicates |
//!
//! Objects are given on as they are read: neither the text of a file nor its objects are ever held together. The first problem
//! ends it with an [`Error`] that names file, object and field; then nothing that was given on may be used. Files are read once
//! and never watched. Start at [`read()`].

mod envelope;
mod input;
mod items;
mod read;
mod yaml;

pub use items::{ItemError, Place};
pub use nodesift_object::defaults::Defaulted;
pub use read::{Error, Progress, Skipped, Summary, WholePod, read, read_bytes, read_claims, read_pods, read_texts};

#[cfg(test)]
mod tests;
