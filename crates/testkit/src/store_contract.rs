//! What every store must do, as a test that runs on any of them.

use std::thread;

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Flow, Receive, Store};
use sapwood::{ErrorKind, Result};

/// Checks `store`, which holds `content`, against the contract of [`Store`]. The content should not repeat itself, or
/// mixed-up ranges go unnoticed; its length is free.
///
/// # Panics
///
/// With the rule that is broken.
///
/// # Example
///
/// ```
/// use sapwood::io::MemoryStore;
/// use sapwood_testkit::store_contract;
/// let content: Vec<u8> = (0..=255).collect();
/// store_contract::check(&MemoryStore::new("bytes", content.clone()), &content);
/// ```
pub fn check(store: &dyn Store, content: &[u8]) {
    ends_are_right(store, content);
    no_ranges_deliver_nothing(store);
    ranges_arrive_once_and_whole(store, content);
    ranges_outside_are_errors(store, content);
    stops_are_honoured(store, content);
    threads_do_not_disturb_one_another(store, content);
    the_profile_can_be_worked_with(store);
    the_file_behind_it_has_the_same_bytes(store, content);
}

/// Keeps what it gets, and says stop after so many ranges.
struct Basin {
    ranges: Vec<ByteRange>,
    got: Vec<Option<Bytes>>,
    count: usize,
    stop_after: usize,
    stopped: bool,
}

impl Receive for Basin {
    fn buffer(&self, bytes: usize) -> BytesMut {
        let longest = self.ranges.iter().map(|range| range.end.saturating_sub(range.start)).max().unwrap_or(0);
        assert!(bytes as u64 <= longest, "buffers are no longer than what was asked for");
        let mut buffer = BytesMut::zeroed(bytes);
        buffer.fill(0xA5); // recycled memory is not clean
        buffer
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        assert!(self.count < self.stop_after, "nothing comes after a stop");
        let range = self.ranges.get(index).expect("indexes are those of the ranges");
        assert_eq!(bytes.len() as u64, range.end - range.start, "ranges arrive whole");
        assert!(self.got[index].replace(bytes).is_none(), "each range arrives once");
        self.count += 1;
        if self.count < self.stop_after { Flow::Go } else { Flow::Stop }
    }

    fn stopped(&self) -> bool {
        self.stopped
    }
}

fn basin(ranges: &[ByteRange], stop_after: usize) -> Basin {
    Basin { ranges: ranges.to_vec(), got: vec![None; ranges.len()], count: 0, stop_after, stopped: false }
}

fn read(store: &dyn Store, ranges: &[ByteRange]) -> (Result<()>, Basin) {
    let mut basin = basin(ranges, usize::MAX);
    (store.read_ranges(ranges, &mut basin), basin)
}

/// Ranges of all kinds within a store of `length` bytes: overlapping, repeated, empty, in no order.
fn inside(length: u64) -> Vec<ByteRange> {
    let cut = |numerator: u64| length * numerator / 10;
    let mut ranges =
        vec![0..length, cut(5)..cut(9), cut(1)..cut(3), cut(2)..cut(6), cut(1)..cut(3), 0..0, length..length];
    ranges.extend((0..300).map(|i| i * 7_919 % (length + 1)).map(|start| start..length.min(start + 3)));
    ranges
}

fn ends_are_right(store: &dyn Store, content: &[u8]) {
    let length = content.len();
    let lengths = [0, 1, length / 2, length / 2 + 1, length, length + 1, usize::MAX];
    let identity = store.ends(0, 0).expect("a store has ends").identity;
    assert_eq!(identity.len, length as u64, "the identity knows the length");
    for head in lengths {
        for tail in lengths {
            let ends = store.ends(head, tail).expect("a store has ends");
            assert!(ends.head == content[..head.min(length)], "the head has {head} bytes, or all");
            assert!(ends.tail == content[length - tail.min(length)..], "the tail has {tail} bytes, or all");
            assert_eq!(ends.identity, identity, "the identity stays while the bytes do");
        }
    }
}

fn no_ranges_deliver_nothing(store: &dyn Store) {
    let (done, basin) = read(store, &[]);
    done.expect("no ranges are no error");
    assert_eq!(basin.count, 0);
}

fn ranges_arrive_once_and_whole(store: &dyn Store, content: &[u8]) {
    let all = inside(content.len() as u64);
    for ranges in all.iter().map(std::slice::from_ref).take(10).chain([&all[..]]) {
        let (done, basin) = read(store, ranges);
        done.expect("ranges inside can be read");
        for (range, got) in ranges.iter().zip(basin.got) {
            let got = got.unwrap_or_else(|| panic!("{range:?} did not arrive"));
            assert!(got == content[range.start as usize..range.end as usize], "{range:?} has other bytes");
        }
    }
}

#[expect(clippy::reversed_empty_ranges, reason = "what a damaged file may ask for")]
fn ranges_outside_are_errors(store: &dyn Store, content: &[u8]) {
    let length = content.len() as u64;
    let wrong = [0..length + 1, length..length + 1, length + 1..length + 1, 5..4, 0..u64::MAX, u64::MAX..0];
    for range in wrong {
        for ranges in [vec![range.clone()], vec![0..length, range.clone()], vec![range.clone(), 0..length]] {
            let mut basin = basin(&[0..length], usize::MAX); // no buffer may be longer than that
            let error = store.read_ranges(&ranges, &mut basin).expect_err("ranges outside are errors");
            assert_eq!(error.kind(), ErrorKind::Malformed, "{range:?}: {error}");
            assert_eq!(basin.count, 0, "nothing arrives if one of the ranges is wrong");
        }
    }
}

fn stops_are_honoured(store: &dyn Store, content: &[u8]) {
    let ranges = inside(content.len() as u64);
    for stop_after in [1, 2, 100] {
        let mut basin = basin(&ranges, stop_after);
        let error = store.read_ranges(&ranges, &mut basin).expect_err("a stop is an error");
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert_eq!(basin.count, stop_after);
    }
    let mut basin = basin(&ranges, usize::MAX);
    basin.stopped = true;
    let error = store.read_ranges(&ranges, &mut basin).expect_err("a receiver that has stopped is an error");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(basin.count < ranges.len());
}

fn threads_do_not_disturb_one_another(store: &dyn Store, content: &[u8]) {
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| ranges_arrive_once_and_whole(store, content));
        }
    });
}

fn the_profile_can_be_worked_with(store: &dyn Store) {
    let profile = store.profile();
    assert!(profile.bandwidth_bytes > 0 && profile.request_bytes > 0, "{profile:?}");
    assert!(profile.ranges > 0 && profile.parallel > 0, "{profile:?}");
}

fn the_file_behind_it_has_the_same_bytes(store: &dyn Store, content: &[u8]) {
    if let Some(file) = store.as_file() {
        let length = file.metadata().expect("an open file has metadata").len();
        assert_eq!(length, content.len() as u64, "a store that hides a part of its file must not show the file");
    }
}
