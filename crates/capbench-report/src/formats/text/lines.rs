//! Text in lines that fit on a terminal.

use crate::printable;

/// Width of a line in columns.
pub const COLUMNS: usize = 80;

/// Appends `words` to `text` in lines that fit. The first line begins with `first_indent`, the others with `next_indent`. A word
/// longer than a line gets a line, and so does a command: a shell would end it where a line ends.
pub fn wrapped(text: &mut String, first_indent: &str, next_indent: &str, words: &str) {
    let mut line = String::from(first_indent);
    let mut separator = "";
    let words = printable::line(words);
    for word in words_and_code(&words) {
        if !separator.is_empty() && width(&line) + 1 + width(word) > COLUMNS {
            end_line(text, &line);
            line = next_indent.into();
            separator = "";
        }
        line.push_str(separator);
        line.push_str(word);
        separator = " ";
    }
    end_line(text, &line);
}

/// The words of a text. Text between backticks is one word.
fn words_and_code(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(' ');
    while !rest.is_empty() {
        let mut end = rest.find(' ').unwrap_or(rest.len());
        if let Some(start) = rest[..end].find('`')
            && let Some(length) = rest[start + 1..].find('`')
        {
            let after = start + 1 + length + 1;
            end = rest[after..].find(' ').map_or(rest.len(), |blank| after + blank);
        }
        words.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(' ');
    }
    words
}

fn end_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn a_command_is_in_one_line() {
        let mut text = String::new();
        let command =
            "`capbench bench --method 'packet-v3,cmd:tcpdump -ni {interface} -w /dev/null' --placement same`";
        wrapped(&mut text, "- ", "  ", &format!("To decide between them: {command} (up to 82 s)."));
        assert_eq!(text, format!("- To decide between them:\n  {command}\n  (up to 82 s).\n"));
        text.clear();
        wrapped(&mut text, "", "", "`--rate 1`,  and a ` that nothing closes");
        assert_eq!(text, "`--rate 1`, and a ` that nothing closes\n");
    }
}
