//! Code that wit-bindgen generates from the contract of accounting modules, `wit/accounting`. Nothing here is written by hand.

wit_bindgen::generate!({
    world: "accounting-guest",
    path: "wit/accounting",
    pub_export_macro: true,
    export_macro_name: "__export_accounting",
    default_bindings_module: "nodesift_sdk::bindings::accounting",
    additional_derives: [PartialEq, Eq],
    generate_unused_types: true,
});
