//! Minor versions of Kubernetes, and the release that an API server says it is. Start at [`MinorVersion`].

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;

use crate::limits::SERVER_VERSION_BYTES;

/// A minor version of Kubernetes, such as 1.37. Ordered by release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MinorVersion {
    /// Major version: 1 so far.
    pub major: u16,
    /// Number of the minor version, such as 36.
    pub minor: u16,
}

/// Why a text names no version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// It is not two numbers with a dot between them.
    #[error("{0:?} is not a minor version of Kubernetes, such as 1.36")]
    Form(String),
    /// The answer of an API server to `/version` is none.
    #[error("not the version of an API server: {0}")]
    Answer(String),
}

impl fmt::Display for MinorVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for MinorVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let number = |text: &str| {
            let is_plain =
                text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
            text.parse().ok().filter(|_| is_plain)
        };
        let read = text.split_once('.').and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        let (major, minor) = read.ok_or_else(|| VersionError::Form(text.to_owned()))?;
        Ok(Self { major, minor })
    }
}

impl<'de> Deserialize<'de> for MinorVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The release of an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Minor version of the release, such as 1.36.
    pub minor: MinorVersion,
    /// `gitVersion` as the server writes it, such as `v1.36.2` or `v1.36.5-gke.100`.
    pub git_version: Arc<str>,
}

/// Fields of an answer to `/version` that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    major: String,
    minor: String,
    #[serde(default)]
    git_version: String,
}

impl Release {
    /// Reads the answer of an API server to `GET /version`.
    ///
    /// # Errors
    ///
    /// [`VersionError::Answer`] where it is no JSON with `major` and `minor`.
    pub fn from_answer(body: &[u8]) -> Result<Self, VersionError> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| VersionError::Answer(error.to_string()))?;
        // Vendors append a sign to what is no longer the plain release: "36+".
        let digits = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).to_owned();
        let minor = format!("{}.{}", digits(&answer.major), digits(&answer.minor));
        let minor: MinorVersion =
            minor.parse().map_err(|error: VersionError| VersionError::Answer(error.to_string()))?;
        // It is shown to people, and whoever answers chooses it.
        let shown: String =
            answer.git_version.chars().filter(|c| c.is_ascii_graphic()).take(SERVER_VERSION_BYTES).collect();
        let git_version = if shown.is_empty() { format!("v{minor}") } else { shown };
        Ok(Self { minor, git_version: git_version.into() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_plain_numbers() {
        assert_eq!("1.36".parse(), Ok(MinorVersion { major: 1, minor: 36 }));
        for wrong in ["", "1", "1.", ".36", "1.36.2", "v1.36", "1.036", "1.+6", "1.99999", "1. 36"] {
            assert_eq!(wrong.parse::<MinorVersion>(), Err(VersionError::Form(wrong.to_owned())));
        }
        assert!("1.9".parse::<MinorVersion>().unwrap() < "1.10".parse().unwrap());
    }

    #[test]
    fn a_release_is_read_from_what_a_server_answers() {
        let read = |text: &str| Release::from_answer(text.as_bytes());
        let vendor =
            read(r#"{"major": "1", "minor": "36+", "gitVersion": "v1.36.5-eks\n1", "platform": "x"}"#).unwrap();
        assert_eq!((vendor.minor.to_string().as_str(), &*vendor.git_version), ("1.36", "v1.36.5-eks1"));
        assert_eq!(&*read(r#"{"major": "1", "minor": "37"}"#).unwrap().git_version, "v1.37");
        let long = format!(r#"{{"major": "1", "minor": "37", "gitVersion": "{}"}}"#, "v".repeat(5_000));
        assert_eq!(read(&long).unwrap().git_version.len(), SERVER_VERSION_BYTES);
        for wrong in
            ["", "[]", "{}", r#"{"major": "1"}"#, r#"{"major": "1", "minor": ""}"#, r#"{"major": 1, "minor": 37}"#]
        {
            assert!(matches!(read(wrong), Err(VersionError::Answer(_))), "{wrong}");
        }
    }
}
