//! What serde is told about a type, a variant or a member, and how they are documented.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Token};

/// The attributes that decide what is written. Others, of which none may change that, are refused.
#[derive(Clone, Debug, Default)]
pub struct Serde {
    /// Another name.
    pub rename: Option<String>,
    /// How all names within are written.
    pub rename_all: Option<String>,
    /// The member that names the variant.
    pub tag: Option<String>,
    /// Whether nothing names the variant.
    pub untagged: bool,
    /// Whether it can be missing from what earlier versions wrote.
    pub default: bool,
    /// Whether it is never written.
    pub skip: bool,
    /// When it is left out.
    pub skip_serializing_if: Option<String>,
    /// Whether its members stand in its place.
    pub flatten: bool,
    /// Who writes it.
    pub with: Option<String>,
    /// The type that it is written as.
    pub into: Option<String>,
    /// Names that earlier versions gave it.
    pub aliases: Vec<String>,
}

impl Serde {
    /// # Panics
    /// At an attribute that is not known here.
    pub fn of(attributes: &[Attribute]) -> Self {
        let mut serde = Self::default();
        for attribute in named("serde", attributes) {
            attribute.parse_nested_meta(|meta| serde.note(&meta)).unwrap();
        }
        serde
    }

    fn note(&mut self, meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<()> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let text = || -> syn::Result<String> { Ok(meta.value()?.parse::<LitStr>()?.value()) };
        match name.as_str() {
            "rename" => self.rename = Some(text()?),
            "rename_all" => self.rename_all = Some(text()?),
            "tag" => self.tag = Some(text()?),
            "untagged" => self.untagged = true,
            "default" => {
                self.default = true;
                if meta.input.peek(syn::Token![=]) {
                    text()?;
                }
            }
            "skip" => self.skip = true,
            "skip_serializing_if" => self.skip_serializing_if = Some(text()?),
            "flatten" => self.flatten = true,
            "with" | "serialize_with" => self.with = Some(text()?),
            "into" => self.into = Some(text()?),
            "alias" => self.aliases.push(text()?),
            // How it is read, and newtypes, which are written as what they hold in any case.
            "try_from" | "from" | "deserialize_with" => drop(text()?),
            "deny_unknown_fields" | "transparent" => {}
            other => panic!("what does serde write with {other}? The schema has to know"),
        }
        Ok(())
    }
}

/// The attributes of a name, also those of crates in which serde is a feature: `cfg_attr(feature = "serde", ...)`.
fn named(name: &str, attributes: &[Attribute]) -> Vec<Attribute> {
    let within = |attribute: &Attribute| {
        if !attribute.path().is_ident("cfg_attr") {
            return vec![attribute.clone()];
        }
        let parts = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap();
        parts.into_iter().skip(1).map(|meta| Attribute { meta, ..attribute.clone() }).collect()
    };
    attributes.iter().flat_map(within).filter(|attribute| attribute.path().is_ident(name)).collect()
}

/// Whether serde writes a type by itself.
pub fn is_written(attributes: &[Attribute]) -> bool {
    named("derive", attributes).iter().any(|attribute| {
        let mut found = false;
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| last.ident == "Serialize");
            Ok(())
        });
        found
    })
}

/// The documentation as running text. Links within it lead nowhere outside the source and become names.
pub fn description(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let text = lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
    let text = text.replace("[`", "`").replace("`]", "`").replace("`Self::", "`");
    text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// A name as serde writes it.
pub fn renamed(name: &str, rule: Option<&str>) -> String {
    let separated = |separator: char| {
        let mut text = String::new();
        for (position, letter) in name.char_indices() {
            if letter.is_uppercase() && position > 0 {
                text.push(separator);
            }
            text.extend(letter.to_lowercase());
        }
        text
    };
    match rule {
        None => name.to_owned(),
        Some("snake_case") => separated('_'),
        Some("kebab-case") => separated('-').replace('_', "-"),
        Some("lowercase") => name.to_lowercase(),
        Some(other) => panic!("how are names written in {other}? The schema has to know"),
    }
}
