//! DynamicResources over facts, compared with kube-scheduler and with the slow reference.
//!
//! | module | what |
//! |---|---|
//! | `project` | plain objects to facts, slowly |
//! | `found` | what the predicate answers, in the form of the reference |
//! | `documents` | the answers of the plugin of kube-scheduler 1.36.2 in `tests/data/claims` |
//! | `alternatives` | alternatives that ask for all devices, in each version |
//! | `random` | random clusters, compared with the reference |
//! | `broken` | facts that contradict themselves, and limits |
//! | `made` | facts made by hand |
//! | `versions` | the answers of the plugins of all versions in `tests/data/versions` |
//! | `speed` | steps and time on 500 nodes |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, unreachable_pub, reason = "tests are named as sentences")]

mod alternatives;
mod broken;
mod documents;
mod found;
mod made;
mod project;
mod random;
mod speed;
mod versions;
