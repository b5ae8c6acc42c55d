//! The order of shuffled rows, which a number determines.
//!
//! Each row goes to a bucket at random, and the rows of each bucket are shuffled: all orders are equally likely then,
//! and neither step touches more memory than the processor's cache holds.
//!
//! Source: Rao (1961) and Sandelius (1962) for the order; Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators" (2014) for the numbers.

use std::ops::Range;

/// Buckets of many rows.
pub(super) const BUCKETS: usize = 256;
/// Fewer rows than this have a single bucket.
const BUCKETED_ROWS: usize = 1 << 14;
/// Bits of a bucket's number, and how many of these numbers a random number holds.
const BITS: u32 = BUCKETS.trailing_zeros();
const PER_NUMBER: usize = (u64::BITS / BITS) as usize;
/// The odd number next to 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The shuffled order of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shuffle {
    seed: u64,
    /// All rows.
    pub(super) rows: usize,
}

/// Random numbers that follow from their place alone.
fn random(seed: u64, place: u64) -> u64 {
    let mut value = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(GOLDEN));
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

impl Shuffle {
    pub(super) fn new(seed: u64, rows: usize) -> Self {
        Self { seed, rows }
    }

    pub(super) fn buckets(self) -> usize {
        if self.rows < BUCKETED_ROWS { 1 } else { BUCKETS }
    }

    /// The buckets of consecutive rows.
    pub(super) fn buckets_of(self, rows: Range<usize>) -> Vec<u8> {
        if self.buckets() == 1 {
            return vec![0; rows.len()];
        }
        let mut found = Vec::with_capacity(rows.len() + 2 * PER_NUMBER);
        let first = rows.start / PER_NUMBER;
        for place in first..rows.end.div_ceil(PER_NUMBER) {
            let bits = random(self.seed, place as u64);
            found.extend((0..PER_NUMBER).map(|at| (bits >> (at as u32 * BITS)) as u8 & (BUCKETS - 1) as u8));
        }
        found.drain(..rows.start - first * PER_NUMBER);
        found.truncate(rows.len());
        found
    }

    /// Shuffles the rows of a bucket, which come in rising order.
    pub(super) fn shuffle<T>(self, bucket: usize, rows: &mut [T]) {
        // Other numbers for each bucket, and for this step.
        let seed = random(!self.seed, bucket as u64);
        for last in (1..rows.len()).rev() {
            // A number below `last + 1`: the upper half of a product.
            let wide = u128::from(random(seed, last as u64)) * (last as u128 + 1);
            rows.swap(last, (wide >> 64) as usize);
        }
    }
}

/// The row at each place of the order in which shuffled rows are [taken](super::take), by the seed of a
/// [`Mixing`](super::Mixing).
///
/// # Example
///
/// ```
/// let mut order = sapwood::batch::shuffled_order(7, 1000);
/// assert_ne!(order[..3], [0, 1, 2]);
/// order.sort();
/// assert_eq!(order, (0..1000).collect::<Vec<u32>>());
/// ```
pub fn shuffled_order(seed: u64, rows: u32) -> Vec<u32> {
    let shuffle = Shuffle::new(seed, rows as usize);
    let mut buckets = vec![Vec::new(); shuffle.buckets()];
    for (row, bucket) in (0..rows).zip(shuffle.buckets_of(0..rows as usize)) {
        if let Some(rows) = buckets.get_mut(usize::from(bucket)) {
            rows.push(row);
        }
    }
    buckets.iter_mut().enumerate().for_each(|(bucket, rows)| shuffle.shuffle(bucket, rows));
    buckets.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_do_not_depend_on_the_parts_of_the_rows() {
        let shuffle = Shuffle::new(5, 100_000);
        let whole = shuffle.buckets_of(0..100_000);
        for cuts in [[0, 1, 9, 10, 100_000], [0, 11, 25, 64_007, 100_000], [0, 0, 50_000, 50_000, 100_000]] {
            let parts: Vec<u8> = cuts.windows(2).flat_map(|ends| shuffle.buckets_of(ends[0]..ends[1])).collect();
            assert_eq!(parts, whole);
        }
        assert_ne!(whole, Shuffle::new(6, 100_000).buckets_of(0..100_000));
    }

    /// The sum of squared deviations from equal counts: about the number of counts less one.
    fn chi_square(counts: &[u32], expected: f64) -> f64 {
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn all_orders_of_a_few_rows_are_equally_likely() {
        let mut counts = vec![0_u32; 24];
        for seed in 0..24_000 {
            let order = shuffled_order(random(99, seed), 4);
            // The number of the order: its digits say how many smaller rows follow.
            let rank = |at: usize| order[at + 1..].iter().filter(|&&row| row < order[at]).count();
            counts[rank(0) * 6 + rank(1) * 2 + rank(2)] += 1;
        }
        let found = chi_square(&counts, 1000.0);
        assert!(found < 58.0, "{found}: beyond 58 in one of 10,000 with 23 degrees of freedom");
    }

    #[test]
    fn rows_of_all_places_come_to_all_places() {
        const ROWS: u32 = 40_000;
        const PARTS: usize = 20;
        let (mut counts, mut pairs) = (vec![0_u32; PARTS * PARTS], vec![0_u32; PARTS * PARTS]);
        let part = |row: u32| row as usize * PARTS / ROWS as usize;
        let orders = 10;
        for seed in 0..orders {
            let order = shuffled_order(seed, ROWS);
            for (place, &row) in (0..).zip(&order) {
                counts[part(place) * PARTS + part(row)] += 1;
            }
            for two in order.chunks_exact(2) {
                pairs[part(two[0]) * PARTS + part(two[1])] += 1;
            }
        }
        let each = f64::from(ROWS) * orders as f64 / (PARTS * PARTS) as f64;
        // Between 361 and 399 degrees of freedom.
        for (found, expected) in [(&counts, each), (&pairs, each / 2.0)] {
            let found = chi_square(found, expected);
            assert!((260.0..510.0).contains(&found), "{found}");
        }
    }
}
