//! Types for JavaScript and Python: what `facts(name)` returns, for editors and checkers. The functions themselves come from the
//! contract when a component is built.
//!
//! ```text
//! ts       js/types/contract.d.ts
//! python   python/src/nodesift/_host.pyi
//! ```

pub mod python;
pub mod ts;
