//! The derive that `capbench-schema` has where no schema is needed.

#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// Adds nothing to the type.
#[proc_macro_derive(JsonSchema, attributes(schemars, serde))]
pub fn nothing(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
