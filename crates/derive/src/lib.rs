//! `#[derive(Entry)]`: structs as C++ classes of ROOT files. It is documented at `sapwood::Entry`.

#![forbid(unsafe_code)]

mod attributes;
mod expand;

/// Implements `sapwood::Entry` and `sapwood::entry::EntryClass` for a struct of named members.
#[proc_macro_derive(Entry, attributes(entry))]
pub fn entry(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
