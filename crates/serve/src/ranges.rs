//! The header `Range`, and what it means for a file of some length.

use sapwood::io::ByteRange;

/// As many as XRootD takes; Apache takes 200.
pub(crate) const MOST: usize = 1024;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The whole file: nothing else was asked for, or in an unknown unit, which is ignored, or more than all of it
    /// twice.
    Whole,
    /// These, in their order.
    Parts(Vec<ByteRange>),
    /// Nothing that the file has.
    Nothing,
    /// More than [`MOST`].
    TooMany,
}

/// Reads the header for a file of `len` bytes.
///
/// Source: RFC 9110, 14.1 and 14.2.
pub(crate) fn wanted(header: &str, len: u64) -> Wanted {
    let Some((unit, list)) = header.split_once('=') else { return Wanted::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    let mut parts = Vec::new();
    let mut count = 0;
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        count += 1;
        if count > MOST {
            return Wanted::TooMany;
        }
        match range(item, len) {
            Some(range) if range.is_empty() => {}
            Some(range) => parts.push(range),
            None => return Wanted::Whole,
        }
    }
    // Ranges that overlap again and again would make one small request cost the file a thousand times.
    let total = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.end - part.start));
    match (count, parts.is_empty()) {
        (0, _) => Wanted::Whole,
        _ if total > len.saturating_mul(2) => Wanted::Whole,
        (_, true) => Wanted::Nothing,
        (_, false) => Wanted::Parts(parts),
    }
}

/// One range; empty where it lies behind the end, none where it is malformed.
fn range(item: &str, len: u64) -> Option<ByteRange> {
    let (first, last) = item.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        return Some(len - number(last)?.min(len)..len);
    }
    let first = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    (last >= first).then(|| first.min(len)..last.saturating_add(1).min(len))
}

/// Digits and nothing else; what has more of them than fit is as much as fits.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        for (header, parts) in [
            ("bytes=0-0", vec![0..1]),
            ("Bytes= 2-5 , 90-, ,-7,99-200", vec![2..6, 90..100, 93..100, 99..100]),
            ("bytes=-200", vec![0..100]),
            ("bytes=5-6,100-,200-300", vec![5..7]),
            ("bytes=0-99999999999999999999999", vec![0..100]),
        ] {
            assert_eq!(wanted(header, 100), Wanted::Parts(parts), "{header}");
        }
        for header in ["bytes=100-", "bytes=-0", "bytes=100-200,300-", "bytes=99999999999999999999999-"] {
            assert_eq!(wanted(header, 100), Wanted::Nothing, "{header}");
        }
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "lines=1-2",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=1-2,x",
            "bytes=+1-2",
            "bytes=-",
        ] {
            assert_eq!(wanted(header, 100), Wanted::Whole, "{header}");
        }
        assert_eq!(wanted("bytes=0-0", 0), Wanted::Nothing);
        assert_eq!(wanted("bytes=0-,0-", 100), Wanted::Parts(vec![0..100, 0..100]));
        assert_eq!(wanted("bytes=0-,0-,5-5", 100), Wanted::Whole);
        assert_eq!(wanted(&format!("bytes={}", "0-0,".repeat(MOST + 1)), 9), Wanted::TooMany);
    }
}
