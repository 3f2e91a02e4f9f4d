//! A folder for what one run compiles. Start at [`PrivateFolder::new`].

use std::path::PathBuf;

/// A folder of this process alone that is removed in the end.
pub(in super::super) struct PrivateFolder(pub(in super::super) PathBuf);

impl PrivateFolder {
    /// The sandbox makes it, with the mode that it must have.
    pub(in super::super) fn new() -> Self {
        let folder = |number| std::env::temp_dir().join(format!("nodesift-modules-{}-{number}", std::process::id()));
        // Another process had this number once, and was killed.
        let mut number = 0;
        while folder(number).exists() {
            number += 1;
        }
        Self(folder(number))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _nobody_reads_it = std::fs::remove_dir_all(&self.0);
    }
}
