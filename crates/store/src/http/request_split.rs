//! Splits missing ranges into requests; pure.

use std::fmt::Write;

use sapwood::io::ByteRange;

/// The most bytes of a `Range` header: servers refuse requests with more than 8 kB of headers, all in all.
const HEADER_BYTES: usize = 6_000;

/// Cuts ranges into batches of at most so many ranges and bytes. Ranges that are longer alone are cut.
pub(crate) fn batches(missing: &[ByteRange], most_ranges: usize, most_bytes: u64) -> Vec<Vec<ByteRange>> {
    let (most_ranges, most_bytes) = (most_ranges.max(1), most_bytes.max(1));
    let mut found: Vec<Vec<ByteRange>> = Vec::new();
    let (mut bytes, mut header) = (0, 0);
    for range in missing {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start.saturating_add(most_bytes));
            let width = digits(start) + digits(end) + 2;
            let open = found.last().is_some_and(|batch| {
                batch.len() < most_ranges && bytes + (end - start) <= most_bytes && header + width <= HEADER_BYTES
            });
            if !open {
                found.push(Vec::new());
                (bytes, header) = (0, 0);
            }
            (bytes, header) = (bytes + (end - start), header + width);
            if let Some(batch) = found.last_mut() {
                batch.push(start..end);
            }
            start = end;
        }
    }
    found
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The value of the header `Range` for ranges that are not empty.
pub(crate) fn header(ranges: &[ByteRange]) -> String {
    let mut text = String::from("bytes=");
    for (place, range) in ranges.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{}-{}", range.start, range.end.saturating_sub(1)); // to memory: cannot fail
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_to_all_bounds_and_lose_nothing() {
        let missing: Vec<ByteRange> = (0..1_000_u64).map(|i| (i * 1_000)..(i * 1_000 + 10)).collect();
        let found = batches(&missing, 200, 1 << 20);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [200; 5]);
        assert_eq!(found.concat(), missing);
        let far: Vec<ByteRange> = (0..200_u64).map(|i| u64::MAX - 1_000 + i * 2..u64::MAX - 999 + i * 2).collect();
        let found = batches(&far, 200, 1 << 20);
        assert!(found.iter().all(|batch| header(batch).len() <= HEADER_BYTES + 6));
        assert_eq!((found.len(), found.concat()), (2, far));
        assert_eq!(batches(&[0..25], 200, 10), [[0..10], [10..20], [20..25]]);
        assert!(batches(&[], 0, 0).is_empty());
    }

    #[test]
    fn the_header_names_first_and_last_bytes() {
        assert_eq!(header(&[0..10, 20..21]), "bytes=0-9,20-20");
    }
}
