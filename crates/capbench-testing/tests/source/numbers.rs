//! Numbers that decide: those of statistics, model, judge and plan outside the tables, and rows of the tables that nothing uses.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr, ExprBinary, ImplItemConst, Item, ItemConst, ItemMod, ItemUse, Lit, LitFloat, LitInt, Macro,
};

use crate::files;

/// Crates that decide.
const CRATES: [&str; 4] = ["capbench-statistics", "capbench-model", "capbench-judge", "capbench-plan"];

/// The tables of numbers that decide.
const TABLES: [&str; 3] = [
    "capbench-statistics/src/thresholds.rs",
    "capbench-model/src/thresholds.rs",
    "capbench-judge/src/thresholds.rs",
];

/// Files whose numbers are those of a format: classic BPF, and histograms as HdrHistogram stores them.
const FORMATS: [&str; 2] = ["capbench-model/src/filter/", "capbench-model/src/latency/delays/stored.rs"];

/// Free besides powers of ten: a half, none, one, two, and factors of units: bits of an octet, octets of a kibibyte, seconds of a minute
/// and an hour.
const FREE: [f64; 8] = [0.0, 0.5, 1.0, 2.0, 8.0, 1024.0, 60.0, 3600.0];

/// How the name of a constant ends that is a list of frame sizes.
const FRAME_SIZES: &str = "FRAME_SIZES";

/// Types of constants that decide, with any value.
const NUMBERS: [&str; 14] = [
    "f32", "f64", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "isize", "usize", "Duration",
];

/// Macros whose numbers are for those who change the program.
const OF_DEVELOPERS: [&str; 5] = ["assert", "assert_eq", "debug_assert", "debug_assert_eq", "panic"];

/// By `file:number` or `file:CONSTANT`, how often it is there. `file:half` is a comparison with one half of a value: a majority decides.
pub fn outside_the_tables() -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for name in CRATES {
        for source in files::of_crate(name) {
            let is_format = FORMATS.iter().any(|format| source.path.starts_with(format));
            if is_format || TABLES.contains(&source.path.as_str()) {
                continue;
            }
            let mut numbers = Numbers { path: source.path.clone(), found: BTreeMap::new() };
            source.items.iter().for_each(|item| numbers.visit_item(item));
            found.extend(numbers.found);
        }
    }
    found
}

/// Rows that decide in the SQL of `examples/sql`: a test of capbench-dataset compares the two.
const OF_QUERIES: [&str; 1] = ["QUERY_DEVIATIONS"];

/// Rows of the tables that no crate uses. capbench-report does not count: it only prints them.
pub fn unused_rows() -> Vec<String> {
    let mut rows = Vec::new();
    let mut used = Identifiers::default();
    for name in files::names_of_crates().into_iter().filter(|name| name != "capbench-report") {
        for source in files::of_crate(&name) {
            for item in &source.items {
                match item {
                    Item::Macro(table) if TABLES.contains(&source.path.as_str()) => {
                        rows.extend(used.note_table(table.mac.tokens.clone()));
                    }
                    item => used.visit_item(item),
                }
            }
        }
    }
    assert!(rows.len() > 100, "the tables are read wrongly: {rows:?}");
    rows.retain(|row| !used.0.contains(row) && !OF_QUERIES.contains(&row.as_str()));
    rows
}

/// The identifiers of a source, also in the arguments of macros.
#[derive(Default)]
struct Identifiers(BTreeSet<String>);

impl Identifiers {
    fn note(&mut self, identifier: &Ident) {
        self.0.insert(identifier.to_string());
    }

    fn note_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.note_tokens(group.stream()),
                TokenTree::Ident(identifier) => self.note(&identifier),
                TokenTree::Literal(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// Notes the identifiers of a table other than the names of its rows, which it returns.
    fn note_table(&mut self, table: TokenStream) -> Vec<String> {
        let mut rows = Vec::new();
        let mut tokens = table.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let TokenTree::Ident(name) = token else {
                self.note_tokens(token.into());
                continue;
            };
            let is_before_type = matches!(
                tokens.peek(),
                Some(TokenTree::Punct(colon)) if colon.as_char() == ':' && colon.spacing() == Spacing::Alone
            );
            if is_before_type && name.to_string().chars().all(|letter| !letter.is_lowercase()) {
                rows.push(name.to_string());
            } else {
                self.note(&name);
            }
        }
        rows
    }
}

impl<'ast> Visit<'ast> for Identifiers {
    fn visit_ident(&mut self, identifier: &'ast Ident) {
        self.note(identifier);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.note_tokens(call.tokens.clone());
    }

    /// What is only imported is not used.
    fn visit_item_use(&mut self, _: &'ast ItemUse) {}

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !files::is_cfg_of_tests_in(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
}

struct Numbers {
    path: String,
    found: BTreeMap<String, usize>,
}

impl Numbers {
    fn note(&mut self, what: &str) {
        *self.found.entry(format!("{}:{what}", self.path)).or_default() += 1;
    }

    fn note_number(&mut self, literal: &str) {
        let integer = syn::parse_str::<LitInt>(literal).ok().map(|number| number.base10_digits().to_string());
        let float = syn::parse_str::<LitFloat>(literal).ok().map(|number| number.base10_digits().to_string());
        let Some(digits) = integer.or(float) else { return };
        if digits.parse::<f64>().is_ok_and(|value| !is_free(value)) {
            self.note(&digits);
        }
    }

    /// Numbers in the arguments of a macro, which are not parsed.
    fn note_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.note_tokens(group.stream()),
                TokenTree::Literal(literal) => self.note_number(&literal.to_string()),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// A constant with a number: by its name if its type is one of numbers, else by the numbers in it.
    fn note_constant(&mut self, name: &str, kind: &syn::Type, value: &Expr) {
        if name.ends_with(FRAME_SIZES) {
            return;
        }
        let syn::Type::Path(path) = kind else { return self.visit_expr(value) };
        let is_number =
            path.path.segments.last().is_some_and(|kind| NUMBERS.iter().any(|known| kind.ident == known));
        let mut has = HasNumber(false);
        has.visit_expr(value);
        match is_number && has.0 {
            true => self.note(name),
            false => self.visit_expr(value),
        }
    }
}

impl<'ast> Visit<'ast> for Numbers {
    fn visit_lit(&mut self, literal: &'ast Lit) {
        match literal {
            Lit::Int(number) => self.note_number(&number.to_string()),
            Lit::Float(number) => self.note_number(&number.to_string()),
            _ => {}
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if !OF_DEVELOPERS.contains(&name.as_str()) {
            self.note_tokens(call.tokens.clone());
        }
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.note_constant(&item.ident.to_string(), &item.ty, &item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.note_constant(&item.ident.to_string(), &item.ty, &item.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let compares = matches!(binary.op, BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_));
        if compares && (is_half_or_double(&binary.left) || is_half_or_double(&binary.right)) {
            self.note("half");
        }
        visit::visit_expr_binary(self, binary);
    }

    /// The length of an array decides nothing.
    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !files::is_cfg_of_tests_in(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
}

struct HasNumber(bool);

impl<'ast> Visit<'ast> for HasNumber {
    fn visit_lit(&mut self, literal: &'ast Lit) {
        self.0 |= matches!(literal, Lit::Int(_) | Lit::Float(_));
    }
}

/// Whether an expression is one half, or half of another one or twice that one.
fn is_half_or_double(expression: &Expr) -> bool {
    match expression {
        Expr::Paren(inner) => is_half_or_double(&inner.expr),
        Expr::Cast(inner) => is_half_or_double(&inner.expr),
        Expr::Lit(_) => is_number(expression, &[0.5]),
        Expr::Binary(binary) => match binary.op {
            BinOp::Mul(_) => {
                [&binary.left, &binary.right].iter().any(|factor| is_number(factor, &[0.5, 2.0]))
            }
            BinOp::Div(_) => is_number(&binary.right, &[2.0]),
            _ => false,
        },
        _ => false,
    }
}

/// Whether an expression is one of these numbers.
fn is_number(expression: &Expr, numbers: &[f64]) -> bool {
    let Expr::Lit(literal) = expression else { return false };
    let digits = match &literal.lit {
        Lit::Int(number) => number.base10_digits(),
        Lit::Float(number) => number.base10_digits(),
        _ => return false,
    };
    digits.parse::<f64>().is_ok_and(|value| numbers.contains(&value))
}

#[test]
fn a_comparison_with_one_half_is_found() {
    let halves = |source: &str| {
        let file = syn::parse_file(&format!("fn decide() {{ {source}; }}")).expect("source");
        let mut numbers = Numbers { path: "x.rs".into(), found: BTreeMap::new() };
        numbers.visit_file(&file);
        numbers.found.get("x.rs:half").copied().unwrap_or(0)
    };
    for half in [
        "2 * lossy > trials",
        "trials <= lossy * 2",
        "lossy > trials / 2",
        "share >= 0.5",
        "(2.0 * a) as u32 > b",
    ] {
        assert_eq!(halves(half), 1, "{half}");
    }
    for other in ["2 * lossy", "lossy > trials", "1.0 * a > b", "half + 0.5"] {
        assert_eq!(halves(other), 0, "{other}");
    }
}

fn is_free(value: f64) -> bool {
    let is_power_of_ten = || {
        let exponent = value.log10().round();
        // Both are the nearest float to the same decimal number.
        format!("1e{exponent}").parse::<f64>().is_ok_and(|power| power == value)
    };
    FREE.contains(&value) || value > 0.0 && is_power_of_ten()
}
