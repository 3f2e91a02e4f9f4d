//! Files, and regions of files, that are written. Start at [`Output`].
//!
//! A region is what stands between two lines of a file that is written by hand otherwise: the first ends in `contract: NAME, made by
//! `make contract``, the second in `contract: end`. What is left and right of these words makes comments of them.

use std::path::{Path, PathBuf};

/// Why a file is not written, or not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The file cannot be read.
    #[error("the file cannot be read")]
    Read(#[source] std::io::Error),
    /// The file cannot be written.
    #[error("the file cannot be written")]
    Write(#[source] std::io::Error),
    /// The file has no such region, or the region has no end.
    #[error("there is no region `contract: {0}` with an end")]
    Region(&'static str),
    /// The committed file differs from the text that the contract makes.
    #[error(
        "line {line} is not made from the contract: it is\n  {committed}\nand should be\n  {made}\nRun `make contract`"
    )]
    Differs {
        /// The first line that differs, from 1.
        line: usize,
        /// The line in the file.
        committed: String,
        /// The line that would be written.
        made: String,
    },
}

/// A generated text and its place.
#[derive(Debug)]
pub struct Output {
    path: String,
    region: Option<&'static str>,
    text: String,
}

impl Output {
    /// A whole file. The path is that from the root of the repository.
    #[must_use]
    pub fn file(path: &str, text: String) -> Self {
        Self { path: path.to_owned(), region: None, text }
    }

    /// A region of a file.
    #[must_use]
    pub fn region(path: &str, name: &'static str, text: String) -> Self {
        Self { path: path.to_owned(), region: Some(name), text }
    }

    /// The path from the root of the repository.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The generated text: that of the whole file, or of its region alone.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes it, where it is not there already.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read or written, or has no such region.
    pub fn write(&self, root: &Path) -> Result<(), OutputError> {
        let path = self.place(root);
        let whole = self.whole(&path)?;
        if std::fs::read_to_string(&path).is_ok_and(|committed| committed == whole) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(OutputError::Write)?;
        }
        std::fs::write(&path, whole).map_err(OutputError::Write)
    }

    /// Compares it with what is committed.
    ///
    /// # Errors
    ///
    /// Where the file is not as it should be.
    pub fn check(&self, root: &Path) -> Result<(), OutputError> {
        let path = self.place(root);
        let whole = self.whole(&path)?;
        let committed = std::fs::read_to_string(&path).map_err(OutputError::Read)?;
        if committed == whole {
            return Ok(());
        }
        let same = whole.lines().zip(committed.lines()).take_while(|(made, committed)| made == committed).count();
        let line = |text: &str| text.lines().nth(same).unwrap_or_default().to_owned();
        Err(OutputError::Differs { line: same + 1, committed: line(&committed), made: line(&whole) })
    }

    fn place(&self, root: &Path) -> PathBuf {
        root.join(&self.path)
    }

    /// The whole file with the text in it.
    fn whole(&self, path: &Path) -> Result<String, OutputError> {
        let Some(name) = self.region else { return Ok(self.text.clone()) };
        let committed = std::fs::read_to_string(path).map_err(OutputError::Read)?;
        with_region(&committed, name, &self.text).ok_or(OutputError::Region(name))
    }
}

/// A file with another text in a region; none where there is no such region.
fn with_region(file: &str, name: &str, text: &str) -> Option<String> {
    let begins = format!("contract: {name}, made by `make contract`");
    let (mut before, mut after) = (String::new(), String::new());
    let mut is_inside = false;
    for line in file.split_inclusive('\n') {
        if after.is_empty() && !is_inside {
            before.push_str(line);
            is_inside = line.contains(&begins);
        } else if !after.is_empty() || line.contains("contract: end") {
            after.push_str(line);
            is_inside = false;
        }
    }
    (!after.is_empty()).then(|| before + text + &after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_replaced_and_nothing_else() {
        let file = "a\n// contract: x, made by `make contract`\nold\n// contract: end\nb\n\
                    // contract: y, made by `make contract`\nold\n// contract: end\nc\n";
        let made = with_region(file, "y", "new\n").unwrap_or_default();
        assert_eq!(
            made,
            "a\n// contract: x, made by `make contract`\nold\n// contract: end\nb\n\
                    // contract: y, made by `make contract`\nnew\n// contract: end\nc\n"
        );
        assert_eq!(with_region(file, "z", "new\n"), None);
        assert_eq!(with_region("// contract: x, made by `make contract`\nold\n", "x", "new\n"), None);
    }
}
