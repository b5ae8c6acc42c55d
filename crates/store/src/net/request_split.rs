//! Splits missing ranges into requests; pure.

use sapwood::io::ByteRange;

/// A range that is at least so long goes alone: a vector would bring nothing but a copy on the server.
const ALONE_BYTES: u64 = 512 << 10;
/// The most bytes of one request: more are asked for one behind the other, without waiting.
pub(crate) const REQUEST_BYTES: u64 = 4 << 20;

/// What one request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    One(ByteRange),
    /// More than one.
    Many(Vec<ByteRange>),
}

impl Ask {
    /// All of it.
    pub(crate) fn ranges(&self) -> &[ByteRange] {
        match self {
            Self::One(range) => std::slice::from_ref(range),
            Self::Many(ranges) => ranges,
        }
    }
}

/// Cuts ranges into requests, in their order, for a server that takes vectors of so many ranges of so many bytes.
pub(crate) fn requests(missing: &[ByteRange], most_ranges: usize, range_bytes: u64) -> Vec<Ask> {
    let vectors = most_ranges > 1 && range_bytes > 0;
    let (mut found, mut open, mut open_bytes) = (Vec::new(), Vec::new(), 0);
    for range in missing {
        let mut start = range.start;
        let alone = !vectors || range.end.saturating_sub(range.start) >= ALONE_BYTES;
        let step = if alone { REQUEST_BYTES } else { range_bytes };
        while start < range.end {
            let part = start..range.end.min(start.saturating_add(step));
            start = part.end;
            if alone {
                found.push(Ask::One(part));
                continue;
            }
            let bytes = part.end - part.start;
            if open.len() >= most_ranges || open_bytes + bytes > REQUEST_BYTES {
                close(&mut open, &mut found);
                open_bytes = 0;
            }
            open_bytes += bytes;
            open.push(part);
        }
    }
    close(&mut open, &mut found);
    found
}

fn close(open: &mut Vec<ByteRange>, found: &mut Vec<Ask>) {
    match &open[..] {
        [] => {}
        [one] => found.push(Ask::One(one.clone())),
        _ => found.push(Ask::Many(std::mem::take(open))),
    }
    open.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ranges_go_together_and_large_ones_alone() {
        let large = 10_000_000..15_000_000;
        let missing = [0..10, 20..30, large.clone(), 20_000_000..20_000_005];
        let found = requests(&missing, 1024, 2_097_136);
        let many = Ask::Many(vec![0..10, 20..30, 20_000_000..20_000_005]);
        assert_eq!(found, [Ask::One(10_000_000..14_194_304), Ask::One(14_194_304..large.end), many]);
        assert_eq!(requests(&[5..6], 1024, 100), [Ask::One(5..6)]);
        assert_eq!(requests(&[], 1024, 100), []);
    }

    #[test]
    fn limits_are_kept_and_nothing_is_lost() {
        let missing: Vec<ByteRange> = (0..3_000_u64).map(|i| i * 100_000..i * 100_000 + 1 + i * 7 % 9_000).collect();
        for (most_ranges, range_bytes) in [(1024, 2_097_136), (16, 1_000), (2, 1), (1, 5_000), (0, 0)] {
            let missing = if range_bytes == 1 { &missing[..10] } else { &missing[..] };
            let found = requests(missing, most_ranges, range_bytes);
            let mut joined: Vec<ByteRange> = Vec::new();
            for ask in &found {
                if let Ask::Many(ranges) = ask {
                    assert!(ranges.len() <= most_ranges && ranges.len() > 1);
                    assert!(ranges.iter().all(|range| range.end - range.start <= range_bytes));
                    assert!(ranges.iter().map(|range| range.end - range.start).sum::<u64>() <= REQUEST_BYTES);
                }
                for range in ask.ranges() {
                    match joined.last_mut() {
                        Some(last) if last.end == range.start => last.end = range.end,
                        _ => joined.push(range.clone()),
                    }
                }
            }
            assert_eq!(joined, missing, "{most_ranges} {range_bytes}");
        }
    }
}
