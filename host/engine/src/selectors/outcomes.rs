//! The outcomes of one expression that are known: by number of device for readers, and by key for who evaluates.

use std::mem::size_of;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Outcome of an expression for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    No,
    Yes,
    Error(Arc<str>),
    /// Nobody has said it: the evaluator failed for the expression, and would again. Not kept.
    Fault(Arc<str>),
}

/// Numbers of devices per page.
const PAGE: u32 = 1024;

/// An outcome in two bytes: nothing known, no, yes, or one of the errors.
type Code = u16;
const UNKNOWN: Code = 0;
const NO: Code = 1;
const YES: Code = 2;
const FIRST_ERROR: Code = 3;

/// Outcomes by number of device, in pages: numbers are dense, and those of devices that are gone are never given again.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pages: FxHashMap<u32, Box<[Code]>>,
    errors: Vec<Arc<str>>,
    codes: FxHashMap<Arc<str>, Code>,
    /// Bytes of the errors' texts.
    error_bytes: usize,
}

impl Outcomes {
    /// Reads outcomes one after the other.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader { outcomes: self, number: 0, page: None }
    }

    /// Keeps the outcome of a device. A fault is not kept, nor an error beyond those that a code can tell.
    pub(super) fn insert(&mut self, id: u32, outcome: &Outcome) {
        let Some(code) = self.code_of(outcome).filter(|_| id != u32::MAX) else { return };
        let page = self.pages.entry(id / PAGE).or_insert_with(|| vec![UNKNOWN; PAGE as usize].into());
        if let Some(known) = page.get_mut((id % PAGE) as usize) {
            *known = code;
        }
    }

    /// Bytes that are kept, about.
    pub(super) fn bytes(&self) -> usize {
        /// Of an entry of a map, beside what it points to.
        const ENTRY: usize = 48;
        let page = PAGE as usize * size_of::<Code>() + ENTRY;
        self.pages.len() * page + self.error_bytes + self.errors.len() * ENTRY
    }

    fn code_of(&mut self, outcome: &Outcome) -> Option<Code> {
        match outcome {
            Outcome::No => Some(NO),
            Outcome::Yes => Some(YES),
            Outcome::Fault(_) => None,
            Outcome::Error(error) => {
                if let Some(code) = self.codes.get(error) {
                    return Some(*code);
                }
                let code = Code::try_from(self.errors.len()).ok()?.checked_add(FIRST_ERROR)?;
                self.errors.push(Arc::clone(error));
                self.codes.insert(Arc::clone(error), code);
                self.error_bytes += error.len();
                Some(code)
            }
        }
    }
}

/// Reads outcomes. Numbers that follow each other are mostly on one page, which it remembers.
pub(super) struct Reader<'o> {
    outcomes: &'o Outcomes,
    number: u32,
    page: Option<&'o [Code]>,
}

impl Reader<'_> {
    /// The outcome of a device, if it is known.
    pub(super) fn get(&mut self, id: u32) -> Option<Outcome> {
        match self.code(id)? {
            UNKNOWN => None,
            NO => Some(Outcome::No),
            YES => Some(Outcome::Yes),
            error => self.outcomes.errors.get(usize::from(error - FIRST_ERROR)).map(Arc::clone).map(Outcome::Error),
        }
    }

    /// Whether it matches a device; `None` where that is not known, or is an error.
    pub(super) fn says(&mut self, id: u32) -> Option<bool> {
        match self.code(id)? {
            NO => Some(false),
            YES => Some(true),
            _ => None,
        }
    }

    fn code(&mut self, id: u32) -> Option<Code> {
        let number = id / PAGE;
        if self.page.is_none() || self.number != number {
            self.page = self.outcomes.pages.get(&number).map(|page| &**page);
            self.number = number;
        }
        self.page?.get((id % PAGE) as usize).copied()
    }
}

/// Outcomes by the key of the values that the expression reads.
#[derive(Debug, Default)]
pub(super) struct Keys {
    outcomes: FxHashMap<Box<[u8]>, Outcome>,
    bytes: usize,
}

impl Keys {
    pub(super) fn get(&self, key: &[u8]) -> Option<&Outcome> {
        self.outcomes.get(key)
    }

    /// Keeps the outcomes of keys, except faults. Texts of errors are those that [`Outcomes`] has.
    pub(super) fn extend(&mut self, outcomes: impl Iterator<Item = (Box<[u8]>, Outcome)>) {
        /// Of an entry of the map, beside what it points to.
        const ENTRY: usize = 64;
        self.outcomes.reserve(outcomes.size_hint().1.unwrap_or_default());
        for (key, outcome) in outcomes.filter(|(_, outcome)| !matches!(outcome, Outcome::Fault(_))) {
            let bytes = ENTRY + key.len();
            if self.outcomes.insert(key, outcome).is_none() {
                self.bytes += bytes;
            }
        }
    }

    /// Bytes that are kept, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
