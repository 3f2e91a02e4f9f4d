//! Bindings of the components in Rust, as the generator of wit-bindgen writes them. Start at [`bindings`].
//!
//! They are committed, so that wit-bindgen's procedural macro is compiled by nobody: it has a parser of wasm, one of WIT and one of Rust,
//! which took half of an author's first build.

use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_bindgen_rust::{Opts, WithOption};
use wit_parser::Resolve;

/// Why a world has no bindings.
#[derive(Debug, thiserror::Error)]
pub enum BindingsError {
    /// The text is no WIT, has no such world, or the generator does not know what is in it.
    #[error("wit-bindgen")]
    Generate(#[source] anyhow::Error),
    /// The generator has written nothing, or what is no text.
    #[error("wit-bindgen has written no file of text")]
    Empty,
}

/// A world that a component in Rust implements.
#[derive(Debug)]
pub struct World<'a> {
    /// The text of the contract, a file of WIT.
    pub text: &'a str,
    /// The name of the world in it.
    pub name: &'a str,
    /// Its purpose, for the head of the module.
    pub about: &'a str,
    /// Modules below that of the bindings, as they are declared.
    pub modules: &'a str,
    /// The path of the module of the bindings, as other crates see it.
    pub module: &'a str,
    /// The name of the macro that exports a type as the component.
    pub export: &'a str,
    /// Traits that every type derives.
    pub derives: &'a [&'a str],
    /// Whether types have bindings that no function uses.
    pub has_unused_types: bool,
    /// Interfaces whose bindings are in another module, with its path.
    pub with: &'a [(&'a str, &'a str)],
}

/// The head of a module. The lints are off because the code is generated; it needs `unsafe` to move values over the boundary of the component.
const ALLOWED: &str = "\
#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = \"generated code\"
)]
";

/// The bindings of a world: a module, with what `wit_bindgen::generate!` would put there.
///
/// # Errors
///
/// Where the contract is not what the generator knows.
pub fn bindings(world: &World<'_>) -> Result<String, BindingsError> {
    let mut resolve = Resolve::default();
    // Notes are for tools, and not for readers.
    let text: String = world
        .text
        .lines()
        .filter(|line| !line.trim_start().starts_with("/// @"))
        .map(|line| format!("{line}\n"))
        .collect();
    let package = resolve.push_source("contract.wit", &text).map_err(BindingsError::Generate)?;
    let id = resolve.select_world(&[package], Some(world.name)).map_err(BindingsError::Generate)?;
    let options = Opts {
        format: true,
        pub_export_macro: true,
        export_macro_name: Some(world.export.to_owned()),
        default_bindings_module: Some(world.module.to_owned()),
        additional_derive_attributes: world.derives.iter().map(|&name| name.to_owned()).collect(),
        generate_unused_types: world.has_unused_types,
        with: world.with.iter().map(|&(name, path)| (name.to_owned(), WithOption::Path(path.to_owned()))).collect(),
        ..Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, id, &mut files).map_err(BindingsError::Generate)?;
    let (_, written) = files.iter().next().ok_or(BindingsError::Empty)?;
    let body = std::str::from_utf8(written).map_err(|_| BindingsError::Empty)?;
    let World { name, about, modules, .. } = world;
    Ok(format!(
        "//! Bindings of the world `{name}`: {about}.\n//!\n\
         //! Made by `make contract`. On targets other than wasm32 only the types are used: calling an import there panics.\n\n\
         {ALLOWED}\n{modules}{body}"
    ))
}
