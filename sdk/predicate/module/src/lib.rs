//! Projects of predicates, in several languages: made from a template, and built into components.
//!
//! ```text
//! project      writes a new project: template, SDK, name                       `nodesift-dev module new`
//! build        finds the language of a project and builds it                   `nodesift-dev module build`
//! language     what each language adds: one file per language
//! leaves for languages
//!   support        what a language has to give
//!   sdk · steps · error             where the SDK comes from; a build's steps; why there is none
//!   tool           programs that a build runs, and what to install where one is missing
//!   contract       the contract's text, and worlds with some of its interfaces
//!   encode         a core module and its world → a component
//!   wasi           an adapter for modules that import WASI: it gives them nothing
//!   lacks          sentences about what the sandbox lacks
//!   pre_initialise runs a module's initialisation once, at build time
//!   pack           files inside this library
//! ```
//!
//! It knows no cluster and no policy, and it does not run predicates. The Rust toolchain and the encoding of components are those
//! of `nodesift-guest`, with which this workspace builds its own predicates. Start at [`new`](fn@new) and [`build`](fn@build).
//!
//! To add a language: a file in `language/` with a [`Support`](support::Support), a line in [`Language`], a folder in `templates/`.

mod build;
pub mod contract;
pub mod encode;
mod error;
mod kind;
mod lacks;
mod language;
mod limits;
mod pack;
pub mod pre_initialise;
mod project;
mod sdk;
mod steps;
mod support;
mod tool;
pub mod wasi;

pub use build::{Built, build};
pub use error::{BuildError, DetectError};
pub use kind::Kind;
pub use language::Language;
pub use project::{Created, NewError, new};
pub use sdk::Sdk;
pub use steps::Step;
