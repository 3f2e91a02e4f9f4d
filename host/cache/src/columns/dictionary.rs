//! Dictionaries: the texts behind the codes of one label column.
//!
//! A dictionary counts how many rows use each text. Texts that no row uses keep their code until the column is dropped and
//! built anew, which `labels` does once they are the majority; nobody can read them meanwhile. Start at
//! [`Dictionary::acquire`].

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::limits::DICTIONARY_DEAD_MIN;

/// The value of [`Dictionary::integers`] for a text that is no decimal integer. Label values cannot begin with a minus sign, so none is
/// equal to it; an annotation can be.
pub const NOT_AN_INTEGER: i64 = i64::MIN;

/// The texts behind the codes of one column.
#[derive(Debug, Default)]
pub struct Dictionary {
    /// Texts by code; entry 0 is the empty text.
    texts: Vec<Arc<str>>,
    codes: FxHashMap<Arc<str>, u32>,
    /// Number of rows that use each code.
    rows: Vec<u32>,
    /// How many texts no row uses.
    dead: usize,
    /// Bytes of all texts.
    text_bytes: usize,
    listed: OnceLock<Arc<[Arc<str>]>>,
    integers: OnceLock<Arc<[i64]>>,
}

impl Clone for Dictionary {
    fn clone(&self) -> Self {
        // A copy is made only to be written to, which would drop the derived forms at once.
        Self {
            texts: self.texts.clone(),
            codes: self.codes.clone(),
            rows: self.rows.clone(),
            dead: self.dead,
            text_bytes: self.text_bytes,
            listed: OnceLock::new(),
            integers: OnceLock::new(),
        }
    }
}

impl Eq for Dictionary {}

/// Two dictionaries are equal where readers can tell no difference.
impl PartialEq for Dictionary {
    fn eq(&self, other: &Self) -> bool {
        self.texts.len() == other.texts.len() && self.readable().eq(other.readable())
    }
}

impl Dictionary {
    pub(super) fn empty() -> Self {
        Self { texts: vec![Arc::from("")], rows: vec![0], ..Self::default() }
    }

    /// The code of a text that some row uses; `None` where no row has it. A text that only earlier states used has no
    /// code: an answer must not depend on the history of the dictionary.
    pub fn code(&self, text: &str) -> Option<u32> {
        let code = self.codes.get(text).copied()?;
        self.rows.get(code as usize).is_some_and(|rows| *rows > 0).then_some(code)
    }

    /// The text behind a code; `None` for code 0, which stands for absence.
    pub fn text(&self, code: u32) -> Option<&Arc<str>> {
        self.texts.get(code as usize).filter(|_| code != 0)
    }

    /// The text behind every code; entry 0 is the empty text, and so is that of a text that no row uses any more.
    pub fn listed(&self) -> Arc<[Arc<str>]> {
        let list = || {
            let empty: Arc<str> = Arc::from("");
            self.readable().map(|text| Arc::clone(text.unwrap_or(&empty))).collect()
        };
        Arc::clone(self.listed.get_or_init(list))
    }

    /// Per code the text as a decimal integer, [`NOT_AN_INTEGER`] where it is none, or where no row uses it any more.
    pub fn integers(&self) -> Arc<[i64]> {
        let read = |text: Option<&Arc<str>>| text.and_then(|text| text.parse().ok()).unwrap_or(NOT_AN_INTEGER);
        Arc::clone(self.integers.get_or_init(|| self.readable().map(read).collect()))
    }

    /// Texts that some row uses, by code.
    fn readable(&self) -> impl Iterator<Item = Option<&Arc<str>>> {
        self.texts.iter().zip(&self.rows).map(|(text, rows)| (*rows > 0).then_some(text))
    }

    /// Drops the forms that are derived from the texts in use.
    fn forget_derived(&mut self) {
        self.listed.take();
        self.integers.take();
    }

    /// Bytes that the dictionary takes, derived forms included.
    pub fn bytes(&self) -> usize {
        // A hash table has room for an eighth more than its capacity, and a control byte per entry.
        let entry = size_of::<(Arc<str>, u32)>() + 1;
        let per_text = 2 * size_of::<usize>() + size_of::<Arc<str>>() + size_of::<i64>();
        size_of::<Self>()
            + self.texts.capacity() * size_of::<Arc<str>>()
            + self.rows.capacity() * size_of::<u32>()
            + self.codes.capacity() * entry * 8 / 7
            + self.texts.len() * per_text
            + self.text_bytes
    }

    /// The code of a text, used by one more row; 0 for a row without the key.
    pub(super) fn acquire(&mut self, text: Option<&Arc<str>>) -> u32 {
        let Some(text) = text else { return 0 };
        if let Some(code) = self.codes.get(text.as_ref()).copied() {
            if let Some(rows) = self.rows.get_mut(code as usize) {
                let was_dead = *rows == 0;
                *rows += 1;
                if was_dead {
                    self.dead -= 1;
                    self.forget_derived();
                }
            }
            return code;
        }
        // Codes number texts, of which there are at most as many as rows since the last compaction, twice over.
        let code = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.forget_derived();
        self.text_bytes += text.len();
        self.texts.push(Arc::clone(text));
        self.rows.push(1);
        self.codes.insert(Arc::clone(text), code);
        code
    }

    /// Subtracts one use of a code by a row.
    pub(super) fn release(&mut self, code: u32) {
        if let Some(rows) = self.rows.get_mut(code as usize).filter(|_| code != 0) {
            *rows = rows.saturating_sub(1);
            if *rows == 0 {
                self.dead += 1;
                self.forget_derived();
            }
        }
    }

    /// Whether most texts are used by no row.
    pub(super) fn is_mostly_dead(&self) -> bool {
        self.dead >= DICTIONARY_DEAD_MIN && self.dead * 2 > self.texts.len()
    }
}
