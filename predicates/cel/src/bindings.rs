//! Code that wit-bindgen generates from the contract of the component. Nothing here is written by hand.
//!
//! The lints are off because the code is generated; it needs `unsafe` to move values over the component boundary.

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

include!("bindings.in.rs");
