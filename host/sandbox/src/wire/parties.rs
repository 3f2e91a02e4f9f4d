//! Answers of parties about nodes, as a guest reads them. The contract documents the type under the same name.
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lower};

/// `node-parties.party-column`: the answers of one party, as a column with a dictionary of reasons.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct PartyColumn {
    pub party: Arc<str>,
    pub states: Arc<[u8]>,
    pub reasons: Arc<[u32]>,
    pub texts: Vec<Arc<str>>,
    #[component(name = "unknown-fits")]
    pub unknown_fits: bool,
}
