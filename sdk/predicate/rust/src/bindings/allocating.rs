//! Code that wit-bindgen generates from the world `allocating`: an export that only some predicates have. Its types of facts are those of
//! the world `guest`.

wit_bindgen::generate!({
    world: "allocating",
    path: "wit",
    with: { "nodesift:predicate/pod-claims@0.2.0": crate::bindings::nodesift::predicate::pod_claims },
    pub_export_macro: true,
    export_macro_name: "__export_allocator",
    default_bindings_module: "nodesift_sdk::bindings::allocating",
    additional_derives: [PartialEq, Eq, PartialOrd, Ord],
});
