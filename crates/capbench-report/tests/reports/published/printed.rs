//! Tables as they were printed, read back from text.

/// A table as it is printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// The headings with their units, without the first one.
    pub heads: Vec<String>,
    pub rows: Vec<PrintedRow>,
}

/// A row of a table as it is printed.
#[derive(Debug)]
pub struct PrintedRow {
    /// Its first field.
    pub name: String,
    /// Its other fields, in the order of the headings.
    pub fields: Vec<String>,
}

/// A name in lower-case letters and digits, with `_` for everything else.
pub fn plain(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        plain.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
    }
    plain
}

impl Printed {
    /// A table from lines of fields, of which the first has the headings.
    fn from_lines(lines: Vec<Vec<String>>) -> Self {
        let mut lines = lines.into_iter();
        let heads = lines.next().expect("a table has headings").split_off(1);
        let mut rows = Vec::new();
        for mut line in lines {
            let fields = line.split_off(1);
            assert!(fields.len() >= heads.len(), "{line:?}: {fields:?}");
            rows.push(PrintedRow { name: line.remove(0), fields });
        }
        Self { heads, rows }
    }
}

/// The table with this caption on a terminal. A wide table is in parts below each other: lines of headings, and then a row for each
/// of these names.
pub fn terminal(text: &str, caption: &str, names: &[String]) -> Printed {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = end_of_caption(&lines, caption);
    // A blank line follows the notes.
    let end = (at..lines.len()).find(|line| lines[*line].is_empty()).unwrap_or(lines.len());
    let mut printed = Printed::default();
    for name in names {
        printed.rows.push(PrintedRow { name: name.clone(), fields: Vec::new() });
    }
    while let Some(first_row) = (at..end).find(|first| begin_with_names(&lines[*first..end], names)) {
        let after_rows = first_row + names.len();
        add_part(&mut printed, &lines[at..first_row], &lines[first_row..after_rows]);
        at = after_rows;
    }
    printed
}

/// The line after a caption, which is wrapped into up to four lines.
fn end_of_caption(lines: &[&str], caption: &str) -> usize {
    for begin in 0..lines.len() {
        if lines[begin].starts_with(' ') {
            continue;
        }
        let mut words = String::new();
        for (index, line) in lines.iter().enumerate().skip(begin).take(4) {
            if index > begin {
                words.push(' ');
            }
            words.push_str(line.trim());
            if words == caption {
                return index + 1;
            }
        }
    }
    panic!("no table {caption:?} in {}", lines.join("\n"))
}

/// Whether these lines begin with a row for each name.
fn begin_with_names(lines: &[&str], names: &[String]) -> bool {
    if lines.len() < names.len() {
        return false;
    }
    for (line, name) in lines.iter().zip(names) {
        match line.trim_start().strip_prefix(name.as_str()) {
            Some(rest) if rest.is_empty() || rest.starts_with(' ') => {}
            _ => return false,
        }
    }
    true
}

/// Adds the columns of one part. A column is where some line has letters; between columns no line has any.
fn add_part(printed: &mut Printed, heads: &[&str], rows: &[&str]) {
    // What all rows share is stated above the headings.
    let after_shared =
        heads.iter().rposition(|line| line.starts_with("all rows: ")).map_or(0, |line| line + 1);
    let heads = letters_of(&heads[after_shared..]);
    let rows = letters_of(rows);
    let all_lines = [heads.as_slice(), &rows].concat();
    let width_of_names = printed.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for column in columns(&all_lines).into_iter().skip(1) {
        // Blanks within names separate no columns.
        if column.begin < width_of_names {
            continue;
        }
        let mut words: Vec<String> = heads.iter().map(|line| column.field(line)).collect();
        words.retain(|word| !word.is_empty());
        printed.heads.push(words.join(" "));
        for (row, line) in printed.rows.iter_mut().zip(&rows) {
            row.fields.push(column.field(line));
        }
    }
}

fn letters_of(lines: &[&str]) -> Vec<Vec<char>> {
    lines.iter().map(|line| line.chars().collect()).collect()
}

/// From where to where a column reaches in its lines.
struct PrintedColumn {
    begin: usize,
    end: usize,
}

impl PrintedColumn {
    /// What a line has in the column.
    fn field(&self, line: &[char]) -> String {
        let letters: String = line.iter().take(self.end).skip(self.begin).collect();
        letters.trim().to_owned()
    }
}

/// The columns of these lines.
fn columns(lines: &[Vec<char>]) -> Vec<PrintedColumn> {
    let width = lines.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns: Vec<PrintedColumn> = Vec::new();
    for at in 0..width {
        let is_blank = lines.iter().all(|line| line.get(at).is_none_or(|letter| *letter == ' '));
        if is_blank {
            continue;
        }
        match columns.last_mut() {
            Some(column) if column.end == at => column.end += 1,
            _ => columns.push(PrintedColumn { begin: at, end: at + 1 }),
        }
    }
    columns
}

/// What is read of a field of the page.
#[derive(Clone, Copy, PartialEq)]
pub enum PageField {
    /// The text that a reader sees.
    Shown,
    /// The exact value, by which scripts sort.
    Exact,
}

/// The table of the page with this name.
pub fn page(html: &str, id: &str, wanted: PageField) -> Printed {
    let start = format!("id=\"table-{id}\"");
    let (_, table) = html.split_once(&start).unwrap_or_else(|| panic!("no {start}"));
    let (table, _) = table.split_once("</table>").expect("a table ends");
    let (head, body) = table.split_once("<tbody>").expect("a table has rows");
    let heads = head.split("<th ").skip(1).map(|cell| without_tags(&format!("<th {cell}"))).collect();
    let mut lines = vec![heads];
    for row in body.split("<tr").skip(1) {
        let (_, cells) = row.split_once('>').expect("a tag ends");
        let cells = cells.split_inclusive("</td>").flat_map(|part| part.split_inclusive("</th>"));
        lines.push(cells.map(|cell| field(cell, wanted)).collect());
    }
    Printed::from_lines(lines)
}

/// What a cell shows, or its exact value. A value that is absent is the one that is shown.
fn field(cell: &str, wanted: PageField) -> String {
    let tag = cell.split_once('>').map_or("", |(tag, _)| tag);
    if wanted == PageField::Exact
        && let Some((_, after)) = tag.split_once("data-value=\"")
        && let Some((value, _)) = after.split_once('"')
    {
        return value.to_owned();
    }
    without_tags(cell)
}

/// The text of a piece of HTML.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    let mut text = text.trim().to_owned();
    for (escaped, letter) in [("&#x2f;", "/"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")] {
        text = text.replace(escaped, letter);
    }
    text
}

/// The table of a Markdown file with this caption.
pub fn markdown(text: &str, caption: &str) -> Printed {
    let text = text.replace('\\', "");
    let after_caption = text.lines().skip_while(|line| *line != caption);
    let table =
        after_caption.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let mut lines = Vec::new();
    for line in table {
        let fields = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
        lines.push(fields.expect("a row of a table").split(" | ").map(String::from).collect());
    }
    assert!(!lines.is_empty(), "no table {caption:?}");
    // The rule between headings and rows.
    lines.remove(1);
    Printed::from_lines(lines)
}

/// The table of a CSV file.
pub fn csv(text: &str) -> Printed {
    assert!(!text.contains('"'), "quoted fields: {text}");
    Printed::from_lines(text.lines().map(|line| line.split(',').map(String::from).collect()).collect())
}
