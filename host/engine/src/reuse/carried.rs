//! The label texts that a pointwise predicate looked up, each with whether some node carries it. `node-labels.code` has no
//! code for a text that no node of the cluster carries, so it is a question about all nodes, whatever the batch is: a
//! predicate may decide by it, and its verdict stands only for as long as these answers would be the same.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::size::{SHARED, Size as _};
use nodesift_cache::Snapshot;

/// Texts that one call has looked up so far, by key.
#[derive(Debug, Default)]
pub(super) struct Asked(FxHashMap<Arc<str>, FxHashMap<Arc<str>, bool>>);

impl Asked {
    /// Whether it is known already that this was looked up.
    pub(super) fn contains(&self, key: &str, text: &str) -> bool {
        self.0.get(key).is_some_and(|texts| texts.contains_key(text))
    }

    /// What it takes to write one more down.
    pub(super) fn bytes_of(&self, key: &str, text: &str) -> usize {
        let key = if self.0.contains_key(key) { 0 } else { key.len() + SHARED };
        size_of::<LabelText>() + key + text.len() + SHARED
    }

    pub(super) fn insert(&mut self, key: &str, text: &str, is_carried: bool) {
        let texts = match self.0.get_mut(key) {
            Some(texts) => texts,
            None => self.0.entry(Arc::from(key)).or_default(),
        };
        texts.insert(Arc::from(text), is_carried);
    }
}

/// One text under one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LabelText {
    key: Arc<str>,
    text: Arc<str>,
    is_carried: bool,
}

impl LabelText {
    fn name(&self) -> (&str, &str) {
        (&self.key, &self.text)
    }
}

/// All that were looked up for a verdict, by key and text.
#[derive(Debug, Clone, Default)]
pub(super) struct LabelTexts(Arc<[LabelText]>);

impl From<Asked> for LabelTexts {
    fn from(asked: Asked) -> Self {
        let of_key = |(key, texts): (Arc<str>, FxHashMap<Arc<str>, bool>)| {
            let text = move |(text, is_carried)| LabelText { key: Arc::clone(&key), text, is_carried };
            texts.into_iter().map(text)
        };
        let mut texts: Vec<LabelText> = asked.0.into_iter().flat_map(of_key).collect();
        texts.sort_unstable();
        Self(texts.into())
    }
}

impl LabelTexts {
    /// Whether a snapshot would answer the same.
    pub(super) fn hold(&self, snapshot: &Snapshot) -> bool {
        self.0.chunk_by(|a, b| a.key == b.key).all(|texts| {
            let column = texts.first().and_then(|first| snapshot.label_column(&first.key));
            let is_carried =
                |text: &str| column.as_ref().is_some_and(|column| column.dictionary().code(text).is_some());
            texts.iter().all(|known| known.is_carried == is_carried(&known.text))
        })
    }

    /// These and others that the same snapshot has answered.
    pub(super) fn with(&self, others: &Self) -> Self {
        let is_new = |other: &&LabelText| self.0.binary_search_by(|known| known.name().cmp(&other.name())).is_err();
        let new: Vec<&LabelText> = others.0.iter().filter(is_new).collect();
        if new.is_empty() {
            return self.clone();
        }
        let mut texts: Vec<LabelText> = self.0.iter().chain(new).cloned().collect();
        texts.sort_unstable();
        Self(texts.into())
    }

    /// Whether these are the others, and not only equal to them.
    pub(super) fn is_one_with(&self, others: &Self) -> bool {
        Arc::ptr_eq(&self.0, &others.0)
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.0.chunk_by(|a, b| a.key == b.key).filter_map(<[LabelText]>::first);
        size_of_val(&*self.0)
            + SHARED
            + keys.map(|first| first.key.heap()).sum::<usize>()
            + self.0.iter().map(|known| known.text.heap()).sum::<usize>()
    }
}
