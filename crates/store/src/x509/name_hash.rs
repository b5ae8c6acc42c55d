//! The hash by which files of authorities are named in folders (`5ed36f00.0`): of the name in canonical form.
//!
//! Source: `X509_NAME_hash` of OpenSSL since 1.0: strings in UTF-8 and lower case with single blanks, SHA-1, the first
//! four bytes as a number.

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::Any;
use x509_cert::der::{Encode, Result, Tag, Tagged};
use x509_cert::name::{Name, RelativeDistinguishedName};

/// The hash in eight digits.
pub(super) fn name_hash(name: &Name) -> Result<String> {
    let mut bytes = Vec::new();
    for part in name.iter_rdn() {
        let mut made = RelativeDistinguishedName::default();
        for one in part.iter() {
            made.insert(AttributeTypeAndValue { oid: one.oid, value: canonical(&one.value)? })?;
        }
        made.encode_to_vec(&mut bytes)?;
    }
    let sum = digest(&SHA1_FOR_LEGACY_USE_ONLY, &bytes);
    let first = sum.as_ref().first_chunk::<4>().map_or(0, |first| u32::from_le_bytes(*first));
    Ok(format!("{first:08x}"))
}

/// A string in canonical form; values of other types are kept.
fn canonical(value: &Any) -> Result<Any> {
    let bytes = value.value();
    let text = match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::VisibleString => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        Tag::TeletexString => bytes.iter().copied().map(char::from).collect(),
        Tag::BmpString => {
            let units = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair));
            char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        _ => return Ok(value.clone()),
    };
    let words: Vec<&str> =
        text.split([' ', '\t', '\n', '\x0B', '\x0C', '\r']).filter(|word| !word.is_empty()).collect();
    Any::new(Tag::Utf8String, words.join(" ").to_ascii_lowercase().into_bytes())
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn hashes_are_those_of_openssl() {
        // openssl x509 -noout -subject_hash, of certificates with these names.
        for (name, hash) in [
            ("CN=Test CA,DC=sapwood,DC=org", "9ace7438"),
            ("CN=CERN Grid Certification Authority,O=CERN  Lab,C=CH", "1d31bf2b"),
            ("CN=Ä b,OU=x,O=Größe,C=DE", "b0ec2562"),
        ] {
            assert_eq!(name_hash(&Name::from_str(name).unwrap()).unwrap(), hash, "{name}");
        }
    }

    #[test]
    fn strings_are_compared_without_case_and_blanks() {
        let of = |tag, bytes: &[u8]| canonical(&Any::new(tag, bytes).unwrap()).unwrap();
        let made = of(Tag::PrintableString, b"  A  b C ");
        assert_eq!((made.tag(), made.value()), (Tag::Utf8String, &b"a b c"[..]));
        assert_eq!(of(Tag::BmpString, b"\0A\0\xE9").value(), "a\u{e9}".as_bytes());
        assert_eq!(of(Tag::TeletexString, b"A\xE9").value(), "a\u{e9}".as_bytes());
        let bits = of(Tag::Integer, b"\x05");
        assert_eq!((bits.tag(), bits.value()), (Tag::Integer, &b"\x05"[..]));
    }
}
