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

wit_bindgen::generate!({
    world: "guest",
    path: "wit",
    pub_export_macro: true,
    export_macro_name: "__export_component",
    default_bindings_module: "nodesift_sdk::bindings",
    additional_derives: [PartialEq, Eq, PartialOrd, Ord],
    generate_unused_types: true,
});
