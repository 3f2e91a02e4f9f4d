//! `nodesift-dev module push` and `nodesift-dev module pull`, and modules of registries for `inspect`: arguments → `nodesift-registry` → what is
//! printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use nodesift_registry::limits::KEY_BYTES;
use nodesift_registry::{
    self as registry, Address, CONTRACT, DESCRIPTION, IMPORTS, PREDICATE, PublicKey, Pulled, Pushed, RegistryError,
    SigningKey, TITLE, VERSION, Wanted, digest_of, digest_text,
};
use nodesift_sandbox::Inspection;
use parking_lot::Mutex;
use serde::Serialize;

use super::project::write_whole;
use super::{read_file, written};
use crate::args::{ModulePullArgs, ModulePushArgs, RegistryArgs};
use nodesift::exit::Failure;
use nodesift::progress::Progress;
use nodesift::terminal;

/// `nodesift-dev module push`.
///
/// # Errors
///
/// [`Failure::Data`] if the file is no predicate, [`Failure::Files`] if the key cannot be used, [`Failure::Unavailable`] if the registry
/// does not take it.
pub(crate) fn push(args: &ModulePushArgs) -> anyhow::Result<()> {
    let address = args.registry.address(&args.reference).map_err(|error| Failure::Usage(error.to_string()))?;
    if address.digest().is_some() {
        return Err(Failure::Usage(format!("{address} names a digest: push under a tag, such as :1.0")).into());
    }
    let key = args.sign.as_deref().map(|path| key(path, SigningKey::from_pem)).transpose()?;
    // What nobody could load is not pushed.
    let (file, inspection) = read_file(&args.file)?;
    let annotations = annotations(&args.file, &inspection);
    let progress = transfer();
    let pushed = registry::push(&address, &file.bytes, annotations, key.as_ref(), Some(&progress));
    let Pushed { digest, signatures } = pushed.map_err(unavailable)?;
    let document = Document {
        reference: address.to_string(),
        artifact: artifact(&address),
        digest: digest_text(&digest),
        component: file.digest(),
        size_bytes: file.bytes.len(),
        signatures,
        file: None,
    };
    terminal::print(&terminal::escaped(&written(args.format, &document, || document.table("pushed"))?))
}

/// `nodesift-dev module pull`.
///
/// # Errors
///
/// [`Failure::Files`] if the key cannot be used or the file not be written, [`Failure::Data`] if the module is not signed as wanted,
/// [`Failure::Unavailable`] if the registry does not give it.
pub(crate) fn pull(args: &ModulePullArgs) -> anyhow::Result<()> {
    let address = args.registry.address(&args.reference).map_err(|error| Failure::Usage(error.to_string()))?;
    let keys = args.verify.iter().map(|path| key(path, PublicKey::from_pem)).collect::<Result<Vec<_>, _>>()?;
    let pulled = fetch(&address, &keys)?;
    let digest = pulled.artifact.digest();
    if !keys.is_empty() {
        registry::verify(&pulled.signatures, pulled.artifact.manifest.as_bytes(), &keys)
            .map_err(|error| Failure::Data(anyhow::Error::new(error).context(address.to_string())))?;
    }
    let name = address.repository().rsplit('/').next().unwrap_or("module");
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.wasm")));
    write_whole(&path, &pulled.component).map_err(|error| Failure::Files(error.context(path.display().to_string())))?;
    let document = Document {
        reference: address.to_string(),
        artifact: artifact(&address),
        digest: digest_text(&digest),
        component: digest_text(&digest_of(&pulled.component)),
        size_bytes: pulled.component.len(),
        signatures: pulled.signatures.len(),
        file: Some(path.display().to_string()),
    };
    terminal::print(&terminal::escaped(&written(args.format, &document, || document.table("pulled"))?))
}

/// A module of a registry, with its signatures, if that is what the argument means.
pub(super) fn named(argument: &Path, registry: RegistryArgs) -> anyhow::Result<Option<Pulled>> {
    let Some(text) = argument.to_str().filter(|text| text.starts_with(registry::SCHEME)) else { return Ok(None) };
    let address = registry.address(text).map_err(|error| Failure::Usage(error.to_string()))?;
    fetch(&address, &[]).map(Some)
}

fn fetch(address: &Address, keys: &[PublicKey]) -> anyhow::Result<Pulled> {
    let digest = address.digest().map(|text| {
        let digest = registry::read_digest(text);
        digest.ok_or_else(|| Failure::Usage(format!("{text} is not sha256: and 64 hexadecimal digits")))
    });
    let wanted = Wanted { digest: digest.transpose()?, signatures: true };
    registry::pull_signed(address, wanted, keys, Some(&transfer()), &|| false).map_err(unavailable)
}

fn unavailable(error: RegistryError) -> anyhow::Error {
    Failure::Unavailable(error.into()).into()
}

/// A bar for what is transferred.
fn transfer() -> registry::Progress {
    let progress = Mutex::new(Progress::for_bytes());
    Arc::new(move |done, total| progress.lock().set(done, Some(total)))
}

fn artifact(address: &Address) -> String {
    match address.tag() {
        Some(tag) => format!("{}:{tag}", address.name()),
        None => address.name(),
    }
}

/// Reads a key from a file.
fn key<K, E: std::error::Error + Send + Sync + 'static>(
    path: &Path,
    read: impl FnOnce(&str) -> Result<K, E>,
) -> anyhow::Result<K> {
    let mut text = String::new();
    let found = nodesift_file::open(path).and_then(|file| file.take(KEY_BYTES).read_to_string(&mut text));
    let key = found.map_err(anyhow::Error::new).and_then(|_| Ok(read(&text)?));
    key.with_context(|| path.display().to_string()).map_err(|error| Failure::Files(error).into())
}

/// Annotations of the manifest that describe the module, so that lists of a registry show them.
fn annotations(file: &Path, inspection: &Inspection) -> BTreeMap<String, String> {
    let imports: Vec<&str> = inspection.imports.iter().map(|interface| interface.name()).collect();
    let title = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let described = &inspection.descriptor;
    [
        (TITLE, title),
        (PREDICATE, described.name.clone()),
        (VERSION, described.version.clone()),
        (DESCRIPTION, described.summary.clone()),
        (CONTRACT, inspection.contract.clone()),
        (IMPORTS, imports.join(",")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    reference: String,
    /// The reference without a digest, which policies name apart.
    #[serde(skip)]
    artifact: String,
    /// Digest of the manifest, which a policy names.
    digest: String,
    /// The digest of the component.
    component: String,
    size_bytes: usize,
    /// Number of its signatures in the registry.
    signatures: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl Document {
    fn table(&self, done: &str) -> String {
        let signed = match self.signatures {
            0 => "no".to_owned(),
            count => terminal::counted(count, "signature"),
        };
        let mut out = String::new();
        let rows = [
            (done, self.reference.clone()),
            ("digest", self.digest.clone()),
            ("component", self.component.clone()),
            ("size", format!("{} bytes", self.size_bytes)),
            ("signed", signed),
        ];
        for (name, value) in rows.into_iter().chain(self.file.clone().map(|file| ("file", file))) {
            // Writing to a String cannot fail.
            let _infallible = writeln!(out, "{name:<10} {value}");
        }
        let _infallible =
            writeln!(out, "\nin a policy\n  module: {{oci: {}, digest: \"{}\"}}", self.artifact, self.digest);
        out
    }
}
