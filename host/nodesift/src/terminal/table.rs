//! Tables without borders. On a terminal they fit its width; in a pipe every row stays on one line, for grep.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::paint::Paint;

/// An empty table with a header and a rule below it. `numbers` are the indices of the right-aligned columns.
pub fn table(paint: Paint, header: &[&str], numbers: &[usize]) -> Table {
    let rule = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(header.iter().enumerate().map(|(at, &title)| {
        let alignment = if numbers.contains(&at) { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(title).set_alignment(alignment)
    }));
    // The border between columns is one blank wide already.
    for column in table.column_iter_mut() {
        column.set_padding((1, 0));
    }
    if paint.is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    } else {
        table.force_no_tty();
    }
    table
}

/// The table as text, without trailing blanks and without a final line break.
pub fn render(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
