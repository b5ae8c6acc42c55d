//! From a struct to its implementations.

use proc_macro2::{TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result, Type};

use crate::attributes::{OfClass, OfMember};

/// A member of a struct.
struct Member<'i> {
    ident: &'i Ident,
    kind: &'i Type,
    says: OfMember,
}

/// What is generated for a struct, or what stands against it.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let wrong = |what: &str| {
        Err(Error::new_spanned(&input.ident, format!("Entry is derived for structs with named members, {what}")))
    };
    let fields = match &input.data {
        Data::Enum(_) => return wrong("not for enums: ROOT has no type for them; keep its number as an integer"),
        Data::Union(_) => return wrong("not for unions"),
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unnamed(_) => return wrong("not for tuples: members of C++ classes have names"),
            Fields::Unit => return wrong("and this has none"),
        },
    };
    if !input.generics.params.is_empty() {
        let words = "Entry is not derived for generic structs: each of their types would be another class";
        return Err(Error::new_spanned(&input.generics, words));
    }
    let of_class = OfClass::parse(&input.attrs)?;
    let mut members = Vec::new();
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let says = OfMember::parse(&field.attrs)?;
        if says.counted.is_some() && !is_list_of_numbers(&field.ty) {
            return Err(Error::new_spanned(&field.ty, "`counted` is for a `Vec` of numbers"));
        }
        if !says.skip && holds(&field.ty, &input.ident) {
            return Err(Error::new_spanned(&field.ty, "a class that holds itself cannot be written"));
        }
        members.push(Member { ident, kind: &field.ty, says });
    }
    let (skipped, written): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| member.says.skip);
    let (bases, own): (Vec<_>, Vec<_>) = written.into_iter().partition(|member| member.says.base);
    // Bases stand first, as in C++.
    let stored: Vec<Member<'_>> = bases.into_iter().chain(own).collect();
    if stored.is_empty() {
        return wrong("and this has none that are written");
    }
    Ok(implementations(&input.ident, &of_class, &stored, &skipped))
}

fn implementations(name: &Ident, of_class: &OfClass, stored: &[Member<'_>], skipped: &[Member<'_>]) -> TokenStream {
    let class_name = of_class.class.clone().unwrap_or_else(|| plain(name));
    let version = of_class.version.map(|version| quote!(.with_version(#version)));
    let described = stored.iter().map(|member| {
        let Member { ident, kind, says } = member;
        let was = says.was.iter().map(|was| quote!(.was(#was)));
        let described = if says.base {
            quote_spanned!(kind.span()=> .base(<#kind as ::sapwood::entry::EntryClass>::class()))
        } else {
            let name = says.name.clone().unwrap_or_else(|| plain(ident));
            match &says.counted {
                Some(counter) => {
                    quote_spanned!(kind.span()=> .member(#name, ::sapwood::entry::counted::<#kind>(#counter)))
                }
                None => quote_spanned!(kind.span()=> .member(#name, <#kind as ::sapwood::entry::Entry>::kind())),
            }
        };
        quote!(#described #(#was)*)
    });
    let columns: Vec<Ident> = (0..stored.len()).map(|index| format_ident!("column{index}")).collect();
    let idents: Vec<&Ident> = stored.iter().map(|member| member.ident).collect();
    let kinds: Vec<&Type> = stored.iter().map(|member| member.kind).collect();
    let skips: Vec<&Ident> = skipped.iter().map(|member| member.ident).collect();
    let indices = 0..stored.len();
    let (first, lacking, skipped, absent) = if of_class.default {
        let first = quote!(let default = <Self as ::core::default::Default>::default(););
        let lacking: Vec<TokenStream> = idents.iter().map(|ident| quote!(default.#ident)).collect();
        let skipped = quote!(#(#skips: default.#skips,)*);
        (first, lacking, skipped, quote!(<Self as ::core::default::Default>::default()))
    } else {
        let lacking: Vec<TokenStream> =
            kinds.iter().map(|kind| quote!(<#kind as ::sapwood::entry::Entry>::absent())).collect();
        let skipped = quote!(#(#skips: ::core::default::Default::default(),)*);
        let absent = quote!(Self { #(#idents: #lacking,)* #skipped });
        (quote!(), lacking, skipped, absent)
    };
    quote! {
        #[automatically_derived]
        impl ::sapwood::entry::EntryClass for #name {
            fn class() -> ::std::sync::Arc<::sapwood::write::Class> {
                ::std::sync::Arc::new(::sapwood::write::Class::new(#class_name) #version #(#described)*)
            }
        }

        #[automatically_derived]
        impl ::sapwood::entry::Entry for #name {
            fn kind() -> ::sapwood::write::Type {
                ::sapwood::write::Type::Object(<Self as ::sapwood::entry::EntryClass>::class())
            }

            fn push_to(&self, column: &mut ::sapwood::write::Column) {
                if let ::sapwood::write::Column::Record(len, columns) = column {
                    if let [#(#columns),*] = columns.as_mut_slice() {
                        *len += 1;
                        #(<#kinds as ::sapwood::entry::Entry>::push_to(&self.#idents, #columns);)*
                    }
                }
            }

            fn push_each<'e>(
                values: impl ::core::iter::ExactSizeIterator<Item = &'e Self> + ::core::clone::Clone,
                column: &mut ::sapwood::write::Column,
            ) {
                if let ::sapwood::write::Column::Record(len, columns) = column {
                    if let [#(#columns),*] = columns.as_mut_slice() {
                        *len += ::core::iter::ExactSizeIterator::len(&values);
                        #(<#kinds as ::sapwood::entry::Entry>::push_each(
                            ::core::iter::Iterator::map(::core::clone::Clone::clone(&values), |value| &value.#idents),
                            #columns,
                        );)*
                    }
                }
            }

            fn from_row(column: &::sapwood::write::Column, row: usize) -> ::sapwood::Result<Self> {
                <Self as ::sapwood::entry::Entry>::by_row(column)(row)
            }

            fn by_row(column: &::sapwood::write::Column) -> impl ::core::ops::Fn(usize) -> ::sapwood::Result<Self> {
                let (len, columns) = match column {
                    ::sapwood::write::Column::Record(len, columns) => (*len, columns.as_slice()),
                    _ => (0, ::core::default::Default::default()),
                };
                #(let #columns = ::sapwood::entry::member_by_row::<#kinds>(columns, #indices);)*
                move |row| {
                    if row >= len {
                        return ::core::result::Result::Err(::sapwood::entry::no_row::<Self>(column, row));
                    }
                    #first
                    ::core::result::Result::Ok(Self {
                        #(#idents: match &#columns {
                            ::core::option::Option::Some(value) => value(row)?,
                            ::core::option::Option::None => #lacking,
                        },)*
                        #skipped
                    })
                }
            }

            fn absent() -> Self {
                #absent
            }
        }
    }
}

/// A name without what Rust puts before keywords.
fn plain(ident: &Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// Whether a type names a struct, or `Self`.
fn holds(kind: &Type, name: &Ident) -> bool {
    let mut found = false;
    look(quote!(#kind), &mut |ident| found |= ident == name || ident == "Self");
    found
}

/// Whether a type is a `Vec` of numbers.
fn is_list_of_numbers(kind: &Type) -> bool {
    const NUMBERS: [&str; 10] = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"];
    let text = quote!(#kind).to_string().replace(' ', "");
    let item = text.strip_suffix('>').and_then(|text| text.rsplit_once("Vec<"));
    item.is_some_and(|(before, item)| (before.is_empty() || before.ends_with("::")) && NUMBERS.contains(&item))
}

/// Names that do not stand in a module of their own.
fn look(tokens: TokenStream, each: &mut impl FnMut(&Ident)) {
    let mut is_inside = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(ident) if !is_inside => each(ident),
            TokenTree::Group(group) => look(group.stream(), each),
            _ => {}
        }
        is_inside = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == ':');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the compiler would say of a type.
    fn said(text: &str) -> String {
        let input = syn::parse_str(text).expect("Rust");
        expand(&input).map_or_else(|error| error.to_string(), |tokens| tokens.to_string())
    }

    #[test]
    fn what_no_class_can_be_is_refused_in_words() {
        for (text, words) in [
            ("enum E { A, B }", "not for enums"),
            ("struct S(i32);", "not for tuples"),
            ("struct S;", "this has none"),
            ("union U { a: u8 }", "not for unions"),
            ("struct S { #[entry(skip)] a: u8 }", "none that are written"),
            ("struct S<T> { a: T }", "generic"),
            ("struct S { a: Option<Box<S>> }", "holds itself"),
            ("struct S { a: Vec<Self> }", "holds itself"),
            ("#[entry(version = 0)] struct S { a: u8 }", "1 or more"),
            ("#[entry(class = \"no class\")] struct S { a: u8 }", "no class of C++"),
            ("#[entry(name = \"S\")] struct S { a: u8 }", "of a struct `class`"),
            ("struct S { #[entry(name = \"a b\")] a: u8 }", "no member of C++"),
            ("struct S { #[entry(rename = \"b\")] a: u8 }", "of a member `name`"),
            ("struct S { #[entry(skip, base)] a: u8 }", "what is skipped"),
            ("struct S { #[entry(base, name = \"b\")] a: B }", "name of its class"),
            ("struct S { n: i32, #[entry(counted = \"n\")] a: Vec<String> }", "a `Vec` of numbers"),
            ("struct S { n: i32, #[entry(counted = \"n\")] a: f32 }", "a `Vec` of numbers"),
            ("struct S { n: i32, #[entry(base, counted = \"n\")] a: Vec<f32> }", "a base has no length"),
        ] {
            assert!(said(text).contains(words), "{text}: {}", said(text));
        }
    }

    #[test]
    fn another_class_of_the_same_name_is_another() {
        assert!(said("struct S { a: old::S }").contains("impl"));
    }

    #[test]
    fn bases_stand_first() {
        let said = said("#[entry(class = \"ns::S\")] struct S { r#type: u8, #[entry(base)] base: B }");
        let (base, member) = (said.find(". base (").expect("a base"), said.find("\"type\"").expect("a member"));
        assert!(base < member && said.contains("\"ns::S\""), "{said}");
    }
}
