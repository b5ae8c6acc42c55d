//! The query of a request: names and values.

use std::collections::HashMap;

use sapwood::{Error, Result};

/// More bytes than any page asks with.
const MOST_BYTES: usize = 32 << 10;

/// The query of a request.
#[derive(Debug, Default)]
pub(super) struct PageQuery(HashMap<String, String>);

impl PageQuery {
    /// Reads `name=value&...`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.len() > MOST_BYTES {
            return Err(Error::limit("a request is too long", MOST_BYTES as u64, text.len() as u64));
        }
        let mut found = HashMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            found.insert(decoded(name)?, decoded(value)?);
        }
        Ok(Self(found))
    }

    /// These names and values.
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// A value; empty where it was not given.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A number; `usual` where it was not given.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str, usual: T) -> Result<T> {
        match self.text(name) {
            "" => Ok(usual),
            text => text.parse().map_err(|_| Error::mismatch(format!("{name} is no number: {text:?}"))),
        }
    }

    /// Whether a value was given, and is not 0.
    pub(super) fn flag(&self, name: &str) -> bool {
        !matches!(self.text(name), "" | "0")
    }
}

fn decoded(text: &str) -> Result<String> {
    let wrong = || Error::mismatch(format!("{text:?} is no text with percent signs"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                match (digit(), digit()) {
                    (Some(high), Some(low)) => (16 * high + low) as u8,
                    _ => return Err(wrong()),
                }
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        let query = PageQuery::parse("path=a%2Fb%3B1&cut=x+%3E+%C3%A9&&flag=1&none").unwrap();
        assert_eq!((query.text("path"), query.text("cut"), query.text("other")), ("a/b;1", "x > é", ""));
        assert!(query.flag("flag") && !query.flag("none"));
        assert_eq!(query.number("flag", 7).unwrap(), 1);
        assert_eq!(query.number("other", 7).unwrap(), 7);
        for wrong in ["a=%2", "a=%zz", "a=%ff"] {
            assert!(PageQuery::parse(wrong).is_err(), "{wrong}");
        }
        assert!(query.number::<u64>("cut", 0).is_err());
        assert!(PageQuery::parse(&"a".repeat(1 << 16)).is_err());
    }
}
