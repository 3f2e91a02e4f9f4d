//! Notes for tools in the documentation of the contract: its last lines, each of which begins with `@`. Start at [`Notes::split`].

/// Names of all notes, without `@`. The head of the contract explains each.
const KNOWN: [&str; 4] = ["kinds", "pods-on-nodes", "node-fields", "moment"];

/// A note that nobody reads.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// No such note is known.
    #[error("there is no note `@{}`; there are {}", .0, KNOWN.map(|known| format!("`@{known}`")).join(", "))]
    Unknown(String),
    /// Documentation goes on below a note.
    #[error("`{0}` is below a note: notes are the last lines of a documentation")]
    TextBelow(String),
    /// A note that one documentation has more than once.
    #[error("the note `@{0}` stands there twice")]
    Twice(String),
}

/// The notes of one interface or function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes(Vec<(String, Vec<String>)>);

impl Notes {
    /// Splits a documentation into the lines for readers and the notes.
    ///
    /// # Errors
    ///
    /// Where a note is unknown, stands there twice, or has text below it.
    pub fn split(docs: &str) -> Result<(Vec<String>, Self), NoteError> {
        let (mut lines, mut notes): (Vec<String>, Vec<(String, Vec<String>)>) = Default::default();
        for line in docs.trim().lines().map(str::trim_end) {
            let Some(note) = line.strip_prefix('@') else {
                if notes.is_empty() {
                    lines.push(line.to_owned());
                    continue;
                }
                return Err(NoteError::TextBelow(line.to_owned()));
            };
            let (name, values) = note.split_once(' ').unwrap_or((note, ""));
            if !KNOWN.contains(&name) {
                return Err(NoteError::Unknown(name.to_owned()));
            }
            if notes.iter().any(|(known, _)| known == name) {
                return Err(NoteError::Twice(name.to_owned()));
            }
            let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
            notes.push((name.to_owned(), values.map(str::to_owned).collect()));
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Ok((lines, Self(notes)))
    }

    /// The values of a note; empty where it is not there.
    #[must_use]
    pub fn values(&self, name: &str) -> &[String] {
        self.0.iter().find(|(known, _)| known == name).map_or(&[], |(_, values)| values)
    }

    /// Whether a note is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn notes_are_the_last_lines_and_no_part_of_the_text() {
        let (lines, notes) = Notes::split("Names.\n\nMore.\n\n@kinds Service, ReplicaSet\n@moment").unwrap();
        assert_eq!(lines, ["Names.", "", "More."]);
        assert_eq!(notes.values("kinds"), ["Service", "ReplicaSet"]);
        assert!(notes.has("moment") && !notes.has("node-fields"));
        assert_eq!(Notes::split("").unwrap(), (Vec::new(), Notes::default()));
    }

    #[test]
    fn what_no_tool_would_read_is_refused() {
        assert_eq!(Notes::split("A.\n@kind Pod"), Err(NoteError::Unknown("kind".into())));
        assert_eq!(Notes::split("A.\n@moment\nB."), Err(NoteError::TextBelow("B.".into())));
        assert_eq!(Notes::split("A.\n@moment\n@moment"), Err(NoteError::Twice("moment".into())));
    }
}
