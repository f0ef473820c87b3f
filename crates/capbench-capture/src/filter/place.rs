//! Finds the place of an error in an expression. libpcap does not report it, but its parser reveals it.
//!
//! libpcap's parser reads from left to right and stops at the first token after which no valid expression can follow. Append
//! text that the lexer refuses to a beginning of the expression. If the beginning is valid, the appended text is the error.
//! If it contains the error, libpcap reports that error. The shortest beginning with that error ends with the wrong token.

use std::ops::Range;

use crate::error::ExpressionPlace;

/// Texts that libpcap's lexer refuses with its own message, in one release or another: numbers of more than 32 bits, an
/// invalid address, a character of no token.
const STOPS: [&str; 4] = ["99999999999999", "88888888888888", "1::2::3", "?"];

const SYNTAX_ERROR: &str = "syntax error";

/// Finds the place of an error. `compile` returns the error of a text, `None` if it is valid. `said` is the error of the
/// whole expression. `None` if the place cannot be found.
pub(super) fn find(
    expression: &str,
    said: &str,
    mut compile: impl FnMut(&str) -> Option<String>,
) -> Option<ExpressionPlace> {
    // No token may follow here: an error other than a syntax error comes from the lexer.
    let mut is_stop = |stop: &str| {
        let of_lexer = compile(&format!("ip {stop}"));
        of_lexer.is_some_and(|it| it != said && !it.contains(SYNTAX_ERROR)) && !expression.contains(stop)
    };
    let stop = STOPS.into_iter().find(|stop| is_stop(stop))?;
    let tokens = tokens(expression);
    let mut has_error = |count: usize| {
        let end = count.checked_sub(1).and_then(|last| tokens.get(last)).map_or(0, |token| token.end);
        compile(&format!("{} {stop}", &expression[..end])).as_deref() == Some(said)
    };
    let is_syntax = said.contains(SYNTAX_ERROR);
    if !has_error(tokens.len()) {
        let end = expression.trim_end().len();
        return is_syntax.then_some(ExpressionPlace { token: end..end, is_exact: true });
    }
    let (mut good, mut bad) = (0, tokens.len());
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        if has_error(middle) {
            bad = middle;
        } else {
            good = middle;
        }
    }
    Some(ExpressionPlace { token: tokens[good].clone(), is_exact: is_syntax })
}

/// The pieces after which an expression may be cut: never within a libpcap token, but one piece may contain several tokens,
/// such as `0:4` in `tcp[0:4]`.
fn tokens(expression: &str) -> Vec<Range<usize>> {
    const BRACKETS: &str = "()[]";
    const OPERATORS: &str = "!<>=&|";
    let mut tokens = Vec::new();
    let mut rest = expression;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return tokens };
        let length = if first == '\\' {
            // A word that is no keyword, up to its delimiter.
            rest[1..].find([' ', '!', '(', ')', '\n', '\t']).map_or(rest.len(), |end| end + 1)
        } else if BRACKETS.contains(first) {
            1
        } else if OPERATORS.contains(first) {
            rest.find(|c| !OPERATORS.contains(c)).unwrap_or(rest.len())
        } else {
            let ends = |c: char| c.is_whitespace() || BRACKETS.contains(c) || OPERATORS.contains(c);
            rest.find(ends).unwrap_or(rest.len())
        };
        let start = expression.len() - rest.len();
        tokens.push(start..start + length);
        rest = &rest[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::{ExpressionPlace, find, tokens};

    /// A parser of `a and a and ...`, with brackets, that stops as libpcap's does.
    fn compile(text: &str) -> Option<String> {
        let mut depth = 0;
        let mut wants_word = true;
        for token in text.split_whitespace() {
            match token {
                "1::2::3" => return Some(format!("bogus ethernet address {token}")),
                "(" if wants_word => depth += 1,
                ")" if !wants_word && depth > 0 => depth -= 1,
                "and" if !wants_word => wants_word = true,
                "nowhere" if wants_word => return Some("unknown host 'nowhere'".into()),
                "and" | "(" | ")" => return Some("syntax error".into()),
                _ if wants_word => wants_word = false,
                _ => return Some("syntax error".into()),
            }
        }
        (wants_word || depth > 0).then(|| "syntax error".into())
    }

    fn place_in(text: &str) -> Option<(&str, bool)> {
        let said = compile(text).unwrap();
        find(text, &said, compile).map(|place| (&text[place.token.clone()], place.is_exact))
    }

    #[test]
    fn the_first_wrong_token_is_found() {
        assert_eq!(place_in("a and and b"), Some(("and", true)));
        let found = find("a and and b", "syntax error", compile).unwrap();
        assert_eq!(found.token, 6..9);
        assert_eq!(place_in("a and b c and d and e"), Some(("c", true)));
        assert_eq!(place_in(") a"), Some((")", true)));
        assert_eq!(place_in("a and"), Some(("", true)));
        assert_eq!(place_in("( a and b  "), Some(("", true)));
        assert_eq!(
            find("( a  ", "syntax error", compile),
            Some(ExpressionPlace { token: 3..3, is_exact: true })
        );
        assert_eq!(place_in("a and nowhere and b and c"), Some(("nowhere", false)));
        assert_eq!(place_in("a and 1::2::3 and b"), None, "nothing is left to stop with");
    }

    #[test]
    fn no_place_is_claimed_where_the_parser_reports_none() {
        assert_eq!(find("a b", "syntax error", |_| Some("syntax error".into())), None);
        assert_eq!(find("a", "expression rejects all packets", compile), None);
    }

    #[test]
    fn tokens_are_not_cut_in_two() {
        let of = |text: &'static str| tokens(text).into_iter().map(|at| &text[at]).collect::<Vec<_>>();
        assert_eq!(
            of("tcp[13]&2!=0 and(not ip6)"),
            ["tcp", "[", "13", "]", "&", "2", "!=", "0", "and", "(", "not", "ip6", ")"]
        );
        assert_eq!(of("ether host 00:11:22:33:44:55"), ["ether", "host", "00:11:22:33:44:55"]);
        assert_eq!(of(" proto \\a[b c\n"), ["proto", "\\a[b", "c"]);
        assert_eq!(of("\u{e9} \u{2028}x"), ["\u{e9}", "x"]);
    }
}
