//! Texts of four words or more in code.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, ExprStruct, Lit, LitStr, Macro};

use crate::files;

/// Crates that make facts and no words.
const CRATES: [&str; 6] = [
    "capbench-statistics",
    "capbench-model",
    "capbench-judge",
    "capbench-plan",
    "capbench-lab",
    "capbench-agent",
];

/// Words from which on a text is a sentence.
const WORDS: usize = 4;

/// Macros whose texts are for those who change the program.
const OF_DEVELOPERS: [&str; 8] =
    ["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "panic", "unreachable", "todo"];

/// Calls whose arguments are errors or are for those who change the program.
const OF_ERRORS: [&str; 5] = ["map_err", "ok_or", "ok_or_else", "expect", "expect_err"];

/// By file, its sentences.
pub fn by_file() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for name in CRATES {
        for source in files::of_crate(name) {
            // The table of thresholds says why each number exists: its documentation.
            if source.path.ends_with("/error.rs") || source.path.ends_with("/thresholds.rs") {
                continue;
            }
            let mut sentences = Sentences::default();
            source.items.iter().for_each(|item| sentences.visit_item(item));
            if !sentences.found.is_empty() {
                found.insert(source.path, sentences.found);
            }
        }
    }
    found
}

#[derive(Default)]
struct Sentences {
    found: Vec<String>,
}

impl Sentences {
    fn note(&mut self, text: &str) {
        if is_sentence(text) {
            self.found.push(text.to_string());
        }
    }

    /// Texts in the arguments of a macro, which are not parsed.
    fn note_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) if is_documentation(&group.stream()) => {}
                TokenTree::Group(group) => self.note_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                        self.note(&text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Sentences {
    fn visit_lit(&mut self, literal: &'ast Lit) {
        if let Lit::Str(text) = literal {
            self.note(&text.value());
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if !OF_DEVELOPERS.contains(&name.as_str()) {
            self.note_tokens(call.tokens.clone());
        }
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if !is_error(&call.func) {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.visit_expr(&call.receiver);
        if !OF_ERRORS.contains(&call.method.to_string().as_str()) {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_expr_struct(&mut self, value: &'ast ExprStruct) {
        if !value.path.segments.iter().any(|segment| segment.ident.to_string().ends_with("Error")) {
            visit::visit_expr_struct(self, value);
        }
    }
}

/// `Err(..)`, or a variant of an error type.
fn is_error(function: &Expr) -> bool {
    let Expr::Path(path) = function else { return false };
    path.path
        .segments
        .iter()
        .any(|segment| segment.ident == "Err" || segment.ident.to_string().ends_with("Error"))
}

/// `doc = ".."` of a comment within a macro.
fn is_documentation(tokens: &TokenStream) -> bool {
    matches!(tokens.clone().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
}

fn is_sentence(text: &str) -> bool {
    let mut depth = 0_u32;
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            other if depth == 0 => plain.push(other),
            _ => {}
        }
    }
    let is_word = |word: &&str| word.chars().filter(|letter| letter.is_alphabetic()).count() > 1;
    plain.split_whitespace().filter(is_word).count() >= WORDS
}
