//! Packs of files inside this library, made by the build script. Start at [`Pack`].

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;

/// Text files by their paths, compressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pack(pub(crate) &'static [u8]);

/// The pack of this name that the build script has made.
macro_rules! pack {
    ($name:literal) => {
        $crate::pack::Pack(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")))
    };
}
pub(crate) use pack;

impl Pack {
    /// A pack without any files.
    pub(crate) const NONE: Self = Self(&[]);

    /// The files, by their paths with `/` between folders.
    ///
    /// # Errors
    ///
    /// Never for a pack that the build script has made.
    pub(crate) fn files(self) -> std::io::Result<BTreeMap<String, String>> {
        if self.0.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut text = String::new();
        GzDecoder::new(self.0).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }
}
