//! Artifacts to and from a registry. Start at [`pull`] and [`push`]; both wait, on the thread that calls them.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;
use tokio::time;

use crate::artifact::{
    Artifact, Descriptor, Digest, MANIFEST, Manifest, digest_of, digest_text, no_digest, read_digest,
};
use crate::client::{Client, Progress, upload};
use crate::error::RegistryError;
use crate::key::PublicKey;
use crate::limits::{COMPONENT_BYTES, LOOK, MANIFEST_BYTES, PAUSES, PAYLOAD_BYTES, PULL, PUSH, SIGNATURES};
use crate::reference::Address;
use crate::referrers::{INDEX, Missed};
use crate::search::Search;
use crate::sign::{self, Signature, Signatures, SigningKey};

/// Name of a signed payload in error messages.
const SIGNED_PAYLOAD: &str = "the signature";

/// Selection of the artifact to pull, and whether to pull its signatures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// The digest that the manifest or the component has to have.
    pub digest: Option<Digest>,
    /// Whether its signatures are wanted too.
    pub signatures: bool,
}

/// A module from a registry. Everything in it has its digest.
#[derive(Debug, Clone)]
pub struct Pulled {
    /// Manifest of the module, as in the registry.
    pub artifact: Artifact,
    /// Bytes of the wasm component.
    pub component: Vec<u8>,
    /// Its signatures, not verified.
    pub signatures: Signatures,
}

/// Pulls a module. Waits until it is there, but no longer than `is_over` is false. What may succeed a moment later is tried again.
///
/// # Errors
///
/// [`RegistryError`].
pub fn pull(
    address: &Address,
    wanted: Wanted,
    progress: Option<&Progress>,
    is_over: &dyn Fn() -> bool,
) -> Result<Pulled, RegistryError> {
    pull_signed(address, wanted, &[], progress, is_over)
}

/// Pulls a module as [`pull`] does, and looks for a signature by one of these keys. Whether there is one is for the caller to verify.
///
/// # Errors
///
/// [`RegistryError`].
pub fn pull_signed(
    address: &Address,
    wanted: Wanted,
    keys: &[PublicKey],
    progress: Option<&Progress>,
    is_over: &dyn Fn() -> bool,
) -> Result<Pulled, RegistryError> {
    let all = async {
        let mut pauses = PAUSES.iter();
        loop {
            let mut client = Client::new(address, "pull")?;
            match (pull_once(&mut client, wanted, keys, progress).await, pauses.next()) {
                (Err(error), Some(pause)) if error.is_passing() => time::sleep(*pause).await,
                (outcome, _) => return outcome,
            }
        }
    };
    wait(all, PULL, is_over)
}

/// A module in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Signatures that it has.
    pub signatures: usize,
}

/// Pushes a component under a tag, with these annotations, and signs it.
///
/// # Errors
///
/// [`RegistryError`].
pub fn push(
    address: &Address,
    component: &[u8],
    annotations: BTreeMap<String, String>,
    key: Option<&SigningKey>,
    progress: Option<&Progress>,
) -> Result<Pushed, RegistryError> {
    let all = async {
        let mut client = Client::new(address, "pull,push")?;
        let (artifact, config) = Artifact::from_component(component, annotations);
        let digest = artifact.digest();
        client.push_blob(&config.into(), None).await?;
        client.push_blob(&Bytes::copy_from_slice(component), progress).await?;
        // Signed first: whoever sees the tag sees the signature.
        let signatures = match key {
            Some(key) => client.add_signature(&digest, key).await?,
            None => 0,
        };
        let tag = address.tag().unwrap_or("latest");
        client.push_manifest(artifact.manifest.as_bytes(), tag).await?;
        Ok(Pushed { digest, signatures })
    };
    wait(all, PUSH, &|| false)
}

/// Runs a transfer to its end, on this thread.
fn wait<T>(
    transfer: impl Future<Output = Result<T, RegistryError>>,
    limit: Duration,
    is_over: &dyn Fn() -> bool,
) -> Result<T, RegistryError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| RegistryError::Prepare(error.to_string()))?;
    let over = async {
        while !is_over() {
            time::sleep(LOOK).await;
        }
    };
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = transfer => outcome,
            () = over => Err(RegistryError::Over),
            () = time::sleep(limit) => Err(RegistryError::Slow { seconds: limit.as_secs() }),
        }
    });
    // A credential helper is not waited for any longer.
    runtime.shutdown_background();
    outcome
}

async fn pull_once(
    client: &mut Client,
    wanted: Wanted,
    keys: &[PublicKey],
    progress: Option<&Progress>,
) -> Result<Pulled, RegistryError> {
    let artifact = client.artifact(wanted.digest.as_ref()).await?;
    let component = client.blob("the component", &artifact.component, COMPONENT_BYTES, progress).await?;
    let signatures = match wanted.signatures {
        true => client.signatures(Search::new(artifact.manifest.as_bytes(), keys)).await?,
        false => Signatures::default(),
    };
    Ok(Pulled { artifact, component, signatures })
}

impl Client {
    /// The artifact under the tag. Where its digest is known and the tag leads to another one, or to none, the one with that digest.
    async fn artifact(&mut self, expected: Option<&Digest>) -> Result<Artifact, RegistryError> {
        let named = self.address.digest().map(str::to_owned);
        let digest = expected.map(digest_text).or(named);
        let tag = match (self.address.tag(), &digest) {
            (Some(tag), _) => tag.to_owned(),
            (None, Some(digest)) => digest.clone(),
            (None, None) => "latest".to_owned(),
        };
        let tagged = match self.manifest(&tag, MANIFEST_BYTES).await {
            Ok(manifest) => self.read_artifact(&manifest),
            Err(error) => Err(error),
        };
        let Some(digest) = digest.filter(|digest| *digest != tag) else { return tagged };
        let otherwise = match tagged {
            Ok(artifact) if read_digest(&digest).is_some_and(|expected| artifact.is(&expected)) => return Ok(artifact),
            Ok(_) => RegistryError::Digest { reference: self.address.to_string(), expected: digest.clone() },
            Err(error @ (RegistryError::Missing { .. } | RegistryError::Malformed { .. })) => error,
            Err(error) => return Err(error),
        };
        match self.manifest(&digest, MANIFEST_BYTES).await {
            Ok(manifest) => self.read_artifact(&manifest),
            // Where the digest is that of a component, some registries answer so.
            Err(RegistryError::Missing { .. } | RegistryError::Failed { .. } | RegistryError::Unexpected { .. }) => {
                Err(otherwise)
            }
            Err(error) => Err(error),
        }
    }

    fn read_artifact(&self, manifest: &[u8]) -> Result<Artifact, RegistryError> {
        Artifact::read(manifest)
            .map_err(|reason| self.malformed("the manifest", &format!("it is no artifact of a module: {reason}")))
    }

    /// A manifest by its tag or digest.
    pub(crate) async fn manifest(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, RegistryError> {
        let (url, what) = (self.address.url("manifests", name), format!("the manifest {name}"));
        let of = format!("{what} of {}", self.address.repository());
        let accepted = format!("{MANIFEST}, {INDEX}");
        let accepted = accepted.as_str();
        let answer = self.send(&of, &|http| http.get(url.clone()).header(ACCEPT, accepted)).await?;
        let bytes = self.read(&what, answer, limit, None).await?;
        match read_digest(name) {
            Some(digest) if digest_of(&bytes) != digest => Err(self.content(&what, name)),
            _ => Ok(bytes),
        }
    }

    pub(crate) async fn blob(
        &mut self,
        what: &str,
        descriptor: &Descriptor,
        limit: u64,
        progress: Option<&Progress>,
    ) -> Result<Vec<u8>, RegistryError> {
        let Descriptor { digest, size, .. } = descriptor;
        // It becomes part of a path, and what has another name has no digest to be compared with.
        if read_digest(digest).is_none() {
            return Err(self.malformed(what, &no_digest(digest)));
        }
        if *size > limit {
            return Err(RegistryError::TooLarge { registry: self.registry(), what: what.to_owned(), limit });
        }
        let url = self.address.url("blobs", digest);
        let answer = self.send(&format!("{what} {digest}"), &|http| http.get(url.clone())).await?;
        let bytes = self.read(what, answer, *size, progress.map(|progress| (progress, *size))).await?;
        if (bytes.len() as u64) < *size {
            return Err(RegistryError::Cut { registry: self.registry(), what: what.to_owned() });
        }
        match read_digest(digest) == Some(digest_of(&bytes)) {
            true => Ok(bytes),
            false => Err(self.content(what, digest)),
        }
    }

    fn content(&self, what: &str, expected: &str) -> RegistryError {
        RegistryError::Content { registry: self.registry(), what: what.to_owned(), expected: expected.to_owned() }
    }

    /// The signatures of a manifest. That some cannot be had is an error only where keys are known, none of which has signed it, and where
    /// it may be otherwise a moment later.
    async fn signatures(&mut self, mut search: Search<'_>) -> Result<Signatures, RegistryError> {
        let mut missed = Missed::default();
        match self.payload_layers(search.digest()).await {
            Ok(layers) => {
                for (layer, signature) in layers {
                    if search.goes_on() && !missed.is_over() {
                        match self.payload(&layer).await {
                            Ok(payload) => search.payload(Signature { payload, signature }),
                            Err(error) => missed.add(error, &mut search),
                        }
                    }
                }
            }
            Err(error) => missed.add(error, &mut search),
        }
        search.begin_kind();
        if !search.is_good() && !missed.is_over() {
            self.bundles(&mut search, &mut missed).await;
        }
        match missed.passing {
            Some(error) if search.has_keys() && !search.is_good() => Err(error),
            Some(error) => {
                search.unread(&error.to_string());
                Ok(search.found())
            }
            None => Ok(search.found()),
        }
    }

    /// The layers of the signatures under the manifest's tag for them; none where there are none.
    async fn payload_layers(&mut self, digest: &Digest) -> Result<Vec<(Descriptor, String)>, RegistryError> {
        match self.manifest(&sign::tag(digest), MANIFEST_BYTES).await {
            Ok(manifest) => sign::layers(&manifest).map_err(|error| self.malformed(SIGNED_PAYLOAD, &error)),
            Err(RegistryError::Missing { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn payload(&mut self, layer: &Descriptor) -> Result<String, RegistryError> {
        let payload = self.blob(SIGNED_PAYLOAD, layer, PAYLOAD_BYTES, None).await?;
        String::from_utf8(payload).map_err(|_| self.malformed(SIGNED_PAYLOAD, "its payload is no text"))
    }

    /// All signatures under the manifest's tag for them, each with its layer, to be written again beside another one.
    async fn payloads(&mut self, digest: &Digest) -> Result<Vec<(Descriptor, Signature)>, RegistryError> {
        let mut found = Vec::new();
        for (layer, signature) in self.payload_layers(digest).await?.into_iter().take(SIGNATURES) {
            let payload = self.payload(&layer).await?;
            found.push((layer, Signature { payload, signature }));
        }
        Ok(found)
    }

    /// Signs a manifest, beside those who have signed it. Returns how many these are now.
    async fn add_signature(&mut self, digest: &Digest, key: &SigningKey) -> Result<usize, RegistryError> {
        let known = self.payloads(digest).await?;
        if known.iter().any(|(_, signature)| key.public().has_signed(signature, digest)) {
            return Ok(known.len());
        }
        let signature = key.sign(&self.address.name(), digest).map_err(RegistryError::Sign)?;
        let mut layer = Descriptor::new(sign::PAYLOAD, signature.payload.as_bytes());
        layer.annotations.insert(sign::SIGNATURE.to_owned(), signature.signature);
        let layers: Vec<Descriptor> = known.into_iter().map(|(layer, _)| layer).chain([layer]).collect();
        if layers.len() > SIGNATURES {
            return Err(RegistryError::Sign(format!("it has {SIGNATURES} signatures already")));
        }
        // As for an image, of which these tools know how to read the layers.
        let digests: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
        let config = json!({
            "architecture": "", "created": "0001-01-01T00:00:00Z", "history": [{"created": "0001-01-01T00:00:00Z"}], "os": "",
            "rootfs": {"type": "layers", "diff_ids": digests}, "config": {},
        });
        let config = Bytes::from(config.to_string());
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            artifact_type: None,
            config: Descriptor::new("application/vnd.oci.image.config.v1+json", &config),
            layers,
            subject: None,
            annotations: BTreeMap::new(),
        };
        self.push_blob(&config, None).await?;
        self.push_blob(&signature.payload.into(), None).await?;
        let count = manifest.layers.len();
        let manifest = serde_json::to_vec(&manifest).unwrap_or_default();
        self.push_manifest(&manifest, &sign::tag(digest)).await?;
        Ok(count)
    }

    async fn push_blob(&mut self, bytes: &Bytes, progress: Option<&Progress>) -> Result<(), RegistryError> {
        let digest = digest_text(&digest_of(bytes));
        let url = self.address.url("blobs", &digest);
        match self.send("the blob", &|http| http.head(url.clone())).await {
            Ok(_) => return Ok(()),
            Err(RegistryError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
        let url = self.address.url("blobs", "uploads/");
        let started = self.send("uploads", &|http| http.post(url.clone()).header("content-length", 0)).await?;
        let mut location = self.location(&started)?;
        location.query_pairs_mut().append_pair("digest", &digest);
        let put = |http: &reqwest::Client| {
            let request = http.put(location.clone()).header(CONTENT_TYPE, "application/octet-stream");
            upload(request, bytes, progress)
        };
        self.send("the upload", &put).await.map(drop)
    }

    async fn push_manifest(&mut self, manifest: &[u8], tag: &str) -> Result<(), RegistryError> {
        let url = self.address.url("manifests", tag);
        let put = |http: &reqwest::Client| http.put(url.clone()).header(CONTENT_TYPE, MANIFEST).body(manifest.to_vec());
        self.send("the manifest", &put).await.map(drop)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
