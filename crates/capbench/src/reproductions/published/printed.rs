//! Tables as they were printed, read back from text.

/// A table: heads with their units, and rows of as many fields behind their name.
#[derive(Debug, Default)]
pub struct Printed {
    pub heads: Vec<String>,
    pub rows: Vec<(String, Vec<String>)>,
}

/// A name in small letters and digits, `_` for everything else.
pub fn plain(text: &str) -> String {
    let letters = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    letters.collect()
}

impl Printed {
    /// From lines of fields, the heads first; the first of each row is its name.
    fn of(mut lines: impl Iterator<Item = Vec<String>>) -> Self {
        let heads = lines.next().expect("a table has heads").split_off(1);
        let rows: Vec<(String, Vec<String>)> = lines
            .map(|mut fields| {
                let rest = fields.split_off(1);
                (fields.remove(0), rest)
            })
            .collect();
        assert!(rows.iter().all(|(_, fields)| fields.len() >= heads.len()), "{rows:?}");
        Self { heads, rows }
    }
}

/// A field of a line, and where it ends: fields are set to the right and at least two blanks apart.
struct Field<'l> {
    text: &'l str,
    start: usize,
    end: usize,
}

fn fields(line: &str) -> Vec<Field<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in line.split("  ") {
        let text = part.trim();
        let start = at + (part.len() - part.trim_start().len());
        if !text.is_empty() {
            let before = line[..start].chars().count();
            found.push(Field { text, start: before, end: before + text.chars().count() });
        }
        at += part.len() + 2;
    }
    found
}

/// Where names of rows begin on a terminal.
const INDENT: usize = 2;

/// From the terminal: parts below each other where the table is wide, each with lines of heads and all rows.
pub fn terminal(text: &str, caption: &str) -> Printed {
    let mut lines = text.lines().peekable();
    // The caption is wrapped, its unit at the end.
    let mut whole = lines.next().expect("a table has a caption").trim().to_owned();
    while !whole.starts_with(caption) {
        whole = format!("{whole} {}", lines.next().expect("a caption ends").trim());
    }
    if let Some(unit) = lines.next_if(|line| line.trim_start().starts_with('[')) {
        whole = format!("{whole} {}", unit.trim());
    }
    let unit = whole[caption.len()..].trim().to_owned();
    let mut printed = Printed::default();
    while lines.peek().is_some_and(|line| is_head(line)) {
        part(&mut lines, &unit, &mut printed);
    }
    printed
}

/// Whether a line is above the names of columns: it names no row.
fn is_head(line: &str) -> bool {
    fields(line).first().is_some_and(|first| first.start > INDENT)
}

/// One part: its columns are added to those before it.
fn part<'l>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'l str>>,
    unit: &str,
    printed: &mut Printed,
) {
    let mut heads: Vec<Vec<Field<'l>>> = Vec::new();
    while let Some(line) = lines.next_if(|line| is_head(line)) {
        heads.push(fields(line));
    }
    // The last of the heads stands beside that of the names.
    heads.push(fields(lines.next().expect("names have a head")).split_off(1));
    let mut rows: Vec<(&str, Vec<Field<'l>>)> = Vec::new();
    // Notes follow the last part, and are running text.
    while let Some(line) = lines.next_if(|line| fields(line).len() > 1 && !is_head(line)) {
        let mut all = fields(line);
        let rest = all.split_off(1);
        rows.push((all[0].text, rest));
    }
    let mut ends: Vec<usize> =
        heads.iter().chain(rows.iter().map(|row| &row.1)).flatten().map(|field| field.end).collect();
    ends.sort_unstable();
    ends.dedup();
    let of = |line: &[Field<'l>], end: usize| {
        line.iter().find(|field| field.end == end).map_or("", |field| field.text).to_owned()
    };
    for end in &ends {
        let words: Vec<String> =
            heads.iter().map(|line| of(line, *end)).filter(|word| !word.is_empty()).collect();
        printed.heads.push(format!("{} {unit}", words.join(" ")));
    }
    if printed.rows.is_empty() {
        printed.rows = rows.iter().map(|(label, _)| ((*label).to_owned(), Vec::new())).collect();
    }
    for ((label, fields), (again, line)) in printed.rows.iter_mut().zip(&rows) {
        assert_eq!(label, again, "parts of a table have the same rows");
        fields.extend(ends.iter().map(|end| of(line, *end)));
    }
}

/// From the page, by the table's name: fields as they are shown, or with their exact values.
pub fn page(html: &str, id: &str, exact: bool) -> Printed {
    let start = format!("id=\"table-{id}\"");
    let table = html.split_once(&start).unwrap_or_else(|| panic!("no {start}")).1;
    let table = table.split_once("</table>").expect("a table ends").0;
    let (head, body) = table.split_once("<tbody>").expect("a table has rows");
    let heads = head.split("<th ").skip(1).map(|cell| without_tags(&format!("<th {cell}")));
    let rows = body.split("<tr").skip(1).map(|row| {
        let row = row.split_once('>').expect("a tag ends").1;
        row.split_inclusive("</td>")
            .flat_map(|part| part.split_inclusive("</th>"))
            .map(|cell| field(cell, exact))
            .collect()
    });
    Printed::of(std::iter::once(heads.collect()).chain(rows))
}

/// A cell with its tags: what it shows, or its value where it has one that is not what it shows.
fn field(cell: &str, exact: bool) -> String {
    let tag = cell.split_once('>').map_or("", |(tag, _)| tag);
    let value = tag.split_once("data-value=\"").and_then(|(_, rest)| rest.split_once('"'));
    match value {
        Some((value, _)) if exact => value.to_owned(),
        _ => without_tags(cell),
    }
}

fn without_tags(html: &str) -> String {
    let shown: String =
        html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    let meant = [("&#x2f;", "/"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    meant.iter().fold(shown.trim().to_owned(), |text, (escaped, letter)| text.replace(escaped, letter))
}

/// From Markdown, by the table's caption.
pub fn markdown(text: &str, caption: &str) -> Printed {
    let text = text.replace('\\', "");
    let mut lines =
        text.lines().skip_while(|line| *line != caption).skip_while(|line| !line.starts_with('|'));
    let fields = |line: &str| -> Vec<String> {
        let inner =
            line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")).expect("a row of a table");
        inner.split(" | ").map(String::from).collect()
    };
    let heads = lines.next().map(fields).unwrap_or_else(|| panic!("no table {caption:?}"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(fields);
    Printed::of(std::iter::once(heads).chain(rows))
}

/// From a file of its own.
pub fn csv(text: &str) -> Printed {
    assert!(!text.contains('"'), "quoted fields: {text}");
    Printed::of(text.lines().map(|line| line.split(',').map(String::from).collect()))
}
