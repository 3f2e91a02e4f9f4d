//! Modules in OCI registries.
