//! Code that wit-bindgen generates from the world `allocating`: an export that only some predicates have. Its types of facts are those of
//! the world `guest`.

include!("allocating.in.rs");
