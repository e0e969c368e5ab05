//! A table of texts under headings, in the forms that every verb prints: for a terminal, as Markdown,
//! as CSV.
//!
//! What is in it, and how numbers are rounded, is for whoever fills it to say.

use comfy_table::{Cell, CellAlignment, ContentArrangement, TableStyle, presets};

use crate::grid::{TERMINAL, csv_field, lines};

/// A table of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sheet {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

/// Which side of its column a text stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

impl Sheet {
    /// An empty table with these columns.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Align)>) -> Self {
        let columns = columns.into_iter().map(|(name, align)| (name.into(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row: a text for each column. What is missing is empty, what is too much is dropped.
    pub fn row<S: Into<String>>(&mut self, texts: impl IntoIterator<Item = S>) {
        let mut row: Vec<String> = texts.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table for a terminal: at most `columns` wide, where longer texts are broken. Ends with a
    /// line end.
    pub fn human(&self, columns: usize) -> String {
        let airy = self.draw(usize::MAX, TERMINAL, 1);
        let fits = airy.lines().all(|line| line.chars().count() <= columns);
        let drawn = if fits { airy } else { self.draw(columns, TERMINAL, 0) };
        format!("{drawn}\n")
    }

    /// The table in Markdown. Ends with a line end.
    pub fn markdown(&self) -> String {
        format!("{}\n", self.draw(usize::MAX, presets::ASCII_MARKDOWN, 1))
    }

    /// The table as CSV (RFC 4180 quoting, plain line ends).
    pub fn csv(&self) -> String {
        let line = |fields: &mut dyn Iterator<Item = &String>| {
            let fields: Vec<String> = fields.map(|text| csv_field(text)).collect();
            format!("{}\n", fields.join(","))
        };
        let header = line(&mut self.columns.iter().map(|(name, _)| name));
        let rows = self.rows.iter().map(|row| line(&mut row.iter()));
        std::iter::once(header).chain(rows).collect()
    }

    fn draw(&self, columns: usize, style: TableStyle, gap: u16) -> String {
        let mut drawn = comfy_table::Table::new();
        drawn
            .load_style(style)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(columns).unwrap_or(u16::MAX));
        let cell = |(text, align): (&String, Align)| match align {
            Align::Left => Cell::new(text),
            Align::Right => Cell::new(text).set_alignment(CellAlignment::Right),
        };
        let aligns = || self.columns.iter().map(|(_, align)| *align);
        drawn.set_header(self.columns.iter().map(|(name, _)| name).zip(aligns()).map(cell));
        for row in &self.rows {
            drawn.add_row(row.iter().zip(aligns()).map(cell));
        }
        if style == TERMINAL {
            for (index, column) in drawn.column_iter_mut().enumerate() {
                column.set_padding((if index == 0 { 1 } else { gap }, 0));
            }
        }
        lines(&drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Sheet {
        let mut sheet = Sheet::new([("name", Align::Left), ("ms", Align::Right)]);
        sheet.row(["a,b", "1.5"]);
        sheet.row(["c"]);
        sheet
    }

    #[test]
    fn it_is_written_in_each_form() {
        assert_eq!(small().human(80), " name   ms\n----------\n a,b   1.5\n c\n");
        assert_eq!(small().markdown(), "| name |  ms |\n|------|-----|\n| a,b  | 1.5 |\n| c    |     |\n");
        assert_eq!(small().csv(), "name,ms\n\"a,b\",1.5\nc,\n");
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        let mut sheet = Sheet::new([("one", Align::Left), ("two", Align::Left)]);
        sheet.row(["a text that is longer than there is room for", "and another one"]);
        assert!(sheet.human(40).lines().all(|line| line.len() <= 40), "{}", sheet.human(40));
    }
}
