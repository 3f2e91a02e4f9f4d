//! Generates the messages, client and server from `../proto` in pure Rust (no `protoc`), and their protobuf JSON
//! mapping.

use std::error::Error;
use std::path::PathBuf;

use prost::Message as _;

/// The directory that import paths start from.
const ROOT: &str = "../proto";
/// The files of the API, below [`ROOT`].
const FILES: [&str; 3] = ["nodesift/v1/nodesift.proto", "nodesift/v1/negotiation.proto", "nodesift/v1/why.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={ROOT}");

    let descriptors = protox::compile(FILES, [ROOT])?;
    let encoded = descriptors.encode_to_vec();
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("nodesift.v1.descriptors"), &encoded)?;

    tonic_prost_build::configure()
        // The well-known types come with their JSON mapping.
        .compile_well_known_types(true)
        .extern_path(".google.protobuf", "::pbjson_types")
        .extern_path(".google.protobuf.Timestamp", "crate::wkt::Timestamp")
        // Whole objects stay JSON text, as they arrive over HTTP.
        .extern_path(".google.protobuf.Struct", "crate::Object")
        .compile_fds(descriptors)?;

    pbjson_build::Builder::new()
        .register_descriptors(&encoded)?
        .out_dir(out)
        // Writes empty lists and default values, so that readers need not know the defaults.
        .emit_fields()
        .build(&[".nodesift.v1"])?;
    Ok(())
}
