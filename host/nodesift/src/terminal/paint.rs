//! Colour for headlines and cells: only on a terminal, and never if `NO_COLOR` is set (no-color.org).

use std::io::IsTerminal as _;

use comfy_table::{Cell, Color};

/// Adds colour to text, or leaves the text as it is.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    colour: bool,
    terminal: bool,
}

impl Paint {
    /// Colour if stdout is a terminal that supports it.
    pub fn for_stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colour: terminal && !no_colour && !dumb, terminal }
    }

    /// No colour and no line width, as in a pipe.
    pub const PLAIN: Self = Self { colour: false, terminal: false };

    /// Whether stdout is a terminal, so that lines must fit its width.
    pub fn is_terminal(self) -> bool {
        self.terminal
    }

    /// The text between escapes for bold, where colours are shown.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Text in less contrast, for what is beside the point.
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Text in the colour of what is as it should be.
    pub fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    /// Text in the colour of what is wrong.
    pub fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// A cell in a colour.
    pub fn cell(self, text: impl std::fmt::Display, colour: Color) -> Cell {
        let cell = Cell::new(text);
        if self.colour { cell.fg(colour) } else { cell }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
