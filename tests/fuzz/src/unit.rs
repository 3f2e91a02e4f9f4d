//! One unit: a target run on one input, with its panics caught, its time and its memory measured. Start at [`run`].

use std::fmt;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nodesift_tests::timeout;

use crate::memory::Peak;
use crate::{Behaviour, Target};

/// Bytes that one unit may have allocated at once.
const UNIT_BYTES: usize = 256 << 20;

/// How often a unit that took too long is run again: a busy machine is slow, but not every time.
const REPEATS: usize = 4;

/// Held while a unit runs. Whether panics are noted.
static ALONE: Mutex<bool> = Mutex::new(false);

/// The panic of the unit that runs.
static NOTE: Mutex<Note> = Mutex::new(Note::Off);

/// State of the recording of panics.
enum Note {
    /// No unit runs: panics are printed.
    Off,
    /// A unit runs and has not panicked so far.
    Waiting,
    /// The first one, of any thread.
    Panic { place: String, text: String },
}

/// Defect that a unit has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It panicked, in the code under test or because something does not hold.
    Panic {
        /// File and line of the panic.
        place: String,
        /// Message of the panic.
        text: String,
    },
    /// It took too long, each time.
    Slow {
        /// The time of the last run.
        time: Duration,
        /// Time that the unit may take.
        limit: Duration,
    },
    /// It allocated too much.
    Large(usize),
}

impl Finding {
    /// Class by which findings of the target are told apart: for a panic its place and how its text begins.
    pub fn class(&self) -> String {
        const BEGINNING: usize = 60;
        match self {
            Self::Panic { place, text } => {
                format!("{place} {}", crate::shape(text).chars().take(BEGINNING).collect::<String>())
            }
            Self::Slow { .. } => "slow".to_owned(),
            Self::Large(_) => "large".to_owned(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic { place, text } => write!(f, "panic at {place}: {text}"),
            Self::Slow { time, limit } => {
                write!(f, "took {:.1} s, at most {:.1} s", time.as_secs_f32(), limit.as_secs_f32())
            }
            Self::Large(bytes) => write!(f, "allocated {} MiB at once, at most {} MiB", bytes >> 20, UNIT_BYTES >> 20),
        }
    }
}

/// A unit that was run.
#[derive(Debug)]
pub struct Unit {
    /// Behaviour of the unit, or its defect.
    pub outcome: Result<Behaviour, Finding>,
    /// How long it took.
    pub time: Duration,
}

/// Runs a target on one input.
pub fn run(target: &Target, input: &[u8]) -> Unit {
    let limit = timeout::scaled(target.time);
    let mut unit = once(target, input);
    for _ in 0..REPEATS {
        if unit.outcome.is_err() || unit.time <= limit {
            return unit;
        }
        unit = once(target, input);
    }
    if unit.time > limit {
        unit.outcome = unit.outcome.and(Err(Finding::Slow { time: unit.time, limit }));
    }
    unit
}

fn once(target: &Target, input: &[u8]) -> Unit {
    // Panics and allocations are those of the whole process.
    let mut noted = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !*noted {
        note_panics();
        *noted = true;
    }
    *note() = Note::Waiting;
    let peak = Peak::start();
    let started = Instant::now();
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let time = started.elapsed();
    let bytes = peak.bytes();
    let noted = std::mem::replace(&mut *note(), Note::Off);
    let outcome = match (outcome, noted) {
        (Err(_), Note::Panic { place, text }) => Err(Finding::Panic { place, text }),
        (Err(_), _) => Err(Finding::Panic { place: "an unknown place".to_owned(), text: String::new() }),
        (Ok(_), _) if bytes > UNIT_BYTES => Err(Finding::Large(bytes)),
        (Ok(behaviour), _) => Ok(behaviour),
    };
    Unit { outcome, time }
}

fn note() -> MutexGuard<'static, Note> {
    NOTE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes panics of units instead of printing them: a driver goes on after them.
fn note_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        let mut note = note();
        match &*note {
            Note::Off => {
                drop(note);
                print(info);
            }
            Note::Waiting => {
                let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
                *note = Note::Panic { place, text: info.payload_as_str().unwrap_or_default().to_owned() };
            }
            Note::Panic { .. } => {}
        }
    }));
}
