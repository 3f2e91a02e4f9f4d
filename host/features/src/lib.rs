//! Holds no code: `Cargo.toml` beside it selects features of dependencies.
