//! What answers are about, and what they say of a node.

use std::sync::Arc;

use crate::request::{ClaimUid, Scope};

/// What an answer is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The pod with this UID.
    Pod(Arc<str>),
    /// The pods of the template with this key.
    Template(Arc<str>),
    /// The pods with these claims of the party, sorted.
    Claims(Arc<[ClaimUid]>),
}

impl Subject {
    /// The subject of a party's answers about a pod. `claims` are those of the pod about which the party decides.
    pub fn of(scope: Scope, pod: &Arc<str>, template: &Arc<str>, claims: &[ClaimUid]) -> Self {
        match scope {
            Scope::Pod => Self::Pod(pod.clone()),
            Scope::Template => Self::Template(template.clone()),
            Scope::Claims => {
                let mut claims = claims.to_vec();
                claims.sort_unstable();
                claims.dedup();
                Self::Claims(claims.into())
            }
        }
    }
}

/// What a party says of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suitability {
    /// Nothing, or nothing any more. Such a node fits.
    Unknown,
    /// It suits.
    Suitable,
    /// It does not suit, and why.
    Unsuitable(Arc<str>),
}
