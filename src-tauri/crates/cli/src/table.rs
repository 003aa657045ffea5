//! Aligned columns, by the width a terminal shows.

use unicode_width::UnicodeWidthStr;

/// Rows of cells under a head, aligned by their widest cell. Colour codes inside a cell count as no
/// width. The last column is never padded.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|h| h.to_uppercase()).collect()] }
    }

    /// A table without a head.
    pub fn bare() -> Self {
        Self { rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| self.rows.iter().filter_map(|r| r.get(c)).map(|s| shown_width(s)).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                line.push_str(cell);
                if c + 1 < row.len() {
                    line.push_str(&" ".repeat(widths[c] - shown_width(cell) + 2));
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

fn shown_width(cell: &str) -> usize {
    let mut plain = String::with_capacity(cell.len());
    let mut rest = cell;
    while let Some(at) = rest.find("\x1b[") {
        plain.push_str(&rest[..at]);
        rest = rest[at..].find('m').map_or("", |end| &rest[at + end + 1..]);
    }
    plain.push_str(rest);
    plain.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_and_colours_keep_the_columns_aligned() {
        let mut table = Table::new(&["id", "title", "state"]);
        table.row(["1".into(), "日本".into(), "done".into()]);
        table.row(["12".into(), "\x1b[31mred\x1b[0m".into(), "open".into()]);
        insta::assert_snapshot!(table.render().replace('\x1b', "^"), @r"
        ID  TITLE  STATE
        1   日本   done
        12  ^[31mred^[0m    open
        ");
    }
}
