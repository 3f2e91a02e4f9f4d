//! Code that wit-bindgen generates from the contract of accounting modules, `wit/accounting`. Nothing here is written by hand.

include!("accounting.in.rs");
