//! Label columns, materialised on demand: per key a code per row and the dictionary behind the codes.
//!
//! A column exists only for a key that some node carries and somebody asked for: a pod cannot make the cache grow.
//! [`LabelColumns`] is shared by all snapshots between two changes of labels; a reader that builds a column leaves it
//! there for the next, and the writer carries what is built over to the state after a change.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::{Column, Row};
use crate::limits::{DICTIONARY_DEAD_MIN, LABEL_COLUMNS};
use crate::metadata::{Labels, value_of};

/// The integer of a text that is none. Label values cannot begin with a minus sign, so no text is equal to it.
pub const NOT_AN_INTEGER: i64 = i64::MIN;

/// One label key as a column of codes; code 0 means that the node does not carry the key.
#[derive(Debug, Clone)]
pub struct LabelColumn {
    /// The code per row.
    pub codes: Column<u32>,
    dictionary: Arc<Dictionary>,
}

/// The texts behind the codes of one column.
#[derive(Debug, Default)]
pub struct Dictionary {
    texts: Vec<Arc<str>>,
    codes: FxHashMap<Arc<str>, u32>,
    rows: Vec<u32>,
    dead: usize,
    /// Of all texts.
    text_bytes: usize,
    listed: OnceLock<Arc<[Arc<str>]>>,
    integers: OnceLock<Arc<[i64]>>,
}

impl PartialEq for LabelColumn {
    fn eq(&self, other: &Self) -> bool {
        let same_texts =
            Arc::ptr_eq(&self.dictionary, &other.dictionary) || self.dictionary.texts == other.dictionary.texts;
        same_texts && self.codes == other.codes
    }
}

impl Eq for LabelColumn {}

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

impl LabelColumn {
    fn build<'a>(key: &str, labels: impl Iterator<Item = &'a Labels>) -> Self {
        let mut dictionary = Dictionary::empty();
        let mut codes = Column::default();
        for labels in labels {
            codes.push(dictionary.acquire(value_of(labels, key)));
        }
        Self { codes, dictionary: Arc::new(dictionary) }
    }

    /// The texts behind the codes.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    fn push(&mut self, value: Option<&Arc<str>>) {
        // Absence changes no dictionary, so that the one that snapshots share stays shared.
        let code = value.map_or(0, |text| Arc::make_mut(&mut self.dictionary).acquire(Some(text)));
        self.codes.push(code);
    }

    fn set(&mut self, row: Row, value: Option<&Arc<str>>) {
        let old = self.codes.get(row).copied().unwrap_or(0);
        if self.dictionary.text(old) == value {
            return;
        }
        let dictionary = Arc::make_mut(&mut self.dictionary);
        dictionary.release(old);
        let code = dictionary.acquire(value);
        self.codes.set(row, code);
    }
}

impl Dictionary {
    fn empty() -> Self {
        Self { texts: vec![Arc::from("")], rows: vec![0], ..Self::default() }
    }

    /// The code of a text that some row carries; none where no row can equal it. A text that rows have carried once is as
    /// good as any other: what the dictionary still holds depends on what happened, and an answer must not.
    pub fn code(&self, text: &str) -> Option<u32> {
        let code = self.codes.get(text).copied()?;
        self.rows.get(code as usize).is_some_and(|rows| *rows > 0).then_some(code)
    }

    /// The text behind a code; none for code 0, which stands for absence.
    pub fn text(&self, code: u32) -> Option<&Arc<str>> {
        self.texts.get(code as usize).filter(|_| code != 0)
    }

    /// The text behind every code; entry 0 is the empty text.
    pub fn listed(&self) -> Arc<[Arc<str>]> {
        Arc::clone(self.listed.get_or_init(|| self.texts.iter().cloned().collect()))
    }

    /// Per code the text as a decimal integer, [`NOT_AN_INTEGER`] where it is none.
    pub fn integers(&self) -> Arc<[i64]> {
        let read = |text: &Arc<str>| text.parse().unwrap_or(NOT_AN_INTEGER);
        Arc::clone(self.integers.get_or_init(|| self.texts.iter().map(read).collect()))
    }

    /// Bytes that the dictionary takes, derived forms included.
    pub fn bytes(&self) -> usize {
        // A hash table holds an eighth more than it says, and a byte for each.
        let entry = size_of::<(Arc<str>, u32)>() + 1;
        let per_text = 2 * size_of::<usize>() + size_of::<Arc<str>>() + size_of::<i64>();
        size_of::<Self>()
            + self.texts.capacity() * size_of::<Arc<str>>()
            + self.rows.capacity() * size_of::<u32>()
            + self.codes.capacity() * entry * 8 / 7
            + self.texts.len() * per_text
            + self.text_bytes
    }

    fn acquire(&mut self, text: Option<&Arc<str>>) -> u32 {
        let Some(text) = text else { return 0 };
        if let Some(code) = self.codes.get(text.as_ref()).copied() {
            if let Some(rows) = self.rows.get_mut(code as usize) {
                self.dead -= usize::from(*rows == 0);
                *rows += 1;
            }
            return code;
        }
        // Codes number texts, of which there are at most as many as rows since the last compaction, twice over.
        let code = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.listed.take();
        self.integers.take();
        self.text_bytes += text.len();
        self.texts.push(Arc::clone(text));
        self.rows.push(1);
        self.codes.insert(Arc::clone(text), code);
        code
    }

    fn release(&mut self, code: u32) {
        if let Some(rows) = self.rows.get_mut(code as usize).filter(|_| code != 0) {
            *rows = rows.saturating_sub(1);
            self.dead += usize::from(*rows == 0);
        }
    }

    fn is_mostly_dead(&self) -> bool {
        self.dead >= DICTIONARY_DEAD_MIN && self.dead * 2 > self.texts.len()
    }
}

impl Repeated {
    fn column(&self, key: &str) -> Option<LabelColumn> {
        let column = self.columns.column(key, &self.labels)?;
        let code = column.codes.get(self.row).copied().unwrap_or(0);
        Some(LabelColumn { codes: Column::filled(self.rows, &code), dictionary: Arc::clone(&column.dictionary) })
    }
}

/// All label columns of one state of the labels.
#[derive(Debug, Default)]
pub(super) struct LabelColumns {
    built: RwLock<FxHashMap<Arc<str>, Arc<LabelColumn>>>,
    /// Per key how many nodes carry it.
    carriers: Arc<FxHashMap<Arc<str>, u32>>,
    /// What is shown row by row instead; none where the columns are those of the cluster.
    repeated: Option<Repeated>,
}

/// One row of a state, shown again and again.
#[derive(Debug, Clone)]
struct Repeated {
    columns: Arc<LabelColumns>,
    labels: Column<Labels>,
    row: Row,
    rows: usize,
}

impl Clone for LabelColumns {
    fn clone(&self) -> Self {
        let built = self.built.read().unwrap_or_else(PoisonError::into_inner);
        Self {
            built: RwLock::new(built.clone()),
            carriers: Arc::clone(&self.carriers),
            repeated: self.repeated.clone(),
        }
    }
}

impl LabelColumns {
    /// The columns of `rows` rows that all show what one row shows. Their dictionaries are those of all rows: whether some
    /// node carries a text is a question about the cluster, and the answer is the same as there.
    pub(super) fn repeated(columns: &Arc<Self>, labels: &Column<Labels>, row: Row, rows: usize) -> Self {
        let repeated = Repeated { columns: Arc::clone(columns), labels: labels.clone(), row, rows };
        Self { repeated: Some(repeated), ..Self::default() }
    }

    /// The column of a key, built from the rows' labels on first use; none where no node carries the key.
    pub(super) fn column(&self, key: &str, rows: &Column<Labels>) -> Option<Arc<LabelColumn>> {
        if let Some(repeated) = &self.repeated {
            return repeated.column(key).map(Arc::new);
        }
        if !self.carriers.contains_key(key) {
            return None;
        }
        if let Some(column) = self.built.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Some(Arc::clone(column));
        }
        let column = Arc::new(LabelColumn::build(key, rows.iter()));
        let mut built = self.built.write().unwrap_or_else(PoisonError::into_inner);
        if built.len() < LABEL_COLUMNS {
            return Some(Arc::clone(built.entry(Arc::from(key)).or_insert(column)));
        }
        Some(column)
    }

    /// Appends a row.
    pub(super) fn push(&mut self, labels: &Labels) {
        self.count(&Labels::default(), labels);
        for (key, column) in self.built.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Arc::make_mut(column).push(value_of(labels, key));
        }
    }

    /// Replaces the labels of a row. `rows` already holds the new ones; columns that are mostly dead texts, or that no
    /// node carries any more, are dropped and built anew when somebody asks.
    pub(super) fn set(&mut self, row: Row, old: &Labels, new: &Labels) {
        self.count(old, new);
        let carriers = Arc::clone(&self.carriers);
        self.built.get_mut().unwrap_or_else(PoisonError::into_inner).retain(|key, column| {
            if value_of(old, key) != value_of(new, key) {
                Arc::make_mut(column).set(row, value_of(new, key));
            }
            carriers.contains_key(key) && !column.dictionary.is_mostly_dead()
        });
    }

    /// Takes out a row whose labels are already empty; the last row moves into its place.
    pub(super) fn swap_remove(&mut self, row: Row) {
        for column in self.built.get_mut().unwrap_or_else(PoisonError::into_inner).values_mut() {
            Arc::make_mut(column).codes.swap_remove(row);
        }
    }

    /// Keys whose column shows another value for a row than its labels have, with what it shows.
    pub(super) fn differing(&self, row: Row, labels: &Labels) -> Vec<(Arc<str>, Option<Arc<str>>)> {
        let built = self.built.read().unwrap_or_else(PoisonError::into_inner);
        let shown = |column: &LabelColumn| column.dictionary.text(column.codes.get(row).copied().unwrap_or(0)).cloned();
        let all = built.iter().map(|(key, column)| (Arc::clone(key), shown(column)));
        all.filter(|(key, shown)| shown.as_ref() != value_of(labels, key)).collect()
    }

    /// Has every column show a row's labels.
    pub(super) fn heal(&mut self, row: Row, labels: &Labels) {
        for (key, column) in self.built.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Arc::make_mut(column).set(row, value_of(labels, key));
        }
    }

    fn count(&mut self, old: &Labels, new: &Labels) {
        let same_keys = old.len() == new.len() && old.iter().zip(new.iter()).all(|(old, new)| old.0 == new.0);
        if same_keys {
            return;
        }
        let carriers = Arc::make_mut(&mut self.carriers);
        for (key, _) in new.iter() {
            *carriers.entry(Arc::clone(key)).or_insert(0) += 1;
        }
        for (key, _) in old.iter() {
            if let Some(count) = carriers.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    carriers.remove(key);
                }
            }
        }
    }

    /// How many columns are materialised.
    pub(super) fn built_count(&self) -> usize {
        self.built.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(value: &str) -> Labels {
        [(Arc::from("key"), Arc::from(value))].into()
    }

    /// Columns over rows with these values under one key, that key's column built.
    fn columns(values: &[&str]) -> (LabelColumns, Column<Labels>) {
        let (mut columns, mut rows) = (LabelColumns::default(), Column::default());
        for value in values {
            columns.push(&labels(value));
            rows.push(labels(value));
        }
        assert!(columns.column("key", &rows).is_some());
        (columns, rows)
    }

    fn code(columns: &LabelColumns, rows: &Column<Labels>, text: &str) -> Option<u32> {
        columns.column("key", rows).and_then(|column| column.dictionary().code(text))
    }

    #[test]
    fn a_text_that_no_node_carries_any_more_has_no_code() {
        let (mut columns, mut rows) = columns(&["silver", "gold", "silver"]);
        assert!(code(&columns, &rows, "gold").is_some());
        columns.set(Row(1), &labels("gold"), &labels("silver"));
        rows.set(Row(1), labels("silver"));
        assert_eq!(columns.built_count(), 1, "the column is the one that held the text");
        assert_eq!(code(&columns, &rows, "gold"), None);
        columns.set(Row(2), &labels("silver"), &labels("gold"));
        rows.set(Row(2), labels("gold"));
        let column = columns.column("key", &rows).map(|column| column.codes.get(Row(2)).copied());
        assert_eq!(code(&columns, &rows, "gold"), column.flatten());
        // Nor has one that goes with its node.
        columns.set(Row(2), &labels("gold"), &Labels::default());
        columns.swap_remove(Row(2));
        rows.swap_remove(Row(2));
        assert_eq!(code(&columns, &rows, "gold"), None);
        assert!(code(&columns, &rows, "silver").is_some());
    }

    #[test]
    fn a_node_without_the_key_leaves_the_dictionary_shared() {
        let (mut columns, mut rows) = columns(&["silver"]);
        let before = columns.column("key", &rows).map(|column| Arc::as_ptr(&column.dictionary));
        columns.push(&Labels::default());
        rows.push(Labels::default());
        let after = columns.column("key", &rows).map(|column| Arc::as_ptr(&column.dictionary));
        assert!(before.is_some() && before == after);
    }

    #[test]
    fn a_repeated_row_says_of_the_cluster_what_the_cluster_says() {
        let (columns, rows) = columns(&["silver", "gold"]);
        let columns = Arc::new(columns);
        let repeated = LabelColumns::repeated(&columns, &rows, Row(0), 5);
        assert_eq!(code(&repeated, &Column::default(), "gold"), code(&columns, &rows, "gold"));
        let column = repeated.column("key", &Column::default()).map(|column| column.codes.flat().to_vec());
        assert_eq!(column, code(&columns, &rows, "silver").map(|code| vec![code; 5]));
        assert!(repeated.column("other", &Column::default()).is_none());
    }
}
