//! `module` of a predicate or of `accounting`, and `modules` of a document: where modules are, and who may sign them. Start at
//! [`ModuleFields`] and [`ModuleSource`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;

use oci_spec::distribution::Reference;
use serde_json::json;

use super::check::{Checker, readable};
use super::policy::Place;
use crate::declare::{Maps, declare_map};
use crate::limits::KEYS_MAX;
use crate::reach::NamedPath;
use crate::tree::At;
use nodesift_registry::{Address, PublicKey, hex, read_digest};

declare_map! {
    /// Fields of `module`, as written.
    pub(crate) struct ModuleFields: json!({
        "description": "Where the module of your own is; a built-in has none",
        "oneOf": [
            {"required": ["path"], "not": {"anyOf": [{"required": ["oci"]}, {"required": ["layout"]}]}},
            {"required": ["oci", "digest"], "not": {"required": ["path"]}},
        ],
    });
    /// The path of a component file.
    path: At<String> = "path", json!({
        "description": "A component file; a relative path begins at the policy's folder",
        "type": "string", "minLength": 1,
    });
    /// The reference of an OCI artifact.
    oci: At<String> = "oci", json!({
        "description": "The reference of an OCI artifact, REGISTRY/REPOSITORY:TAG, which is pulled, or found in the folder `layout`",
        "type": "string", "minLength": 1, "pattern": "^[^@]*$",
    });
    /// The folder with the OCI image layout that holds the artifact; absent where a registry does.
    layout: At<String> = "layout", json!({
        "description": "A folder with an OCI image layout, where nothing is to be pulled; a relative path begins at the policy's folder",
        "type": "string", "minLength": 1,
    });
    /// The text `sha256:` and 64 hexadecimal digits.
    digest: At<String> = "digest", json!({
        "description": "The SHA-256 of the component; for an OCI artifact that of its manifest will do",
        "type": "string", "pattern": "^sha256:[0-9a-fA-F]{64}$",
    });
}

declare_map! {
    /// Fields of `spec.modules`, as written.
    pub(crate) struct ModulesFields: json!({"description": "What holds for all modules that are pulled from registries"});
    /// Public keys, one of which has to have signed each module of a registry.
    keys: Maps<KeyFields> = "keys", json!({
        "description": "Public keys: a module is taken from a registry only if one of them has signed it. Where the field is left out, its digest is enough",
        "type": "array", "minItems": 1, "maxItems": KEYS_MAX,
        "items": KeyFields::schema(),
    });
}

declare_map! {
    /// One entry of `spec.modules.keys`, as written.
    pub(crate) struct KeyFields: json!({
        "oneOf": [
            {"required": ["path"], "not": {"required": ["pem"]}},
            {"required": ["pem"], "not": {"required": ["path"]}},
        ],
    });
    /// The path of a file with a public key.
    path: At<String> = "path", json!({
        "description": "A file with a public key in PEM, ECDSA on the curve P-256; a relative path begins at the policy's folder",
        "type": "string", "minLength": 1,
    });
    /// Public key in PEM, in the document itself.
    pem: At<String> = "pem", json!({
        "description": "A public key in PEM, ECDSA on the curve P-256",
        "type": "string", "pattern": "-----BEGIN PUBLIC KEY-----",
    });
}

/// A module and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct NamedModule<'a> {
    /// The name of the predicate or scorer, or [`ACCOUNTING`](super::ACCOUNTING).
    pub name: &'a str,
    /// Where its entry is.
    pub place: &'a Place,
    /// Where the module is.
    pub module: &'a ModuleSource,
    /// Whose it is, which decides among which built-ins it is found.
    pub role: Role,
}

/// Uses that a policy makes of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Module of a predicate, which rejects nodes.
    Predicate,
    /// Module of a scorer, which gives nodes scores.
    Scorer,
    /// Accounting component, which says what pods take of their nodes.
    Accounting,
}

impl Role {
    /// Returns the built-ins that a document can name for this use.
    pub fn builtins(self) -> &'static [nodesift_bundle::Module] {
        match self {
            Self::Predicate => nodesift_bundle::BUILTINS,
            Self::Scorer => nodesift_bundle::SCORERS,
            Self::Accounting => &[],
        }
    }
}

/// Where the module of a predicate or scorer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleSource {
    /// In the bundle of built-in predicates or scorers, under its name.
    Builtin,
    /// In a component file.
    Path {
        /// The file; a relative path has been joined to the folder of the policy.
        path: NamedPath,
        /// The SHA-256 that the file must have; `None` accepts any content.
        digest: Option<[u8; 32]>,
    },
    /// In a folder with an OCI image layout.
    Oci {
        /// The folder; a relative path has been joined to the folder of the policy.
        layout: NamedPath,
        /// The reference by which the layout's index names the artifact.
        reference: String,
        /// The SHA-256 that the artifact's manifest or its component must have.
        digest: [u8; 32],
        /// `spec.modules.keys`: one of them has to have signed it, in the layout. Where there are none, nobody has to.
        keys: Arc<[Key]>,
    },
    /// In an OCI registry, from which it is pulled.
    Registry(RegistryModule),
}

/// A module in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryModule {
    /// Registry, repository and tag of the artifact.
    pub address: Address,
    /// The SHA-256 that the artifact's manifest or its component must have.
    pub digest: [u8; 32],
    /// `spec.modules.keys`: one of them has to have signed it. Where there are none, nobody has to.
    pub keys: Arc<[Key]>,
}

/// A key that may sign modules of registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// In this file; a relative path has been joined to the folder of the policy.
    Path(NamedPath),
    /// In the document itself, as PEM.
    Inline(PublicKey),
}

impl ModuleSource {
    /// The digest of an artifact's manifest or its component, and the keys of which one has to have signed it; none where it is no
    /// artifact.
    pub(crate) fn artifact(&self) -> Option<(&[u8; 32], &[Key])> {
        match self {
            Self::Builtin | Self::Path { .. } => None,
            Self::Oci { digest, keys, .. } | Self::Registry(RegistryModule { digest, keys, .. }) => {
                Some((digest, keys))
            }
        }
    }

    /// The files on which it depends: where one of them changes, the module may.
    pub fn files(&self) -> Vec<NamedPath> {
        match self {
            Self::Builtin => Vec::new(),
            Self::Path { path, .. } => vec![path.clone()],
            Self::Oci { layout, digest, keys, .. } => {
                let own = [layout.join(OCI_INDEX), layout.join(blob(digest))];
                own.into_iter().chain(key_files(keys)).collect()
            }
            Self::Registry(RegistryModule { keys, .. }) => key_files(keys).collect(),
        }
    }
}

fn key_files(keys: &[Key]) -> impl Iterator<Item = NamedPath> {
    keys.iter().filter_map(|key| match key {
        Key::Path(path) => Some(path.clone()),
        Key::Inline(_) => None,
    })
}

impl fmt::Display for ModuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built in"),
            Self::Path { path, .. } => write!(f, "{path}"),
            Self::Registry(RegistryModule { address, .. }) => write!(f, "{address}"),
            Self::Oci { layout, reference, .. } => write!(f, "{reference} in {layout}"),
        }
    }
}

/// The file of an OCI image layout that lists its manifests.
pub(crate) const OCI_INDEX: &str = "index.json";

/// The file of an OCI image layout that holds the content with this digest.
pub(crate) fn blob(digest: &[u8; 32]) -> PathBuf {
    Path::new("blobs").join("sha256").join(hex(digest))
}

impl Checker<'_> {
    pub(super) fn keys(&mut self, keys: &Maps<KeyFields>) -> Arc<[Key]> {
        const FIELD: &str = "spec.modules.keys";
        match keys.value.len() {
            0 => self.refuse(keys, FIELD, "empty; leave the field out to take modules that nobody has signed"),
            count if count > KEYS_MAX => {
                self.refuse(keys, FIELD, format!("{count} keys; at most {KEYS_MAX} are allowed"));
            }
            _ => {}
        }
        let read = readable(&keys.value).filter_map(|(index, key)| self.key(key, &format!("{FIELD}[{index}]")));
        read.collect()
    }

    fn key(&mut self, key: &At<KeyFields>, field: &str) -> Option<Key> {
        match (&key.value.path, &key.value.pem) {
            (Some(path), None) if path.value.is_empty() => self.refuse(path, &format!("{field}.path"), "empty"),
            (Some(path), None) => return self.located(path, &format!("{field}.path")).map(Key::Path),
            (None, Some(pem)) => match PublicKey::from_pem(&pem.value) {
                Ok(key) => return Some(Key::Inline(key)),
                Err(error) => self.refuse(pem, &format!("{field}.pem"), error.to_string()),
            },
            (Some(_), Some(pem)) => {
                self.refuse(pem, &format!("{field}.pem"), "given beside `path`; give one of them");
            }
            (None, None) => self.refuse(key, field, "neither `path` nor `pem`; give one of them"),
        }
        None
    }

    pub(super) fn module(&mut self, module: &At<ModuleFields>, field: &str) -> ModuleSource {
        let digest = module.value.digest.as_ref().and_then(|digest| {
            let bytes = read_digest(&digest.value);
            if bytes.is_none() {
                let reason = format!("{:?} is not sha256: and 64 hexadecimal digits", digest.value);
                self.refuse(digest, &format!("{field}.digest"), reason);
            }
            bytes
        });
        let ModuleFields { path, oci, layout, .. } = &module.value;
        if let (Some(layout), None) = (layout, oci) {
            self.refuse(layout, &format!("{field}.layout"), "given without `oci`; a file needs none");
        }
        match (path, oci) {
            (Some(path), None) if path.value.is_empty() => {
                self.refuse(path, &format!("{field}.path"), "empty");
            }
            (Some(path), None) => {
                let path = self.located(path, &format!("{field}.path"));
                return path.map_or(ModuleSource::Builtin, |path| ModuleSource::Path { path, digest });
            }
            (None, Some(oci)) => return self.oci(module, oci, digest, field),
            (Some(_), Some(oci)) => self.refuse(oci, &format!("{field}.oci"), "given beside `path`; give one of them"),
            (None, None) => self.refuse(module, field, "neither `path` nor `oci`; give one of them"),
        }
        ModuleSource::Builtin
    }

    fn oci(
        &mut self,
        module: &At<ModuleFields>,
        oci: &At<String>,
        digest: Option<[u8; 32]>,
        field: &str,
    ) -> ModuleSource {
        match Reference::from_str(&oci.value) {
            Err(error) => {
                let reason = format!("{:?} is no reference of an OCI artifact: {error}", oci.value);
                self.refuse(oci, &format!("{field}.oci"), reason);
            }
            Ok(reference) if reference.digest().is_some() => {
                self.refuse(oci, &format!("{field}.oci"), "has a digest; give that in `digest`");
            }
            Ok(_) => {}
        }
        if module.value.digest.is_none() {
            let reason = "missing; an OCI artifact needs the SHA-256 of its manifest or of its component";
            self.refuse(module, &format!("{field}.digest"), reason);
        }
        let Some(digest) = digest else { return ModuleSource::Builtin };
        match &module.value.layout {
            Some(layout) if layout.value.is_empty() => {
                let reason = "empty; leave the field out to pull from the registry";
                self.refuse(layout, &format!("{field}.layout"), reason);
                ModuleSource::Builtin
            }
            Some(layout) => {
                let layout = self.located(layout, &format!("{field}.layout"));
                let (reference, keys) = (oci.value.clone(), Arc::clone(&self.keys));
                let module = |layout| ModuleSource::Oci { layout, reference, digest, keys };
                layout.map_or(ModuleSource::Builtin, module)
            }
            // What is wrong with the reference has been said.
            None => {
                let Ok(address) = Address::parse(&oci.value, false) else { return ModuleSource::Builtin };
                match self.reach.registry(address) {
                    Ok(address) => {
                        ModuleSource::Registry(RegistryModule { address, digest, keys: Arc::clone(&self.keys) })
                    }
                    Err(error) => {
                        self.refuse(oci, &format!("{field}.oci"), error.to_string());
                        ModuleSource::Builtin
                    }
                }
            }
        }
    }

    /// A path that the document names; none where it may not name it.
    fn located(&mut self, path: &At<String>, field: &str) -> Option<NamedPath> {
        if self.folder.is_none() && Path::new(&path.value).is_relative() {
            self.refuse(
                path,
                field,
                format!("{:?} is relative, and an object has no folder: give the whole path", path.value),
            );
            return None;
        }
        let located = self.reach.path(self.folder.unwrap_or(Path::new("")).join(&path.value));
        located.map_err(|error| self.refuse(path, field, format!("{:?} is refused: {error}", path.value))).ok()
    }
}
