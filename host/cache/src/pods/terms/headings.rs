//! Headings: what terms are filed under, so that a pod's question looks at the terms under the pod's headings and
//! at no others. Start at [`term_headings`] and [`pod_headings`].
//!
//! A heading is a scope and a clue. A scope says in which namespaces the term matches, by a name or by a clue about labels of the
//! namespace; the clue, what labels of pods it matches. A term is filed under all of its scopes and clues, and a pod that it matches has
//! at least one of each. Both are hashes: what another scope or clue brings under the same heading is looked at and does not match.

use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use crate::limits::TERM_HEADINGS;
use crate::metadata::{Clue, Labels, PodSelector};

/// Namespaces in which a term matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scope<'a> {
    /// The namespace of this name.
    Named(&'a str),
    /// Namespaces whose labels have this clue.
    Labelled(Clue<'a>),
}

/// The headings that a term with this selector is filed under, each once: at most [`TERM_HEADINGS`] beside one for each namespace that it names.
pub(super) fn term_headings(selector: &PodSelector) -> Vec<u64> {
    let named = selector.namespaces.iter().map(|name| Scope::Named(name));
    let labelled = selector.namespace_requirements.iter().flat_map(|requirements| {
        let clues = Clue::needed(requirements, TERM_HEADINGS);
        clues.into_iter().map(Scope::Labelled)
    });
    let scopes = hashes(named.chain(labelled));
    // A term of many namespaces that also lists many values would take the product of both.
    let most = (TERM_HEADINGS / scopes.len().max(1)).max(1);
    let clues = hashes(Clue::needed(&selector.requirements, most).into_iter());
    scopes.iter().flat_map(|scope| clues.iter().map(|clue| heading(*scope, *clue))).collect()
}

/// The headings of the terms that can match a pod of this namespace, which has labels itself, and with these labels; each once, and in
/// their order. `next` gives the first heading, not before a given one, under which something is filed: most scopes have no terms at all,
/// and their headings are left out.
pub(super) fn pod_headings(
    namespace: &str,
    namespace_labels: &[(Arc<str>, Arc<str>)],
    labels: &Labels,
    next: impl Fn(u64) -> Option<u64>,
) -> Vec<u64> {
    let labelled = Clue::all_of(namespace_labels).map(Scope::Labelled);
    let mut scopes = hashes(std::iter::once(Scope::Named(namespace)).chain(labelled));
    scopes.retain(|scope| next(heading(*scope, 0)).is_some_and(|next| next >> 32 == u64::from(*scope)));
    if scopes.is_empty() {
        return Vec::new();
    }
    let clues = hashes(Clue::all_of(labels));
    let mut headings = Vec::new();
    for scope in scopes {
        // Both are sorted, and whichever is behind goes on to the other: the product of both is never made, since pods and namespaces may
        // have thousands of labels.
        let mut at = 0;
        while let Some(clue) = clues.get(at)
            && let Some(filed) = next(heading(scope, *clue))
            && filed >> 32 == u64::from(scope)
        {
            if filed == heading(scope, *clue) {
                headings.push(filed);
                at += 1;
            } else {
                let rest = clues.get(at..).unwrap_or_default();
                at += rest.partition_point(|clue| heading(scope, *clue) < filed);
            }
        }
    }
    headings
}

/// Headings of one scope are next to each other.
fn heading(scope: u32, clue: u32) -> u64 {
    u64::from(scope) << 32 | u64::from(clue)
}

/// Hashes, sorted, each once.
fn hashes(values: impl Iterator<Item = impl Hash>) -> Vec<u32> {
    // The upper half, which is the better one.
    let mut hashes: Vec<u32> =
        values.filter_map(|value| u32::try_from(FxBuildHasher.hash_one(value) >> 32).ok()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
