//! Functions that read a part of a set-up from text, or look into its text.

use std::collections::BTreeMap;

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{ExprMethodCall, ImplItemFn, ItemFn};

use crate::files;

/// Crates in which set-ups travel.
const CRATES: [&str; 10] = [
    "capbench-model",
    "capbench-judge",
    "capbench-plan",
    "capbench-lab",
    "capbench-agent",
    "capbench-results",
    "capbench-report",
    "capbench-reproduce",
    "capbench-dataset",
    "capbench",
];

/// Types of the parts of a set-up.
const PARTS: [&str; 7] =
    ["MethodSpec", "TransmitSpec", "WorkPlan", "WorkModel", "Work", "PlacementChoice", "PlacementName"];

/// Names of what holds a part of a set-up.
const HOLDERS: [&str; 6] = ["method", "methods", "placement", "work", "transmit", "traffic"];

/// What takes a text apart.
const APART: [&str; 11] = [
    "split",
    "split_once",
    "rsplit",
    "rsplit_once",
    "strip_prefix",
    "strip_suffix",
    "starts_with",
    "ends_with",
    "trim_start_matches",
    "trim_end_matches",
    "find",
];

/// By `file:function`.
pub fn functions() -> BTreeMap<String, ()> {
    let mut found = BTreeMap::new();
    for name in CRATES {
        for source in files::of_crate(name) {
            let mut reads =
                Reads { path: source.path.clone(), function: String::new(), found: BTreeMap::new() };
            source.items.iter().for_each(|item| reads.visit_item(item));
            found.extend(reads.found);
        }
    }
    found
}

struct Reads {
    path: String,
    function: String,
    found: BTreeMap<String, ()>,
}

impl Reads {
    fn within(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.function, name);
        visit(self);
        self.function = outer;
    }

    fn note(&mut self) {
        self.found.insert(format!("{}:{}", self.path, self.function), ());
    }
}

impl<'ast> Visit<'ast> for Reads {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.within(item.sig.ident.to_string(), |reads| visit::visit_item_fn(reads, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.within(item.sig.ident.to_string(), |reads| visit::visit_impl_item_fn(reads, item));
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        // let spec: MethodSpec = text.parse()?
        if let (syn::Pat::Type(pattern), Some(init)) = (&local.pat, &local.init) {
            let is_part = names(&pattern.ty).iter().any(|name| PARTS.contains(&name.as_str()));
            if is_part && names(&init.expr).iter().any(|name| name == "parse") {
                self.note();
            }
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        let turbofish = call.turbofish.as_ref().map(names).unwrap_or_default();
        let is_part = turbofish.iter().any(|name| PARTS.contains(&name.as_str()));
        // The text of a part: the last name before the call, a conversion to text not counted.
        let holder = names(&call.receiver);
        let holder =
            holder.iter().rev().find(|name| !["as_str", "to_string", "as_deref"].contains(&name.as_str()));
        let is_holder = holder.is_some_and(|name| HOLDERS.contains(&name.as_str()));
        let looks_for_text =
            method != "find" || !call.args.iter().any(|argument| matches!(argument, syn::Expr::Closure(_)));
        if method == "parse" && is_part || APART.contains(&method.as_str()) && is_holder && looks_for_text {
            self.note();
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // str::parse::<MethodSpec>
        let is_parse = path.segments.last().is_some_and(|last| last.ident == "parse");
        if is_parse && names(path).iter().any(|name| PARTS.contains(&name.as_str())) {
            self.note();
        }
        visit::visit_path(self, path);
    }
}

/// The names in a piece of code, in order.
fn names(code: &impl ToTokens) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<TokenTree> = code.to_token_stream().into_iter().collect();
    open.reverse();
    while let Some(token) = open.pop() {
        match token {
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                open.extend(inner.into_iter().rev());
            }
            TokenTree::Ident(name) => found.push(name.to_string()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}
