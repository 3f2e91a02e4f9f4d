//! Bundles in a registry: attached to a manifest as referrers, which the registry lists, or a tag where it does not. Start at
//! [`Client::bundles`].

use reqwest::header::ACCEPT;
use serde::Deserialize;

use crate::artifact::{Descriptor, Digest, MANIFEST, digest_text, hex, no_digest, read_digest};
use crate::bundle::{BUNDLE, SIGNED, bundle_of};
use crate::client::Client;
use crate::error::RegistryError;
use crate::limits::{BUNDLE_BYTES, MANIFEST_BYTES, REFERRER_BYTES, SIGNATURES};
use crate::words::bounded;

/// The media type of lists of manifests.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The annotation of a referrer with what its bundle says.
pub(crate) const PREDICATE_TYPE: &str = "dev.sigstore.bundle.predicateType";

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Referrer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Referrer {
    #[serde(flatten)]
    descriptor: Descriptor,
    artifact_type: Option<String>,
}

impl Referrer {
    /// Whether it may be a signature, as far as the list says.
    fn is_wanted(&self) -> bool {
        let says = |text: Option<&String>, wanted: &str| text.is_none_or(|text| text == wanted);
        self.descriptor.media_type == MANIFEST
            && says(self.artifact_type.as_ref(), BUNDLE)
            && says(self.descriptor.annotations.get(PREDICATE_TYPE), SIGNED)
    }
}

impl Client {
    /// The texts of bundles that are attached to a manifest, and why others are not read: whoever may push can attach anything.
    pub(crate) async fn bundles(&mut self, digest: &Digest) -> Result<(Vec<String>, Vec<String>), RegistryError> {
        let mut wanted: Vec<Referrer> = self.referrers(digest).await?;
        wanted.retain(Referrer::is_wanted);
        // Those first of which the list says that they are signatures.
        wanted.sort_by_key(|referrer| !referrer.descriptor.annotations.contains_key(PREDICATE_TYPE));
        let (mut bundles, mut unread) = (Vec::new(), Vec::new());
        if wanted.len() > SIGNATURES {
            unread.push(format!("{} are attached, and the first {SIGNATURES} are looked at", wanted.len()));
        }
        for referrer in wanted.iter().take(SIGNATURES) {
            match self.bundle(&referrer.descriptor).await {
                Ok(bundle) => bundles.extend(bundle),
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => unread.push(bounded(&error.to_string())),
            }
        }
        Ok((bundles, unread))
    }

    /// What the registry lists as attached to a manifest.
    async fn referrers(&mut self, digest: &Digest) -> Result<Vec<Referrer>, RegistryError> {
        const WHAT: &str = "the list of referrers";
        let mut url = self.address.url("referrers", &digest_text(digest));
        url.query_pairs_mut().append_pair("artifactType", BUNDLE);
        match self.send(WHAT, &|http| http.get(url.clone()).header(ACCEPT, INDEX)).await {
            Ok(answer) => {
                let bytes = self.read(WHAT, answer, MANIFEST_BYTES, None).await?;
                // What is no list is the answer of a registry that has none.
                if let Ok(Index { manifests }) = serde_json::from_slice(&bytes) {
                    return Ok(manifests);
                }
            }
            // Registries that have no such lists answer so.
            Err(
                RegistryError::Missing { .. }
                | RegistryError::Forbidden { .. }
                | RegistryError::Unexpected { .. }
                | RegistryError::Failed { status: 501, .. },
            ) => {}
            Err(error) => return Err(error),
        }
        let tag = format!("sha256-{}", hex(digest));
        match self.manifest(&tag, MANIFEST_BYTES).await {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(Index { manifests }) => Ok(manifests),
                Err(error) => Err(self.malformed(WHAT, &bounded(&error.to_string()))),
            },
            Err(RegistryError::Missing { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The text of the bundle that a referrer has; none where it has something else.
    async fn bundle(&mut self, referrer: &Descriptor) -> Result<Option<String>, RegistryError> {
        const WHAT: &str = "the bundle";
        // It becomes part of a path, and what has another name has no digest to be compared with.
        if read_digest(&referrer.digest).is_none() {
            return Err(self.malformed(WHAT, &no_digest(&referrer.digest)));
        }
        let manifest = self.manifest(&referrer.digest, REFERRER_BYTES).await?;
        let Some((layer, _)) = bundle_of(&manifest).map_err(|error| self.malformed(WHAT, &error))? else {
            return Ok(None);
        };
        let bytes = self.blob(WHAT, &layer, BUNDLE_BYTES, None).await?;
        String::from_utf8(bytes).map(Some).map_err(|_| self.malformed(WHAT, "it is no text"))
    }
}
