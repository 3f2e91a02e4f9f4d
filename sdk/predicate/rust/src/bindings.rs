//! What wit-bindgen generates from the contract, `../../wit/predicate.wit`: nothing in here is written by hand.
//!
//! The lints are off because the code is generated; unsafe is how it moves values over the component boundary. On
//! other targets than wasm32 only its types are of use: calling its imports there would panic.

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

wit_bindgen::generate!({
    world: "guest",
    path: "../wit",
    pub_export_macro: true,
    export_macro_name: "__export_component",
    default_bindings_module: "nodesift_sdk::bindings",
    additional_derives: [PartialEq, Eq, PartialOrd, Ord],
    generate_unused_types: true,
});
