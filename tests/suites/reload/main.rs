//! The policy of a running sidecar is replaced: whole, or not at all.
//!
//! The names, H-02 and H-23 are those of the reliability plan.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod accounts;
mod broken;
mod commands;
mod files;
mod flap;
mod folder;
mod followed;
mod kept;
mod load;
mod object;
mod object_status;
mod order;
mod quarantine;
mod remembered;
mod running;
mod schedulers;
mod shadow;
mod torn;
mod trial;
mod unnamed;
