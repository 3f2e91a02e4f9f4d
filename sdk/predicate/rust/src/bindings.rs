//! Code that wit-bindgen generates from the contract, `wit/predicate.wit`. Nothing here is written by hand.
//!
//! The lints are off because the code is generated; it needs `unsafe` to move values over the component boundary. On
//! targets other than wasm32 only its types are used: calling an import there panics.

#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated code"
)]

pub mod accounting;
pub mod allocating;

include!("bindings/guest.in.rs");
