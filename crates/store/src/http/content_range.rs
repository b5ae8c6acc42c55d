//! The header `Content-Range`: which bytes of a file an answer, or a part of one, holds.

use std::ops::Range;

/// What a `Content-Range` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// The bytes that follow; none where the server could give none (`bytes */100`).
    pub(crate) range: Option<Range<u64>>,
    /// Length of the whole file, where the server knows it.
    pub(crate) total: Option<u64>,
}

impl ContentRange {
    /// Takes the value of a header apart. None where it is malformed.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let value = std::str::from_utf8(value).ok()?.trim();
        let (unit, rest) = value.split_at_checked(5)?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        let (range, total) = rest.split_once('/')?;
        let total = match total.trim() {
            "*" => None,
            digits => Some(number(digits)?),
        };
        let range = match range.trim() {
            "*" => None,
            range => {
                let (first, last) = range.split_once('-')?;
                let (start, end) = (number(first.trim())?, number(last.trim())?.checked_add(1)?);
                if start >= end || total.is_some_and(|total| end > total) {
                    return None;
                }
                Some(start..end)
            }
        };
        Some(Self { range, total })
    }
}

/// Digits alone: no sign, as `str::parse` would take.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_write_is_understood() {
        let parse = |text: &str| ContentRange::parse(text.as_bytes()).map(|found| (found.range, found.total));
        assert_eq!(parse("bytes 0-9/100"), Some((Some(0..10), Some(100))));
        assert_eq!(parse(" Bytes  5-5/* "), Some((Some(5..6), None)));
        assert_eq!(parse("bytes=0-9/100"), Some((Some(0..10), Some(100))));
        assert_eq!(parse("bytes */0"), Some((None, Some(0))));
        assert_eq!(parse("bytes */*"), Some((None, None)));
    }

    #[test]
    fn malformed_values_are_refused() {
        let wrong = [
            "",
            "bytes",
            "bytes ",
            "bytes 0-9",
            "bytes 9-0/10",
            "bytes 0-10/10",
            "bytes -1-5/10",
            "bytes +1-5/10",
            "items 0-9/10",
            "bytes 0-9/x",
            "bytes 0-18446744073709551615/*",
            "bytes 0-99999999999999999999/*",
            "bytes a-b/c",
            "byté 0-1/2",
        ];
        for text in wrong {
            assert_eq!(ContentRange::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(ContentRange::parse(&[0xFF; 20]), None);
    }
}
