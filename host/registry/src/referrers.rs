//! Bundles in a registry: attached to a manifest as referrers, which the registry lists, or a tag where it does not. Start at
//! [`Client::bundles`].

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::header::{ACCEPT, LINK};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::artifact::{MANIFEST, digest_text, hex, no_digest, read_digest};
use crate::bundle::{BUNDLE, SIGNED, bundle_of};
use crate::client::Client;
use crate::error::RegistryError;
use crate::limits::{BUNDLE_BYTES, MANIFEST_BYTES, REFERRER_BYTES, REFERRER_PAGES};
use crate::search::Search;
use crate::words::bounded;

/// The media type of lists of manifests.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The annotation of a referrer with what its bundle says.
pub(crate) const PREDICATE_TYPE: &str = "dev.sigstore.bundle.predicateType";

/// Name of the list of referrers in error messages.
const LIST: &str = "the list of referrers";

/// Something that is read for itself: whoever may attach something can write what he likes beside what others have attached.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lenient<T> {
    Is(T),
    Odd(IgnoredAny),
}

impl<T> Lenient<T> {
    fn known(self) -> Option<T> {
        match self {
            Self::Is(known) => Some(known),
            Self::Odd(IgnoredAny) => None,
        }
    }
}

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self::Odd(IgnoredAny)
    }
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Lenient<Entry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    media_type: Lenient<String>,
    digest: String,
    #[serde(default)]
    artifact_type: Lenient<String>,
    #[serde(default)]
    annotations: Lenient<BTreeMap<String, Lenient<String>>>,
}

/// Manifest attached to another manifest that may be a signature.
struct Referrer {
    digest: String,
    /// Whether the list says that it is one.
    is_said: bool,
}

impl Entry {
    /// The referrer, where it may be a signature as far as the list says.
    fn wanted(self) -> Option<Referrer> {
        let mut annotations = self.annotations.known().unwrap_or_default();
        let said = annotations.remove(PREDICATE_TYPE).and_then(Lenient::known);
        let is = |text: Option<String>, wanted: &str| text.is_none_or(|text| text == wanted);
        let is_said = said.is_some();
        (is(self.media_type.known(), MANIFEST) && is(self.artifact_type.known(), BUNDLE) && is(said, SIGNED))
            .then_some(Referrer { digest: self.digest, is_said })
    }
}

/// Failures of requests during a search for signatures.
#[derive(Default)]
pub(crate) struct Missed {
    /// The first failure that may be over a moment later.
    pub(crate) passing: Option<RegistryError>,
    is_over: bool,
}

impl Missed {
    /// Notes why something could not be had.
    pub(crate) fn add(&mut self, error: RegistryError, search: &mut Search<'_>) {
        if !error.is_passing() {
            return search.unread(&error.to_string());
        }
        self.is_over |= !matches!(error, RegistryError::Failed { .. } | RegistryError::Elsewhere { .. });
        self.passing.get_or_insert(error);
    }

    /// Whether nothing else is asked for: the registry does not answer, or gets too many requests.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Client {
    /// Looks for bundles that are attached to a manifest.
    pub(crate) async fn bundles(&mut self, search: &mut Search<'_>, missed: &mut Missed) {
        let mut wanted = self.referrers(search, missed).await;
        // Those first of which the list says that they are signatures.
        wanted.sort_by_key(|referrer| !referrer.is_said);
        for referrer in &wanted {
            if !search.goes_on() || missed.is_over() {
                continue;
            }
            match self.bundle(&referrer.digest).await {
                Ok(Some(text)) => search.bundle(text),
                Ok(None) => {}
                Err(error) => missed.add(error, search),
            }
        }
    }

    /// Returns the referrers of a manifest as the registry lists them, or from the tag `sha256-DIGEST` where the registry has no such list.
    async fn referrers(&mut self, search: &mut Search<'_>, missed: &mut Missed) -> Vec<Referrer> {
        let mut found = Vec::new();
        if self.listed(search, missed, &mut found).await || missed.is_over() {
            return found;
        }
        let tag = format!("sha256-{}", hex(search.digest()));
        match self.manifest(&tag, MANIFEST_BYTES).await {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(index) => found.extend(entries(index, search)),
                Err(error) => missed.add(self.malformed(LIST, &bounded(&error.to_string())), search),
            },
            Err(RegistryError::Missing { .. }) => {}
            Err(error) => missed.add(error, search),
        }
        found
    }

    /// Reads the list of referrers, part by part. Whether there is one.
    async fn listed(&mut self, search: &mut Search<'_>, missed: &mut Missed, found: &mut Vec<Referrer>) -> bool {
        let mut url = self.address.url("referrers", &digest_text(search.digest()));
        url.query_pairs_mut().append_pair("artifactType", BUNDLE);
        let (mut bytes, mut page) = (MANIFEST_BYTES, 0);
        loop {
            let (part, next) = match self.part(&url, bytes).await {
                Ok(part) => part,
                // Registries that have no such lists answer so.
                Err(
                    RegistryError::Missing { .. }
                    | RegistryError::Forbidden { .. }
                    | RegistryError::Unexpected { .. }
                    | RegistryError::Failed { status: 501, .. },
                ) if page == 0 => return false,
                Err(error) => {
                    missed.add(error, search);
                    return page > 0;
                }
            };
            // What is no list is the answer of a registry that has none.
            let Ok(index) = serde_json::from_slice(&part) else {
                if page > 0 {
                    search.unread("a part of the list of referrers is no list");
                }
                return page > 0;
            };
            found.extend(entries(index, search));
            (bytes, page) = (bytes.saturating_sub(part.len() as u64), page + 1);
            match next {
                None => return true,
                Some(_) if page == REFERRER_PAGES => {
                    search.unread(&format!("the list of referrers has more than {REFERRER_PAGES} parts"));
                    return true;
                }
                Some(next) if self.address.is_own(&next) => url = next,
                Some(_) => {
                    search.unread("the list of referrers goes on at another host, which is not asked");
                    return true;
                }
            }
        }
    }

    /// A part of the list of referrers, and where it goes on.
    async fn part(&mut self, url: &Url, limit: u64) -> Result<(Vec<u8>, Option<Url>), RegistryError> {
        let answer = self.send(LIST, &|http| http.get(url.clone()).header(ACCEPT, INDEX)).await?;
        let links = answer.headers().get_all(LINK).iter().filter_map(|value| value.to_str().ok());
        let next = links.filter_map(next_of).find_map(|target| answer.url().join(target).ok());
        Ok((self.read(LIST, answer, limit, None).await?, next))
    }

    /// The text of the bundle that a referrer has; none where it has something else.
    async fn bundle(&mut self, digest: &str) -> Result<Option<String>, RegistryError> {
        const WHAT: &str = "the bundle";
        // It becomes part of a path, and what has another name has no digest to be compared with.
        if read_digest(digest).is_none() {
            return Err(self.malformed(WHAT, &no_digest(digest)));
        }
        let manifest = self.manifest(digest, REFERRER_BYTES).await?;
        let Some((layer, _)) = bundle_of(&manifest).map_err(|error| self.malformed(WHAT, &error))? else {
            return Ok(None);
        };
        let bytes = self.blob(WHAT, &layer, BUNDLE_BYTES, None).await?;
        String::from_utf8(bytes).map(Some).map_err(|_| self.malformed(WHAT, "it is no text"))
    }
}

/// The referrers of a list that may be signatures.
fn entries(index: Index, search: &mut Search<'_>) -> Vec<Referrer> {
    let (known, odd): (Vec<_>, Vec<_>) = index.manifests.into_iter().map(Lenient::known).partition(Option::is_some);
    if !odd.is_empty() {
        search.unread(&format!("{} entries of the list of referrers have no digest", odd.len()));
    }
    known.into_iter().flatten().filter_map(Entry::wanted).collect()
}

/// Where a header `Link` says that a list goes on: `<URL>; rel="next"`, among other links.
fn next_of(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some((target, after)) = rest.split_once('<').and_then(|(_, text)| text.split_once('>')) {
        let parameters = after.split('<').next().unwrap_or_default();
        let mut relations = parameters.split([';', ',']).filter_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("rel").then(|| value.trim().trim_matches('"'))
        });
        if relations.any(|value| value.split_whitespace().any(|word| word.eq_ignore_ascii_case("next"))) {
            return Some(target);
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_where_its_header_says() {
        for (header, expected) in [
            ("</v2/a?last=x>; rel=\"next\"", Some("/v2/a?last=x")),
            ("</v2/a>;rel=next", Some("/v2/a")),
            ("</b>; rel=\"prev\", </a,c>; title=\"x\"; REL=\"last next\"", Some("/a,c")),
            ("</b>; rel=\"prev\"", None),
            ("</b>", None),
            ("rel=\"next\"", None),
            ("<", None),
        ] {
            assert_eq!(next_of(header), expected, "{header}");
        }
    }
}
