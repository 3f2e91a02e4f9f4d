//! Where the document of a policy is. Start at [`Source`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::notice::Notice;
use super::object::{ObjectId, ObjectState, PolicyObject};
use crate::reach::Reach;
use crate::spec::{PolicyError, PolicyText};

/// Where the document of a policy is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In a file, or in a folder, as the operator names it; and what it may name.
    Path(PathBuf, Reach),
    /// In an object of a cluster.
    Object(PolicyObject),
    /// In this program, or made of the command line: it stays as it is, and only the version of Kubernetes that it follows changes.
    Fixed(PolicyText),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path, _) => write!(f, "{}", path.display()),
            Self::Object(object) => f.write_str(&object.source()),
            Self::Fixed(text) => write!(f, "{}", text.path.display()),
        }
    }
}

impl Source {
    /// The document, and which state of an object it is.
    pub(super) fn text(&self) -> (Result<PolicyText, PolicyError>, Option<ObjectId>) {
        match self {
            Self::Path(path, reach) => (PolicyText::read(path).map(|text| text.within(reach)), None),
            Self::Object(object) => {
                let state = object.state();
                let text = object.text_in(&state);
                let ObjectState::Present { id, .. } = state else { return (text, None) };
                (text, Some(id))
            }
            Self::Fixed(text) => (Ok(text.clone()), None),
        }
    }

    /// Returns the notice that wakes those who follow the source.
    pub(super) fn notice(&self) -> Arc<Notice> {
        match self {
            Self::Path(..) | Self::Fixed(_) => Arc::default(),
            Self::Object(object) => Arc::clone(object.notice()),
        }
    }
}
