//! From characters to tokens.

use std::ops::Range;

use super::fault::fault;
use crate::error::Result;

/// What an expression is made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A whole number.
    Whole(u64),
    /// A number with a point or an exponent.
    Fraction(f64),
    /// Text in quotes.
    Text(String),
    /// A name: of a branch, a member, a function. It may hold `::` and end with `$`.
    Name(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// Behind the last token.
    End,
}

/// A token, and the bytes of the expression that it is written with.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) span: Range<usize>,
}

/// Longer ones first, so that `<<` is not read as two times `<`.
const SIGNS: [&str; 36] = [
    "...", "**", "//", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "^", "&", "|", "~",
    "!", "<", ">", "?", ":", "(", ")", "[", "]", ",", ".", "@", "=", ";", "{", "}",
];

/// The tokens of an expression; the last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, len) = if first.is_ascii_digit() || first == '.' && has_digit(rest.as_bytes(), 1) {
            number(text, at, rest)?
        } else if first.is_alphabetic() || first == '_' {
            let len = name_len(rest);
            (Token::Name(rest[..len].to_owned()), len)
        } else if first == '"' || first == '\'' {
            quoted(text, at, rest, first)?
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(fault(text, at, format!("{first:?} has no meaning in an expression")));
        };
        found.push(Placed { token, span: at..at + len });
        at += len;
    }
    found.push(Placed { token: Token::End, span: text.len()..text.len() });
    Ok(found)
}

fn has_digit(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(u8::is_ascii_digit)
}

/// Bytes of the name that a text begins with: `::` joins its parts, and a `$` ends it. A `#` may stand within, as in
/// podio's `Particle#0`.
fn name_len(rest: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut len = 0;
    loop {
        len += rest[len..].chars().take_while(|&c| is_part(c)).map(char::len_utf8).sum::<usize>();
        if rest[len..].strip_prefix('#').and_then(|more| more.chars().next()).is_some_and(is_part) {
            len += 1;
            continue;
        }
        if rest[len..].starts_with('$') {
            return len + 1;
        }
        let follows = rest[len..].strip_prefix("::").and_then(|more| more.chars().next());
        if !follows.is_some_and(|c| c.is_alphabetic() || c == '_') {
            return len;
        }
        len += 2;
    }
}

fn number(text: &str, at: usize, rest: &str) -> Result<(Token, usize)> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'_').count();
    if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        let len = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
        let whole = u64::from_str_radix(&hex[..len], 16);
        let whole = whole.map_err(|_| fault(text, at, "this number does not fit into 64 bits"))?;
        return Ok((Token::Whole(whole), suffixed(text, at, bytes, 2 + len)?));
    }
    let mut len = digits(0);
    let mut is_whole = true;
    if bytes.get(len) == Some(&b'.') && !rest[len..].starts_with("...") {
        is_whole = false;
        len += 1 + digits(len + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(len) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        if has_digit(bytes, len + 1 + sign) {
            is_whole = false;
            len += 1 + sign + digits(len + 1 + sign);
        }
    }
    let written = rest[..len].replace('_', "");
    if is_whole {
        let whole = written.parse().map_err(|_| fault(text, at, "this number does not fit into 64 bits"))?;
        return Ok((Token::Whole(whole), suffixed(text, at, bytes, len)?));
    }
    let fraction = written.parse().map_err(|_| fault(text, at, "this is not a number"))?;
    Ok((Token::Fraction(fraction), suffixed(text, at, bytes, len)?))
}

/// Leaves out C's suffixes of numbers (`3.f`, `10UL`); a name that follows at once is a mistake.
fn suffixed(text: &str, at: usize, bytes: &[u8], len: usize) -> Result<usize> {
    let suffix = bytes[len..].iter().take_while(|byte| b"fFlLuU".contains(byte)).count();
    match bytes.get(len + suffix) {
        Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => {
            Err(fault(text, at + len, "an operator is missing between a number and a name"))
        }
        _ => Ok(len + suffix),
    }
}

fn quoted(text: &str, at: usize, rest: &str, quote: char) -> Result<(Token, usize)> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((place, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => value.push(other),
                None => break,
            },
            _ if character == quote => return Ok((Token::Text(value), place + 1)),
            _ => value.push(character),
        }
    }
    Err(fault(text, at, "the quote that begins here does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Token> {
        let mut found: Vec<Token> = tokens(text).expect(text).into_iter().map(|placed| placed.token).collect();
        assert_eq!(found.pop(), Some(Token::End));
        found
    }

    #[test]
    fn numbers_names_texts_and_signs_are_told_apart() {
        use Token::{Fraction, Name, Sign, Text, Whole};
        let name = |name: &str| Name(name.to_owned());
        assert_eq!(
            of("0x1F 12 1e3 .5 2.f 7UL"),
            [Whole(31), Whole(12), Fraction(1000.0), Fraction(0.5), Fraction(2.0), Whole(7)]
        );
        assert_eq!(of("TMath::Pi Sum$(a_b)"), [name("TMath::Pi"), name("Sum$"), Sign("("), name("a_b"), Sign(")")]);
        assert_eq!(of("x:y"), [name("x"), Sign(":"), name("y")]);
        assert_eq!(of("a<<1<=b"), [name("a"), Sign("<<"), Whole(1), Sign("<="), name("b")]);
        assert_eq!(of(r#""a\"b" 'c'"#), [Text("a\"b".into()), Text("c".into())]);
    }

    #[test]
    fn what_is_no_token_is_shown_with_its_place() {
        for (text, at) in [("x $ y", 2), ("x + 3y", 5), ("\"x", 0), ("99999999999999999999", 0), ("a # b", 2)] {
            let error = tokens(text).expect_err(text).to_string();
            assert!(error.contains(&format!("at character {}", at + 1)), "{text}: {error}");
        }
    }
}
