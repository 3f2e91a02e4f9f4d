//! The screens of `why`: the answer about a pod as people read it. Pure functions of the answer: no clock, no terminal.
//!
//! ```text
//! screen    what fits one screen: cause, funnel, nearest nodes, what would help, message
//! details   what a predicate could read, in one line
//! changes   two answers compared, for what-ifs
//! ticket    the same in Markdown
//! lines     text from outside in lines of a width
//! amount    amounts of resources as people write them
//! ```
//!
//! Start at [`screen()`].

mod amount;
mod changes;
mod details;
mod lines;
mod screen;
mod ticket;

pub(crate) use amount::number;
pub(crate) use changes::{changes, generation};
pub(crate) use lines::safe as one_line;
pub(crate) use screen::{View, line, screen};
pub(crate) use ticket::ticket;

#[cfg(test)]
mod tests;
