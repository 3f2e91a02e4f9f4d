//! A pool of texts: equal label keys, values and names of many objects are kept once.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::limits::TEXT_POOL_SWEEP_MIN;

/// Texts that are in use somewhere, each kept once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pool: FxHashSet<Arc<str>>,
    sweep_at: usize,
}

impl Texts {
    /// The pool's copy of a text.
    pub(super) fn intern(&mut self, text: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.pool.get(text.as_ref()) {
            return Arc::clone(known);
        }
        if self.pool.len() >= self.sweep_at.max(TEXT_POOL_SWEEP_MIN) {
            self.pool.retain(|text| Arc::strong_count(text) > 1);
            self.sweep_at = self.pool.len() * 2;
        }
        self.pool.insert(Arc::clone(text));
        Arc::clone(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_nobody_holds_do_not_pile_up() {
        let mut texts = Texts::default();
        let held: Arc<str> = texts.intern(&Arc::from("held"));
        for round in 0..TEXT_POOL_SWEEP_MIN * 4 {
            texts.intern(&Arc::from(format!("{round}")));
        }
        assert!(texts.pool.len() <= TEXT_POOL_SWEEP_MIN * 2);
        assert!(Arc::ptr_eq(&held, &texts.intern(&Arc::from("held"))));
    }
}
