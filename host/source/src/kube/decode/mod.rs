//! Responses of an API server, decoded and compiled: pages of lists, events of watches, statuses.
//!
//! | file | holds |
//! |---|---|
//! | `page` | a page of a list → [`Page`] |
//! | `event` | a line of a watch → `WatchEvent` |
//! | `metadata` | identity of objects that were deleted or do not decode → [`Unreadable`] |
//! | `status` | `Status`, for `Failure` to classify |
//! | `error` | [`Error`]: why a page cannot be used |
//!
//! Bytes are read once. One object that does not decode is set aside with its place and reason, and the rest is read. Pure functions: no
//! I/O. Start at [`page`].

mod error;
mod event;
mod metadata;
mod page;
pub(super) mod status;

pub use error::Error;
pub(super) use event::{Line, WatchEvent, event};
pub use metadata::Unreadable;
pub(super) use page::check_kind;
pub use page::{Head, Page, head, page};

#[cfg(test)]
mod tests;
