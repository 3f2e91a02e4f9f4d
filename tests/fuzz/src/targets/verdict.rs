//! Verdicts as guests return them: checked or refused. What passes the check holds everything that the host relies on.
//!
//! An input is read as numbers: the number of rows, the kind of verdict, its codes, its failures with their reasons.

use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{FAILURE_REASONS, FAULT_DETAIL_BYTES, REASON_BYTES, VERDICT_FAILURES};
use nodesift_sandbox::{Verdict, checked_verdict, wire};

use crate::{Behaviour, magnitude};

/// Rows of a batch: several chunks of codes.
const ROWS: u16 = 3000;

/// kube-scheduler's codes of a rejection.
const CODES: usize = 3;

/// Reads numbers of an input; zeros after its end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Mostly the number that is right.
    fn length(&mut self, right: usize) -> usize {
        match self.byte() {
            0..=199 => right,
            200..=219 => right.wrapping_sub(1).min(usize::from(ROWS)),
            220..=239 => right + 1,
            _ => usize::from(self.short()),
        }
    }

    fn failure(&mut self) -> wire::Failure {
        let status = match self.byte() % 3 {
            0 => wire::Status::Unschedulable,
            1 => wire::Status::UnschedulableAndUnresolvable,
            _ => wire::Status::Error,
        };
        let reasons = match self.byte() {
            0..=199 => 1 + usize::from(self.byte() % 3),
            _ => usize::from(self.byte()),
        };
        wire::Failure { status, reasons: (0..reasons).map(|_| self.reason()).collect() }
    }

    fn reason(&mut self) -> String {
        let letter = char::from_u32(u32::from(self.short())).unwrap_or('\u{1b}');
        let times = match self.byte() {
            0..=229 => 3,
            _ => usize::from(self.short()) % 3000,
        };
        letter.to_string().repeat(times)
    }
}

/// The verdict of the input.
pub fn run(input: &[u8]) -> Behaviour {
    let mut numbers = Numbers(input);
    let rows = u32::from(numbers.short() % ROWS);
    let raw = match numbers.byte() % 4 {
        0 => wire::Verdict::FitsAll,
        1 => wire::Verdict::FitsNone(numbers.failure()),
        kind => {
            let failures: Vec<wire::Failure> = match numbers.byte() {
                255 => {
                    let failure =
                        wire::Failure { status: wire::Status::Unschedulable, reasons: vec![numbers.reason()] };
                    vec![failure; usize::from(numbers.short() % 5000)]
                }
                count => (0..count % 8).map(|_| numbers.failure()).collect(),
            };
            let codes = numbers.length(rows as usize);
            let most = u16::try_from(failures.len()).unwrap_or(u16::MAX);
            let code = |numbers: &mut Numbers<'_>| match numbers.byte() {
                255 => numbers.short(),
                code => u16::from(code) % (most + 1),
            };
            let outcome = wire::Outcome { codes: (0..codes).map(|_| code(&mut numbers)).collect(), failures };
            if kind == 2 {
                wire::Verdict::ByRow(outcome)
            } else {
                let named = (0..numbers.byte() % 8).map(|_| u32::from(numbers.short()) % (rows + 2)).collect();
                wire::Verdict::Named((outcome, named))
            }
        }
    };
    let seen = match &raw {
        wire::Verdict::FitsAll => (0, 0, 0),
        wire::Verdict::FitsNone(failure) => (1, failure.reasons.len(), 0),
        wire::Verdict::ByRow(outcome) => (2, outcome.codes.len(), outcome.failures.len()),
        wire::Verdict::Named((outcome, named)) => (3, outcome.codes.len(), named.len()),
    };
    match checked_verdict(raw, rows, FAILURE_REASONS) {
        Ok(verdict) => {
            hold(&verdict, rows);
            Behaviour::new((seen.0, magnitude(seen.1), seen.2, magnitude(rows as usize)))
        }
        Err(fault) => {
            assert_eq!(fault.kind, FaultKind::MalformedVerdict, "{fault}");
            assert!(!fault.detail.is_empty() && fault.detail.len() <= FAULT_DETAIL_BYTES + 3, "{fault}");
            Behaviour::error(&fault.to_string())
        }
    }
}

/// Asserts the properties of a checked verdict that the host relies on.
fn hold(verdict: &Verdict, rows: u32) {
    match verdict {
        Verdict::FitsAll => {}
        Verdict::FitsNone(failure) => failure_holds(failure),
        Verdict::ByRow(by_row) => {
            let codes: Vec<u16> = by_row.codes().chunks().flatten().copied().collect();
            assert_eq!(codes.len(), rows as usize, "a code per row");
            let failures = by_row.failures();
            // One per status stands for those that are too many.
            assert!(failures.len() <= VERDICT_FAILURES + CODES, "{} failures", failures.len());
            assert!(codes.iter().all(|code| usize::from(*code) <= failures.len()), "a code without a failure");
            failures.iter().for_each(failure_holds);
            let named = by_row.named().map(|named| named.to_vec()).unwrap_or_default();
            assert!(named.windows(2).all(|pair| pair[0] < pair[1]), "named rows are sorted: {named:?}");
            assert!(named.iter().all(|row| *row < rows), "a named row is not in the batch: {named:?}");
            for (place, code) in codes.iter().enumerate() {
                assert_eq!(verdict.failure_at(place).is_none(), *code == 0, "row {place}");
            }
        }
    }
}

fn failure_holds(failure: &nodesift_sandbox::Failure) {
    let reasons = &failure.reasons;
    assert!(!reasons.is_empty() && reasons.len() <= FAILURE_REASONS, "{} reasons", reasons.len());
    assert!(reasons.iter().all(|reason| !reason.chars().any(char::is_control)), "control characters in {reasons:?}");
    assert!(reasons.iter().all(|reason| reason.len() <= REASON_BYTES), "a reason is too long: {reasons:?}");
}

/// Generates random bytes, which are read as numbers.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = vec![0; random.usize(1..400)];
    random.fill(&mut bytes);
    bytes
}
