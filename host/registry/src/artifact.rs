//! Modules as OCI artifacts: manifests written and read. Start at [`Artifact::from_component`] and [`Artifact::read`].
//!
//! The form is that of the wasm working group: one layer `application/wasm`, which is the component as it is, and a config that says that
//! it is one. Nothing in it depends on time or machine, so the same module always has the same digest.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::limits::NO_DIGEST_BYTES;
use crate::words::{bounded, cut};

/// The media type of manifests.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media types by which tools push components: that of the wasm working group, and those before it.
pub const COMPONENT: [&str; 3] = [
    "application/wasm",
    "application/vnd.wasm.content.layer.v1+wasm",
    "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
];

/// The media type of the config of a component.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// The annotation with the name of the file.
pub const TITLE: &str = "org.opencontainers.image.title";
/// The annotation with the version of the predicate.
pub const VERSION: &str = "org.opencontainers.image.version";
/// The annotation with the summary of the predicate.
pub const DESCRIPTION: &str = "org.opencontainers.image.description";
/// The annotation with the name of the predicate.
pub const PREDICATE: &str = "dev.nodesift.predicate";
/// The annotation with the version of the contract.
pub const CONTRACT: &str = "dev.nodesift.contract";
/// The annotation with the interfaces that the module imports, separated by commas.
pub const IMPORTS: &str = "dev.nodesift.imports";

/// SHA-256 of a manifest or a blob, as bytes.
pub type Digest = [u8; 32];

/// Descriptor of a blob or manifest, as the OCI image specification defines it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Media type of the content, such as `application/wasm`.
    pub media_type: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Size of the content in bytes.
    pub size: u64,
    /// Annotations of the content, by key; empty where there are none.
    #[serde(default, deserialize_with = "null_as_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Returns the descriptor of this content, without annotations.
    pub(crate) fn new(media_type: &str, bytes: &[u8]) -> Self {
        let (media_type, size) = (media_type.to_owned(), bytes.len() as u64);
        Self { media_type, digest: digest_text(&digest_of(bytes)), size, annotations: BTreeMap::new() }
    }
}

/// Some tools write null where there are no annotations.
fn null_as_none<'d, D: Deserializer<'d>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    /// Descriptor of the manifest that this one refers to, for artifacts that are attached to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "null_as_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A module as an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The manifest as it is in the registry.
    pub manifest: String,
    /// Descriptor of the layer that is the wasm component.
    pub component: Descriptor,
    /// Annotations of the manifest, such as the name and version of the predicate.
    pub annotations: BTreeMap<String, String>,
}

impl Artifact {
    /// The artifact of a component, and its config.
    pub(crate) fn from_component(bytes: &[u8], annotations: BTreeMap<String, String>) -> (Self, Vec<u8>) {
        let component = Descriptor::new(COMPONENT[0], bytes);
        let config = json!({
            "created": "1970-01-01T00:00:00Z",
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [component.digest],
        });
        let config = config.to_string().into_bytes();
        let mut layer = component.clone();
        layer.annotations.extend(annotations.get_key_value(TITLE).map(|(key, title)| (key.clone(), title.clone())));
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            artifact_type: Some(COMPONENT[0].to_owned()),
            config: Descriptor::new(CONFIG, &config),
            layers: vec![layer],
            subject: None,
            annotations: annotations.clone(),
        };
        // Maps with keys of text are always JSON.
        let manifest = serde_json::to_string(&manifest).unwrap_or_default();
        (Self { manifest, component, annotations }, config)
    }

    /// Reads a manifest. An artifact has one component.
    ///
    /// # Errors
    ///
    /// Why it is none of a module.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        // Texts of it are compared and kept, whether or not they are read here.
        let text = std::str::from_utf8(bytes).map_err(|_| "no manifest: it is not UTF-8".to_owned())?;
        let manifest: Manifest = serde_json::from_str(text).map_err(|error| match index_type(text) {
            Some(media_type) => format!(
                "no manifest, but an image index (media type {:?}): name the digest of one of its manifests",
                bounded(&media_type)
            ),
            None => format!("no manifest: {}", bounded(&error.to_string())),
        })?;
        let is_component = |layer: &&Descriptor| COMPONENT.contains(&layer.media_type.as_str());
        let components: Vec<&Descriptor> = manifest.layers.iter().filter(is_component).collect();
        let [component] = components.as_slice() else {
            let found: Vec<&str> = manifest.layers.iter().map(|layer| layer.media_type.as_str()).take(8).collect();
            return Err(format!(
                "{} layers are components; expected one, of media type {}; the layers are {}",
                components.len(),
                COMPONENT[0],
                bounded(&format!("{found:?}"))
            ));
        };
        let component = Descriptor { annotations: BTreeMap::new(), ..(*component).clone() };
        // In lower case, as the OCI specification has them: digests of manifests are compared as texts elsewhere.
        if component.digest.bytes().any(|byte| byte.is_ascii_uppercase()) || read_digest(&component.digest).is_none() {
            return Err(no_digest(&component.digest));
        }
        Ok(Self { manifest: text.to_owned(), component, annotations: manifest.annotations })
    }

    /// The digest of the manifest.
    pub fn digest(&self) -> Digest {
        digest_of(self.manifest.as_bytes())
    }

    /// Whether the manifest or the component has this digest.
    pub fn is(&self, digest: &Digest) -> bool {
        self.digest() == *digest || read_digest(&self.component.digest) == Some(*digest)
    }
}

/// The media type of a list of manifests, for several platforms; none where a text is something else.
fn index_type(text: &str) -> Option<String> {
    let document: serde_json::Value = serde_json::from_str(text).ok()?;
    document.get("manifests")?.as_array()?;
    Some(document.get("mediaType").and_then(serde_json::Value::as_str).unwrap_or("none").to_owned())
}

/// The SHA-256 of these bytes.
pub fn digest_of(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// A digest in hexadecimal digits.
pub fn hex(digest: &Digest) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// A digest as documents write it.
pub fn digest_text(digest: &Digest) -> String {
    format!("sha256:{}", hex(digest))
}

/// The digest that a text names: `sha256:` and 64 hexadecimal digits.
pub fn read_digest(text: &str) -> Option<Digest> {
    let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64)?;
    let nibbles: Vec<u8> = digits.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> = nibbles.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect();
    bytes.try_into().ok()
}

/// Returns the error text for a string that is no SHA-256 digest, with the string cut to a bounded length.
pub fn no_digest(text: &str) -> String {
    format!("{:?} is no SHA-256", cut(text, NO_DIGEST_BYTES))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn annotations() -> BTreeMap<String, String> {
        [(TITLE, "own.wasm"), (PREDICATE, "Own")].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn what_two_readers_could_take_for_different_things_is_refused_by_name() {
        let (written, _) = Artifact::from_component(b"component", annotations());
        let text = written.manifest.as_str();
        let digits = written.component.digest.strip_prefix("sha256:").unwrap();
        let capitals = text.replace(digits, &digits.to_uppercase());
        assert!(capitals != text && Artifact::read(capitals.as_bytes()).unwrap_err().contains("no SHA-256"));
        let mut bytes = text.replace("own.wasm", "own?wasm").into_bytes();
        bytes.iter_mut().filter(|byte| **byte == b'?').for_each(|byte| *byte = 0xff);
        assert!(Artifact::read(&bytes).unwrap_err().contains("not UTF-8"));
        let index = br#"{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}"#;
        assert!(Artifact::read(index).unwrap_err().contains("application/vnd.oci.image.index.v1+json"));
        let other = text.replace("application/wasm", "application/x-tar");
        assert!(Artifact::read(other.as_bytes()).unwrap_err().contains("application/x-tar"));
    }

    #[test]
    fn a_refusal_is_one_short_line_whatever_the_manifest_says() {
        let (written, _) = Artifact::from_component(b"component", annotations());
        let text = written.manifest;
        let long = "\\u001b[31m\\n".repeat(300_000);
        let layers = vec![json!({"mediaType": "x".repeat(400_000), "digest": "x", "size": 1}); 8];
        for manifest in [
            text.replace("\"application/wasm\",\"digest", &format!("\"{long}\",\"digest")),
            text.replace("sha256:", &format!("sha256:{long}")),
            text.replace(":2,", &format!(":\"{long}\",")),
            format!(r#"{{"schemaVersion": 2, "mediaType": "{long}", "manifests": []}}"#),
            json!({"schemaVersion": 2, "mediaType": "x", "config": layers[0], "layers": layers}).to_string(),
        ] {
            let refusal = Artifact::read(manifest.as_bytes()).unwrap_err();
            assert!(refusal.len() < 1000 && !refusal.contains(char::is_control), "{} bytes", refusal.len());
        }
    }

    #[test]
    fn an_artifact_reads_as_it_was_written_and_is_the_same_each_time() {
        let (written, config) = Artifact::from_component(b"component", annotations());
        assert_eq!(Artifact::read(written.manifest.as_bytes()).unwrap(), written);
        assert_eq!(Artifact::from_component(b"component", annotations()), (written.clone(), config.clone()));
        assert!(
            written.is(&digest_of(b"component")) && written.is(&written.digest()) && !written.is(&digest_of(b"other"))
        );
        let manifest: serde_json::Value = serde_json::from_str(&written.manifest).unwrap();
        assert_eq!(manifest["artifactType"], "application/wasm");
        assert_eq!(manifest["layers"][0]["annotations"][TITLE], "own.wasm");
        assert_eq!(manifest["config"]["digest"], digest_text(&digest_of(&config)));
        let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
        assert_eq!(config["layerDigests"][0], digest_text(&digest_of(b"component")));
    }

    #[test]
    fn a_manifest_without_one_component_is_refused() {
        let (artifact, _) = Artifact::from_component(b"component", annotations());
        let mut manifest: Manifest = serde_json::from_str(&artifact.manifest).unwrap();
        let read = |manifest: &Manifest| Artifact::read(&serde_json::to_vec(manifest).unwrap());
        let layer = manifest.layers.remove(0);
        assert!(read(&manifest).unwrap_err().contains("0 layers"));
        manifest.layers = vec![Descriptor { media_type: "text/plain".into(), ..layer.clone() }, layer.clone()];
        assert!(read(&manifest).is_ok());
        manifest.layers = vec![layer.clone(), layer.clone()];
        assert!(read(&manifest).unwrap_err().contains("2 layers"));
        manifest.layers = vec![Descriptor { digest: "sha256:../..".into(), ..layer }];
        assert!(read(&manifest).unwrap_err().contains("no SHA-256"));
        assert!(Artifact::read(br#"{"schemaVersion": 2, "manifests": []}"#).unwrap_err().contains("no manifest"));
    }
}
