//! The expressions that are kept, within limits: those that were asked for last. Start at [`Kept::get`].

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::expression::Expression;
use crate::limits::{SELECTOR_BYTES, SELECTOR_EXPRESSIONS};

/// Cache of expressions by their text.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    expressions: FxHashMap<Arc<str>, Entry>,
    /// How often any was asked for.
    asked: u64,
}

#[derive(Debug)]
struct Entry {
    expression: Arc<Expression>,
    /// [`Table::asked`] when it was asked for last.
    last: u64,
}

impl Kept {
    /// An expression that is kept. Whoever only looks up takes the place of none.
    pub(super) fn peek(&self, text: &str) -> Option<Arc<Expression>> {
        let mut table = self.0.lock();
        table.asked += 1;
        let asked = table.asked;
        let entry = table.expressions.get_mut(text)?;
        entry.last = asked;
        Some(Arc::clone(&entry.expression))
    }

    /// An expression. Where it is not kept, nothing is known about it, and it takes the place of the one that was not asked for
    /// the longest.
    pub(super) fn get(&self, text: &str) -> Arc<Expression> {
        let mut table = self.0.lock();
        table.asked += 1;
        let asked = table.asked;
        if let Some(entry) = table.expressions.get_mut(text) {
            entry.last = asked;
            return Arc::clone(&entry.expression);
        }
        if table.expressions.len() >= SELECTOR_EXPRESSIONS {
            table.forget_oldest();
        }
        let text: Arc<str> = text.into();
        let expression = Arc::new(Expression::new(Arc::clone(&text)));
        table.expressions.insert(text, Entry { expression: Arc::clone(&expression), last: asked });
        expression
    }

    /// Forgets those that were not asked for the longest, until the others take no more than [`SELECTOR_BYTES`].
    pub(super) fn shrink(&self) {
        let mut table = self.0.lock();
        while table.bytes() > SELECTOR_BYTES {
            table.forget_oldest();
        }
    }

    /// How many there are, and their bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        let table = self.0.lock();
        (table.expressions.len(), table.bytes())
    }
}

impl Table {
    fn bytes(&self) -> usize {
        self.expressions.values().map(|entry| entry.expression.bytes()).sum()
    }

    fn forget_oldest(&mut self) {
        let oldest = self.expressions.iter().min_by_key(|(_, entry)| entry.last);
        if let Some(text) = oldest.map(|(text, _)| Arc::clone(text)) {
            self.expressions.remove(&text);
        }
    }
}
