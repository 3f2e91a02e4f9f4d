//! Puts the page of the explorer into the program: every file of `explorer/dist`, plain and compressed, with its type and its version.
//!
//! `make explorer` makes that folder, with Node. Without it the table is empty, so that the program can be built without Node; a program
//! that is shipped must have it. The table is Rust, in `OUT_DIR/assets.rs`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Folder of the page, below that of this crate.
const EXPLORER: &str = "../../explorer";

/// Folder, below that of the page as it is built, whose files have their version in their names.
const HASHED: &str = "/assets/";

/// Set where the program is built to be shipped.
const SHIPPED: &str = "CARGO_CFG_NODESIFT_SHIPPED";

fn main() -> io::Result<()> {
    let folder =
        |name: &str| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(format!("no {name}")));
    let (here, out) = (folder("CARGO_MANIFEST_DIR")?, folder("OUT_DIR")?);
    let (explorer, mut files) = (here.join(EXPLORER), BTreeMap::new());
    let (page, icon) = (explorer.join("dist"), explorer.join("src/icon.svg"));
    // A path that is not there would have this run, and the crate be compiled, every time; `make explorer` touches this file.
    println!("cargo::rerun-if-changed=build.rs");
    if page.is_dir() {
        println!("cargo::rerun-if-changed={}", page.display());
        collect(&page, "", &mut files)?;
    }
    if icon.is_file() {
        println!("cargo::rerun-if-changed={}", icon.display());
        // Browsers ask for it by this name where no page names another.
        files.insert("/favicon.ico".to_owned(), icon);
    }
    if !files.contains_key("/index.html") && env::var_os(SHIPPED).is_some() {
        return Err(io::Error::other(
            "a program that is shipped has the page of the explorer: run `make explorer` first",
        ));
    }
    let mut table = "&[\n".to_owned();
    for (number, (path, file)) in files.iter().enumerate() {
        table.push_str(&entry(number, path, file, &out)?);
    }
    table.push_str("]\n");
    fs::write(out.join("assets.rs"), table)
}

/// Finds all files below a folder, by their paths in URLs.
fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).filter(|name| is_plain(name));
        let name =
            name.ok_or_else(|| io::Error::other(format!("{}: not the name of a file of a page", path.display())))?;
        let url = format!("{prefix}/{name}");
        if path.is_dir() { collect(&path, &url, files)? } else { drop(files.insert(url, path)) }
    }
    Ok(())
}

/// Whether a name stands for itself in a URL, in a route and in Rust.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

/// The row of a file, whose bytes are copied into `out`: the program names no path of this machine.
fn entry(number: usize, path: &str, file: &Path, out: &Path) -> io::Result<String> {
    let plain = fs::read(file)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&plain)?;
    let gzipped = Some(encoder.finish()?).filter(|gzipped| gzipped.len() < plain.len()).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    hasher.write(&plain);
    let etag = format!("{:016x}", hasher.finish());
    fs::write(out.join(format!("{number}.plain")), &plain)?;
    fs::write(out.join(format!("{number}.gz")), &gzipped)?;
    let included = |kind: &str| format!(r#"include_bytes!(concat!(env!("OUT_DIR"), "/{number}.{kind}"))"#);
    Ok(format!(
        "Asset {{ path: {path:?}, media_type: {:?}, plain: {}, gzipped: {}, etag: \"\\\"{etag}\\\"\", is_hashed: {} }},\n",
        media_type(path)?,
        included("plain"),
        included("gz"),
        path.starts_with(HASHED)
    ))
}

/// The media type of a file by the end of its name. Another would be sent as what it is not.
fn media_type(path: &str) -> io::Result<&'static str> {
    Ok(match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        // A vector, whatever its name: browsers look at the type.
        "svg" | "ico" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        _ => return Err(io::Error::other(format!("{path}: no media type is known for it"))),
    })
}
