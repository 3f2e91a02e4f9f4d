//! Figures as cells of tables, with their targets in brackets. Start at [`below`].

use comfy_table::{Cell, CellAlignment, Color};

use nodesift::terminal::Paint;

/// A figure with an upper bound.
pub(super) fn below(paint: Paint, figure: f64, target: Option<f64>) -> Cell {
    beside(paint, &shown(figure), target.map(|target| (shown_target(target), figure <= target)))
}

/// A figure with a lower bound.
pub(super) fn above(paint: Paint, figure: u64, target: Option<f64>) -> Cell {
    #[allow(clippy::cast_precision_loss)] // Far below 2^52.
    let met = |target: f64| figure as f64 >= target;
    beside(paint, &grouped(figure), target.map(|target| (shown_target(target), met(target))))
}

/// A ratio that is not measured of every pod, with an upper bound.
pub(super) fn ratio_or_none(paint: Paint, ratio: Option<f64>, target: Option<f64>) -> Cell {
    ratio.map_or_else(|| right(Cell::new("-")), |ratio| ratio_cell(paint, ratio, target))
}

/// A time that is not measured of every pod.
pub(super) fn time_or_none(nanos: Option<u64>) -> Cell {
    right(Cell::new(nanos.map_or_else(|| "-".to_owned(), |nanos| shown(micros(nanos)))))
}

/// A ratio with an upper bound.
pub(super) fn ratio_cell(paint: Paint, ratio: f64, target: Option<f64>) -> Cell {
    beside(paint, &format!("{ratio:.2}"), target.map(|target| (target.to_string(), ratio <= target)))
}

fn beside(paint: Paint, figure: &str, target: Option<(String, bool)>) -> Cell {
    right(match target {
        None => Cell::new(figure),
        Some((target, true)) => paint.cell(format!("{figure} ({target} met)"), Color::Green),
        Some((target, false)) => paint.cell(format!("{figure} ({target} missed)"), Color::Red),
    })
}

/// A cell with its text at the right.
pub(super) fn right(cell: Cell) -> Cell {
    cell.set_alignment(CellAlignment::Right)
}

/// Converts nanoseconds to microseconds.
#[allow(clippy::cast_precision_loss)] // Nanoseconds of a median are far below 2^52.
pub(super) fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1_000.0
}

/// Microseconds, with one decimal below 100.
pub(super) fn shown(micros: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Neither negative nor large.
    if micros < 99.95 { format!("{micros:.1}") } else { grouped(micros.round() as u64) }
}

fn shown_target(target: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Targets are small whole numbers.
    grouped(target as u64)
}

/// A number with its digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
