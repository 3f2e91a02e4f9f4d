//! What the crate gives, seen from outside: reading objects in [`read`] and [`devices`], amounts in [`quantity`], versions in [`version`].
//! Outside, because what is tested within would be compiled once more.

mod devices;
mod quantity;
mod read;
mod version;
