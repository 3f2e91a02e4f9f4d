//! Label columns, materialised on demand: per key a code per row and the dictionary behind the codes.
//!
//! A column exists only for a key that some node carries and that was read once: a pod cannot make the cache grow.
//! [`LabelColumns`] is shared by all snapshots between two changes of labels; a column that a reader builds is there for
//! all later readers, and the writer carries built columns over to the state after a change. Start at [`NodeLabels`].
//!
//! At most `LABEL_COLUMNS` columns are kept; the least recently used goes. A call reads a column, its dictionary and its codes
//! one after the other, and these must fit each other: a column that is built anew in the same state numbers its texts as
//! before, by the order of rows. One that the writer has carried over numbers them by its history, so readers never evict it;
//! the writer does, for the states to come.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::column::Column;
use super::dictionary::Dictionary;
use super::drift::DriftReport;
use super::row::Row;
use crate::limits::{LABEL_COLUMNS, LABEL_COLUMNS_EVICTED};
use crate::metadata::{Labels, value_of};

/// One label key as a column of codes; code 0 means that the node does not carry the key.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelColumn {
    /// The code per row.
    pub codes: Column<u32>,
    dictionary: Arc<Dictionary>,
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
    pub fn dictionary(&self) -> &Arc<Dictionary> {
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

/// The labels of every row, and the columns built from them.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeLabels {
    rows: Column<Labels>,
    columns: Arc<LabelColumns>,
}

impl NodeLabels {
    /// The labels of every row.
    pub(crate) fn rows(&self) -> &Column<Labels> {
        &self.rows
    }

    /// The column of a key, built on first use; `None` where no row carries the key.
    pub(crate) fn column(&self, key: &str) -> Option<Arc<LabelColumn>> {
        self.columns.column(key, &self.rows)
    }

    /// Whether some row carries a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.columns.has(key)
    }

    /// The keys that some row carries, in no order.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.columns.carriers().keys()
    }

    /// How many columns are built.
    pub(crate) fn built_count(&self) -> usize {
        self.columns.built_count()
    }

    /// Appends a row without labels.
    pub(crate) fn push(&mut self) {
        self.rows.push(Labels::default());
        Arc::make_mut(&mut self.columns).push(&Labels::default());
    }

    /// Replaces the labels of a row; true where they differ from those that it had.
    pub(crate) fn set(&mut self, row: Row, new: &Labels) -> bool {
        if self.rows.get(row) == Some(new) {
            return false;
        }
        let old = self.rows.get(row).cloned().unwrap_or_default();
        Arc::make_mut(&mut self.columns).set(row, &old, new);
        self.rows.set(row, Arc::clone(new));
        true
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        let labels = self.rows.get(row).cloned().unwrap_or_default();
        let columns = Arc::make_mut(&mut self.columns);
        columns.set(row, &labels, &Labels::default());
        columns.swap_remove(row);
        self.rows.swap_remove(row);
    }

    /// `len` rows that all have the labels of one row.
    pub(crate) fn repeated(&self, row: Row, len: usize) -> Self {
        let labels = self.rows.get(row).cloned().unwrap_or_default();
        let columns = LabelColumns::repeated(&self.columns, &self.rows, row, len);
        Self { rows: Column::filled(len, &labels), columns: Arc::new(columns) }
    }

    /// Compares the columns with the labels of a row, and repairs them.
    pub(crate) fn repair(&mut self, row: Row, report: &mut DriftReport) {
        let labels = self.rows.get(row).cloned().unwrap_or_default();
        let wrong = self.columns.differing(row, &labels);
        for (key, held) in &wrong {
            report.differs(|| format!("label {key}"), held, &value_of(&labels, key).cloned());
        }
        if !wrong.is_empty() {
            Arc::make_mut(&mut self.columns).rebuild_row(row, &labels);
        }
    }

    /// Has every column show a row without labels, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row) {
        Arc::make_mut(&mut self.columns).rebuild_row(row, &Labels::default());
    }
}

/// A label column that has been built, with the time of its last read.
#[derive(Debug)]
struct Built {
    column: Arc<LabelColumn>,
    /// When it was last read, in reads of any column.
    used: AtomicU64,
    /// Whether the writer has carried it over from an earlier state.
    is_carried: bool,
}

/// All label columns of one state of the labels.
#[derive(Debug, Default)]
struct LabelColumns {
    built: RwLock<FxHashMap<Arc<str>, Built>>,
    /// Reads of any column so far, in all states.
    reads: Arc<AtomicU64>,
    /// Per key how many nodes carry it.
    carriers: Arc<FxHashMap<Arc<str>, u32>>,
    /// Row of another state that all rows show; `None` where the columns are those of the cluster.
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

impl Repeated {
    fn column(&self, key: &str) -> Option<LabelColumn> {
        let column = self.columns.column(key, &self.labels)?;
        let code = column.codes.get(self.row).copied().unwrap_or(0);
        Some(LabelColumn { codes: Column::filled(self.rows, &code), dictionary: Arc::clone(&column.dictionary) })
    }
}

impl Clone for LabelColumns {
    fn clone(&self) -> Self {
        let built = self.built.read().unwrap_or_else(PoisonError::into_inner);
        let carried = built.iter().map(|(key, built)| {
            let used = AtomicU64::new(built.used.load(Ordering::Relaxed));
            (Arc::clone(key), Built { column: Arc::clone(&built.column), used, is_carried: true })
        });
        Self {
            built: RwLock::new(carried.collect()),
            reads: Arc::clone(&self.reads),
            carriers: Arc::clone(&self.carriers),
            repeated: self.repeated.clone(),
        }
    }
}

impl LabelColumns {
    /// The columns of `rows` rows that all show what one row shows. Their dictionaries are those of all rows: whether some
    /// node carries a text is a fact about the cluster, and stays the same.
    fn repeated(columns: &Arc<Self>, labels: &Column<Labels>, row: Row, rows: usize) -> Self {
        let repeated = Repeated { columns: Arc::clone(columns), labels: labels.clone(), row, rows };
        Self { repeated: Some(repeated), ..Self::default() }
    }

    /// Whether some node carries a key.
    fn has(&self, key: &str) -> bool {
        self.carriers().contains_key(key)
    }

    /// Per key how many nodes of the cluster carry it.
    fn carriers(&self) -> &FxHashMap<Arc<str>, u32> {
        match &self.repeated {
            Some(repeated) => repeated.columns.carriers(),
            None => &self.carriers,
        }
    }

    /// The column of a key, built from the rows' labels on first use; `None` where no node carries the key.
    fn column(&self, key: &str, rows: &Column<Labels>) -> Option<Arc<LabelColumn>> {
        if let Some(repeated) = &self.repeated {
            return repeated.column(key).map(Arc::new);
        }
        if !self.carriers.contains_key(key) {
            return None;
        }
        let now = self.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(built) = self.built.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            built.used.store(now, Ordering::Relaxed);
            return Some(Arc::clone(&built.column));
        }
        let column = Arc::new(LabelColumn::build(key, rows.iter()));
        let mut built = self.built.write().unwrap_or_else(PoisonError::into_inner);
        if built.len() >= LABEL_COLUMNS && !built.contains_key(key) {
            let own = built.iter().filter(|(_, built)| !built.is_carried);
            let oldest =
                own.min_by_key(|(_, built)| built.used.load(Ordering::Relaxed)).map(|(key, _)| Arc::clone(key));
            match oldest {
                Some(oldest) => built.remove(&oldest),
                None => return Some(column),
            };
        }
        let new = || Built { column, used: AtomicU64::new(now), is_carried: false };
        Some(Arc::clone(&built.entry(Arc::from(key)).or_insert_with(new).column))
    }

    /// The columns, about to be changed to those of another state. Where there is no room for another one, those that have not
    /// been read for the longest time go.
    fn carry_over(&mut self) -> &mut FxHashMap<Arc<str>, Built> {
        let built = self.built.get_mut().unwrap_or_else(PoisonError::into_inner);
        if built.len() >= LABEL_COLUMNS {
            let mut uses: Vec<u64> = built.values().map(|built| built.used.load(Ordering::Relaxed)).collect();
            uses.sort_unstable();
            let oldest = uses.get(LABEL_COLUMNS_EVICTED).copied().unwrap_or(0);
            built.retain(|_, built| built.used.load(Ordering::Relaxed) >= oldest);
        }
        built.values_mut().for_each(|built| built.is_carried = true);
        built
    }

    /// Appends a row with these labels.
    fn push(&mut self, labels: &Labels) {
        self.count(&Labels::default(), labels);
        for (key, built) in self.carry_over() {
            Arc::make_mut(&mut built.column).push(value_of(labels, key));
        }
    }

    /// Replaces the labels of a row. Columns that are mostly dead texts, or whose key no node carries any more, are dropped, and built anew
    /// on the next read.
    fn set(&mut self, row: Row, old: &Labels, new: &Labels) {
        self.count(old, new);
        let carriers = Arc::clone(&self.carriers);
        self.carry_over().retain(|key, built| {
            if value_of(old, key) != value_of(new, key) {
                Arc::make_mut(&mut built.column).set(row, value_of(new, key));
            }
            carriers.contains_key(key) && !built.column.dictionary.is_mostly_dead()
        });
    }

    /// Takes out a row whose labels are already empty; the last row moves into its place.
    fn swap_remove(&mut self, row: Row) {
        for built in self.carry_over().values_mut() {
            Arc::make_mut(&mut built.column).codes.swap_remove(row);
        }
    }

    /// Keys whose column shows another value for a row than its labels have, with the value that the column shows.
    fn differing(&self, row: Row, labels: &Labels) -> Vec<(Arc<str>, Option<Arc<str>>)> {
        let built = self.built.read().unwrap_or_else(PoisonError::into_inner);
        let shown = |column: &LabelColumn| column.dictionary.text(column.codes.get(row).copied().unwrap_or(0)).cloned();
        let all = built.iter().map(|(key, built)| (Arc::clone(key), shown(&built.column)));
        all.filter(|(key, shown)| shown.as_ref() != value_of(labels, key)).collect()
    }

    /// Has every column show these labels in a row.
    fn rebuild_row(&mut self, row: Row, labels: &Labels) {
        for (key, built) in self.carry_over() {
            Arc::make_mut(&mut built.column).set(row, value_of(labels, key));
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
    fn built_count(&self) -> usize {
        self.built.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;
    use crate::columns::NOT_AN_INTEGER;

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

    /// Columns over rows that all carry these keys, and the rows.
    fn columns_of(keys: &[String]) -> (LabelColumns, Column<Labels>) {
        let (mut columns, mut rows) = (LabelColumns::default(), Column::default());
        for row in ["silver", "gold", "silver"] {
            let mut labels: Vec<(Arc<str>, Arc<str>)> =
                keys.iter().map(|key| (Arc::from(key.as_str()), Arc::from(row))).collect();
            labels.sort_unstable();
            let labels: Labels = labels.into();
            columns.push(&labels);
            rows.push(labels);
        }
        (columns, rows)
    }

    fn read(columns: &LabelColumns, rows: &Column<Labels>, key: &str) -> Option<Arc<LabelColumn>> {
        columns.column(key, rows)
    }

    fn is_same(a: &Option<Arc<LabelColumn>>, b: &Option<Arc<LabelColumn>>) -> bool {
        a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| Arc::ptr_eq(a, b))
    }

    #[test]
    fn the_column_that_was_not_read_for_the_longest_time_makes_room() {
        let keys: Vec<String> = (0..2 * LABEL_COLUMNS).map(|number| format!("odd-{number}")).collect();
        let (columns, rows) = columns_of(&keys);
        let (hot, cold) = (&keys[0], &keys[1]);
        let (first_hot, first_cold) = (read(&columns, &rows, hot), read(&columns, &rows, cold));
        for key in &keys[2..] {
            let column = read(&columns, &rows, key);
            assert!(is_same(&column, &read(&columns, &rows, key)), "a column that was just read is kept");
            assert!(is_same(&first_hot, &read(&columns, &rows, hot)), "{hot} is read all the time");
        }
        assert_eq!(columns.built_count(), LABEL_COLUMNS);
        let again = read(&columns, &rows, cold);
        assert!(!is_same(&first_cold, &again), "{cold} was evicted");
        // A call that read the column before it was evicted reads codes that fit it.
        assert_eq!(first_cold, again);
    }

    #[test]
    fn readers_evict_no_column_that_numbers_its_texts_by_history() {
        let mut keys: Vec<String> = (0..2 * LABEL_COLUMNS).map(|number| format!("odd-{number}")).collect();
        keys.insert(0, "tier".to_owned());
        let (mut columns, mut rows) = columns_of(&keys);
        assert!(read(&columns, &rows, "tier").is_some());
        // The first row comes to carry what the second carries: built anew, the other text would have code 1.
        let old = rows.get(Row(0)).cloned().unwrap_or_default();
        let new: Labels = old.iter().map(|(key, _)| (Arc::clone(key), Arc::from("gold"))).collect();
        columns.set(Row(0), &old, &new);
        rows.set(Row(0), new);
        let carried = read(&columns, &rows, "tier");
        assert_ne!(carried, Some(Arc::new(LabelColumn::build("tier", rows.iter()))), "history shows in the codes");
        for key in &keys {
            read(&columns, &rows, key);
        }
        assert!(is_same(&carried, &read(&columns, &rows, "tier")));
        assert_eq!(columns.built_count(), LABEL_COLUMNS);
        // The next state may leave it out; this one, which a snapshot still shows, keeps it.
        let before = columns.clone();
        for key in keys.iter().skip(1) {
            read(&columns, &rows, key);
        }
        let old = rows.get(Row(2)).cloned().unwrap_or_default();
        columns.set(Row(2), &old, &Labels::default());
        assert!(columns.built_count() < LABEL_COLUMNS, "there is room for others");
        assert!(is_same(&carried, &read(&before, &rows, "tier")));
    }

    #[test]
    fn a_text_that_no_node_carries_any_more_cannot_be_read() {
        let (mut columns, mut rows) = columns(&["silver", "77", "silver"]);
        let listed = |columns: &LabelColumns, rows: &Column<Labels>| {
            let column = columns.column("key", rows);
            column.map(|column| (column.dictionary().listed().to_vec(), column.dictionary().integers().to_vec()))
        };
        let none = NOT_AN_INTEGER;
        let texts = |texts: [&str; 3]| texts.map(Arc::<str>::from).to_vec();
        assert_eq!(listed(&columns, &rows), Some((texts(["", "silver", "77"]), vec![none, none, 77])));
        columns.set(Row(1), &labels("77"), &labels("silver"));
        rows.set(Row(1), labels("silver"));
        assert_eq!(listed(&columns, &rows), Some((texts(["", "silver", ""]), vec![none, none, none])));
        columns.set(Row(0), &labels("silver"), &labels("77"));
        rows.set(Row(0), labels("77"));
        assert_eq!(listed(&columns, &rows), Some((texts(["", "silver", "77"]), vec![none, none, 77])));
    }
}
