//! Merges many small ranges into a few requests; decides when reading a gap is worth it. Pure: no I/O.

use std::ops::Range;

use super::{ByteRange, Profile};

/// No gap larger than this is read, whatever link was measured: a wrong measurement must not double the bytes read.
const MOST_GAP_BYTES: u64 = 1 << 20;

/// The caller's number for something wanted.
pub type PieceId = u64;

/// Wanted bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// The caller's number; need not be unique.
    pub id: PieceId,
    /// Where the bytes are.
    pub range: ByteRange,
    /// When they are needed: lower is earlier. The first entry of a basket, for instance.
    pub first_entry: u64,
}

/// Where in the ranges of a request the bytes of a [`Want`] are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the want.
    pub id: PieceId,
    /// Index of the range.
    pub range: usize,
    /// Place in the bytes of that range.
    pub place: Range<usize>,
}

/// A request to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to read: sorted, disjoint ranges.
    pub ranges: Vec<ByteRange>,
    /// The wants whose bytes these are, in the order of their ranges.
    pub pieces: Vec<Piece>,
    /// The lowest first entry of all pieces.
    pub first_entry: u64,
}

impl Request {
    /// How much is read, gaps included.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end.saturating_sub(range.start)))
    }
}

/// Ranges of which those that touch each other are one.
pub(crate) fn runs(ranges: &[ByteRange]) -> Vec<ByteRange> {
    let mut runs: Vec<ByteRange> = Vec::new();
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        match runs.last_mut().filter(|run| run.end == range.start) {
            Some(run) => run.end = range.end,
            None => runs.push(range.clone()),
        }
    }
    runs
}

/// Merges wanted bytes into requests, in the order in which they are needed.
///
/// Two ranges are merged if reading the gap costs less than another range: a range costs a round trip, or its share of
/// one where a request carries several, and several requests are on their way at a time. A request is closed at
/// `request_bytes` and at `ranges`. Nothing that is wanted is ever cut, so that one alone may be larger. Every want is
/// in exactly one request; equal and overlapping ones share their bytes.
///
/// # Example
///
/// ```
/// use sapwood::io::{Profile, Want, coalesce};
/// let (latency_ns, bandwidth_bytes) = (1_000_000, 100_000_000);
/// let profile = Profile { latency_ns, bandwidth_bytes, request_bytes: 4 << 20, ranges: 100, parallel: 1 };
/// let wants: Vec<Want> = [900..1_000, 0..100, 1_000_000..1_000_500]
///     .into_iter()
///     .zip(0..)
///     .map(|(range, id)| Want { id, range, first_entry: id * 10 })
///     .collect();
/// let requests = coalesce(&wants, &profile);
/// assert_eq!(requests.len(), 1); // one round trip
/// assert_eq!(requests[0].ranges, [0..1_000, 1_000_000..1_000_500]); // 1 ms / 100 is worth a gap of 1,000 bytes
/// assert_eq!(requests[0].pieces[1].place, 900..1_000);
/// ```
pub fn coalesce(wants: &[Want], profile: &Profile) -> Vec<Request> {
    let gap_bytes = gap_bytes(profile);
    let mut order: Vec<&Want> = wants.iter().collect();
    order.sort_by_key(|want| (want.range.start, want.range.end));

    let mut requests: Vec<Request> = Vec::new();
    let mut request_bytes = 0_u64;
    for want in order {
        // The store refuses ranges that end before their start; here they count as empty.
        let Range { start, end } = want.range;
        let grown = requests.last_mut().and_then(|request| request.ranges.last_mut()).and_then(|last| {
            let more = end.max(last.end) - last.end;
            let near = start.saturating_sub(last.end) <= gap_bytes && start <= end;
            let full = more > 0 && request_bytes.saturating_add(more) > profile.request_bytes;
            // Contained ranges are free, however full the request is. Overlapping ones are read again by the next
            // request: cutting it would put one want into two requests.
            (near && !full).then(|| {
                last.end += more;
                request_bytes += more;
                last.start
            })
        });
        let range_start = grown.unwrap_or_else(|| {
            let bytes = end.saturating_sub(start);
            let open = requests.last().is_some_and(|request| {
                request.ranges.len() < profile.ranges
                    && request_bytes.saturating_add(bytes) <= profile.request_bytes
                    && request.ranges.last().is_none_or(|last| last.end <= start)
            });
            if !open {
                requests.push(Request { ranges: Vec::new(), pieces: Vec::new(), first_entry: u64::MAX });
                request_bytes = 0;
            }
            request_bytes = request_bytes.saturating_add(bytes);
            if let Some(request) = requests.last_mut() {
                request.ranges.push(start..end);
            }
            start
        });
        if let Some(request) = requests.last_mut() {
            let place = index(start - range_start)..index(end.max(start) - range_start);
            request.pieces.push(Piece { id: want.id, range: request.ranges.len() - 1, place });
            request.first_entry = request.first_entry.min(want.first_entry);
        }
    }
    requests.sort_by_key(|request| request.first_entry);
    requests
}

/// The longest gap that is cheaper to read than to leave out.
fn gap_bytes(profile: &Profile) -> u64 {
    let trip_bytes = u128::from(profile.latency_ns) * u128::from(profile.bandwidth_bytes) / 1_000_000_000;
    let share_bytes = trip_bytes / (profile.ranges.max(1) as u128 * profile.parallel.max(1) as u128);
    u64::try_from(share_bytes).unwrap_or(u64::MAX).min(MOST_GAP_BYTES).min(profile.request_bytes)
}

fn index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gap of 100 bytes is worth a range; 1,000 bytes or 4 ranges close a request.
    const SMALL: Profile =
        Profile { latency_ns: 400, bandwidth_bytes: 1_000_000_000, request_bytes: 1_000, ranges: 4, parallel: 1 };

    fn wants(ranges: &[ByteRange]) -> Vec<Want> {
        ranges.iter().cloned().zip(0..).map(|(range, id)| Want { id, range, first_entry: id }).collect()
    }

    /// `first entry: ranges | id@range[place]...` a line.
    fn shown(wants: &[Want], profile: &Profile) -> String {
        let mut text = String::new();
        for request in coalesce(wants, profile) {
            text += &format!("{}: {:?} |", request.first_entry, request.ranges);
            for Piece { id, range, place } in request.pieces {
                text += &format!(" {id}@{range}[{place:?}]");
            }
            text += "\n";
        }
        text
    }

    /// Six of thirty branches in 2,000 clusters of small baskets, over links of different kinds.
    #[test]
    fn gaps_are_left_out_where_the_link_is_slow_and_read_where_round_trips_are_long() {
        let baskets = (0..2_000_u64).flat_map(|cluster| (0..6).map(move |branch| 30 * cluster + 5 * branch));
        let wants: Vec<Want> = baskets
            .map(|place| Want { id: place, range: 600 * place..600 * place + 600, first_entry: place })
            .collect();
        let read = |latency_ms: u64, bandwidth_bytes: u64| {
            let latency_ns = latency_ms * 1_000_000;
            let profile = Profile { latency_ns, bandwidth_bytes, request_bytes: 16 << 20, ranges: 200, parallel: 8 };
            let requests = coalesce(&wants, &profile);
            (requests.len(), requests.iter().map(Request::bytes).sum::<u64>())
        };
        let (wanted, all) = (12_000 * 600, 59_996 * 600);
        assert_eq!(read(2, 1_250_000), (60, wanted));
        assert_eq!(read(22, 12_500_000), (60, wanted));
        // But where a request is full, before its last range and behind it.
        assert_eq!(read(240, 1_250_000_000), (3, all - 2 * 2 * 4 * 600));
    }

    #[test]
    fn the_gap_is_the_price_of_a_range() {
        assert_eq!(gap_bytes(&SMALL), 100);
        assert_eq!(gap_bytes(&Profile { ranges: 1, ..SMALL }), 400);
        assert_eq!(gap_bytes(&Profile { parallel: 2, ..SMALL }), 50);
        assert_eq!(gap_bytes(&Profile { latency_ns: u64::MAX, bandwidth_bytes: u64::MAX, ranges: 0, ..SMALL }), 1_000);
        let far = Profile { latency_ns: 50_000_000, request_bytes: 16 << 20, ranges: 1, ..SMALL };
        assert_eq!(gap_bytes(&far), MOST_GAP_BYTES);
    }

    #[test]
    fn near_ranges_merge_and_far_ones_do_not() {
        let ranges = [0..10, 110..120, 221..230, 230..240];
        assert_eq!(
            shown(&wants(&ranges), &SMALL),
            "0: [0..120, 221..240] | 0@0[0..10] 1@0[110..120] 2@1[0..9] 3@1[9..19]\n"
        );
    }

    #[test]
    fn order_does_not_matter_but_for_the_first_entry() {
        let ranges = [600..700, 0..100, 550..580];
        assert_eq!(shown(&wants(&ranges), &SMALL), "0: [0..100, 550..700] | 1@0[0..100] 2@1[0..30] 0@1[50..150]\n");
    }

    #[test]
    fn equal_and_overlapping_ranges_share_their_bytes() {
        let ranges = [0..100, 0..100, 50..150, 20..30, 30..30];
        assert_eq!(
            shown(&wants(&ranges), &SMALL),
            "0: [0..150] | 0@0[0..100] 1@0[0..100] 3@0[20..30] 4@0[30..30] 2@0[50..150]\n"
        );
    }

    #[test]
    fn requests_are_closed_by_bytes() {
        let ranges = [0..400, 400..800, 800..1_200, 1_200..1_300];
        assert_eq!(
            shown(&wants(&ranges), &SMALL),
            "0: [0..800] | 0@0[0..400] 1@0[400..800]\n2: [800..1300] | 2@0[0..400] 3@0[400..500]\n"
        );
    }

    #[test]
    fn requests_are_closed_by_ranges() {
        let ranges = [0..1, 1_000..1_001, 2_000..2_001, 3_000..3_001, 4_000..4_001];
        assert_eq!(
            shown(&wants(&ranges), &SMALL),
            "0: [0..1, 1000..1001, 2000..2001, 3000..3001] | 0@0[0..1] 1@1[0..1] 2@2[0..1] 3@3[0..1]\n\
             4: [4000..4001] | 4@0[0..1]\n"
        );
    }

    #[test]
    fn nothing_is_cut_however_large() {
        let ranges = [0..10, 20..5_000, 5_000..5_010, 100..200, 4_990..5_005];
        assert_eq!(
            shown(&wants(&ranges), &SMALL),
            "0: [0..10] | 0@0[0..10]\n1: [20..5000] | 1@0[0..4980] 3@0[80..180]\n2: [4990..5010] | 4@0[0..15] 2@0[10..20]\n"
        );
    }

    #[test]
    fn what_is_needed_first_comes_first() {
        let ranges = [5_000..5_900, 0..900, 2_000..2_900];
        assert_eq!(
            shown(&wants(&ranges), &SMALL),
            "0: [5000..5900] | 0@0[0..900]\n1: [0..900] | 1@0[0..900]\n2: [2000..2900] | 2@0[0..900]\n"
        );
    }

    #[test]
    fn odd_input_is_passed_on_whole() {
        assert_eq!(shown(&[], &SMALL), "");
        #[expect(clippy::reversed_empty_ranges, reason = "what a damaged file may hold")]
        let ranges = [10..5, u64::MAX - 1..u64::MAX, 7..7];
        assert_eq!(
            shown(&wants(&ranges), &SMALL),
            "0: [7..7, 10..5, 18446744073709551614..18446744073709551615] | 2@0[0..0] 0@1[0..0] 1@2[0..1]\n"
        );
        let closed = Profile { request_bytes: 0, ranges: 0, ..SMALL };
        assert_eq!(shown(&wants(&[0..1, 1..2]), &closed), "0: [0..1] | 0@0[0..1]\n1: [1..2] | 1@0[0..1]\n");
    }

    #[test]
    fn every_want_is_where_its_piece_says() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..500 {
            let count = next(40);
            let mut range = |_| {
                let start = next(5_000);
                start..start + next(700)
            };
            let ranges: Vec<_> = (0..count).map(&mut range).collect();
            let wants = wants(&ranges);
            let requests = coalesce(&wants, &SMALL);
            let mut met = vec![0; wants.len()];
            for request in &requests {
                assert!(request.ranges.len() <= 4);
                assert!(request.ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
                let alone = request.pieces.iter().map(|piece| piece.place.len() as u64).max().unwrap();
                assert!(request.bytes() <= 1_000.max(alone));
                for piece in &request.pieces {
                    let start = request.ranges[piece.range].start + piece.place.start as u64;
                    assert_eq!(start..start + piece.place.len() as u64, wants[piece.id as usize].range);
                    assert!(
                        piece.place.end as u64 <= request.ranges[piece.range].end - request.ranges[piece.range].start
                    );
                    met[piece.id as usize] += 1;
                }
            }
            assert!(met.iter().all(|times| *times == 1));
        }
    }
}
