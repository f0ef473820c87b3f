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
    fn from_lines(mut lines: impl Iterator<Item = Vec<String>>) -> Self {
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

/// From the terminal: parts below each other where the table is wide, each with lines of heads and a row for each of these names.
pub fn terminal(text: &str, caption: &str, names: &[String]) -> Printed {
    let lines: Vec<&str> = text.lines().collect();
    // The caption is wrapped.
    let is_begin = |at: &usize| {
        let words: Vec<&str> = lines[*at..].iter().take(4).map(|line| line.trim()).collect();
        !lines[*at].starts_with(' ') && words.join(" ").starts_with(caption)
    };
    let begin = (0..lines.len()).find(is_begin).unwrap_or_else(|| panic!("no table {caption:?} in {text}"));
    let (mut length, mut at) = (lines[begin].chars().count(), begin + 1);
    while length < caption.chars().count() {
        length += 1 + lines[at].trim().chars().count();
        at += 1;
    }
    let mut printed =
        Printed { heads: Vec::new(), rows: names.iter().map(|name| (name.clone(), Vec::new())).collect() };
    // A blank line follows the notes.
    let end = (at..lines.len()).find(|at| lines[*at].is_empty()).unwrap_or(lines.len());
    let is_named = |(line, name): (&&str, &String)| {
        line.trim_start()
            .strip_prefix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let is_part = |from: usize| lines[from..end].iter().zip(names).all(is_named) && from + names.len() <= end;
    while let Some(first) = (at..end).find(|from| is_part(*from)) {
        let after = first + names.len();
        part(&lines[at..first], &lines[first..after], names, &mut printed);
        at = after;
    }
    printed
}

/// One part: its columns are added to those before it. They are where some line has letters; no line has any between them.
fn part(heads: &[&str], rows: &[&str], names: &[String], printed: &mut Printed) {
    // What is said of all rows stands above the heads.
    let shared = heads.iter().rposition(|line| line.starts_with("all rows: ")).map_or(0, |at| at + 1);
    let heads = &heads[shared..];
    let letters = |line: &&str| line.chars().collect::<Vec<char>>();
    let (heads, rows): (Vec<_>, Vec<_>) =
        (heads.iter().map(letters).collect(), rows.iter().map(letters).collect());
    let all = || heads.iter().chain(&rows);
    let width = all().map(Vec::len).max().unwrap_or(0);
    let is_blank = |at: usize| all().all(|line| line.get(at).is_none_or(|letter| *letter == ' '));
    let name = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut columns: Vec<(usize, usize)> = Vec::new();
    for at in (0..width).filter(|at| !is_blank(*at)) {
        match columns.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => columns.push((at, at + 1)),
        }
    }
    for (from, to) in columns.into_iter().skip(1).filter(|(from, _)| *from >= name) {
        let field = |line: &Vec<char>| -> String {
            let field: String = line.iter().take(to).skip(from).collect();
            field.trim().to_owned()
        };
        let words: Vec<String> = heads.iter().map(field).filter(|word| !word.is_empty()).collect();
        printed.heads.push(words.join(" "));
        printed.rows.iter_mut().zip(&rows).for_each(|((_, fields), line)| fields.push(field(line)));
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
    Printed::from_lines(std::iter::once(heads.collect()).chain(rows))
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
    Printed::from_lines(std::iter::once(heads).chain(rows))
}

/// From a file of its own.
pub fn csv(text: &str) -> Printed {
    assert!(!text.contains('"'), "quoted fields: {text}");
    Printed::from_lines(text.lines().map(|line| line.split(',').map(String::from).collect()))
}
