//! Lists: all objects of a kind at one resourceVersion, read page by page.
//!
//! - `pages` holds the pages of one list in progress, for the reflector and the lister. It decodes while the next page is read.
//! - `paging` refuses a list that does not come to its end.
//! - `lister` reads a list from the first page to the last, for the audit.
//!
//! A list is delivered whole or not at all.

mod lister;
mod pages;
mod paging;

pub use lister::{Listed, Lister};
pub(super) use pages::Pages;
pub(super) use paging::Paging;
