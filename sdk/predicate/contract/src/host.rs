//! Writers of the tables and code in the host that repeat the contract of predicates.
//!
//! ```text
//! table    reads `host/engine/facts.txt`: how the host answers each function
//! sandbox  the table of interfaces, from which `Interface`, `Facts` and the linker follow
//! engine   what a call records of its reads, and answers that are columns of moments
//! source   the kinds behind interfaces, fields of nodes, logs of changes
//! ```

pub mod engine;
pub mod sandbox;
pub mod source;
pub mod table;
