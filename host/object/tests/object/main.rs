//! Integration tests of the crate's public API: reading objects in [`read`] and [`devices`], amounts in [`quantity`], versions in
//! [`version`]. Kept outside the library because tests within it would compile it once more.

mod devices;
mod quantity;
mod read;
mod version;
