//! Fills blocks of rows, column by column.
//!
//! The result is that of single fills: each sum takes its terms in the order of rows.

use super::axis::Axis;
use super::cells::Cells;
use super::class::VALUE_SUMS;
use super::histogram::Histogram;
use super::statistics::add_terms;

/// Added to a number of up to 31 bits, this leaves the next whole number in the last bits.
const WHOLE: f64 = (3_u64 << 51) as f64;

/// Rows of a block: what is computed for them stays in the processor's nearest cache.
pub(super) const BLOCK: usize = 512;

/// What is found out about the rows of a block before they are filled.
pub(super) struct Block {
    bins: [u32; BLOCK],
    inside: [bool; BLOCK],
    weights: [f64; BLOCK],
    /// Weights times values of a profile.
    products: [f64; BLOCK],
}

impl Default for Block {
    fn default() -> Self {
        Self { bins: [0; BLOCK], inside: [true; BLOCK], weights: [1.0; BLOCK], products: [1.0; BLOCK] }
    }
}

impl Histogram {
    /// Whether rows can be filled as blocks: where no axis changes, and every row counts.
    pub(super) fn fills_blocks(&self) -> bool {
        let fixed = |axis: &Axis| axis.has_limits() && (!axis.can_extend() || axis.is_alphanumeric());
        self.buffer.is_empty() && self.value_limits.is_none() && self.axes().iter().all(fixed)
    }

    /// Fills a block; columns and weights are of its length. Gives `false`, and fills nothing, where squares of weights
    /// must be summed from one of its rows on.
    pub(super) fn fill_block(&mut self, block: &mut Block, columns: &[&[f64]], weights: Option<&[f64]>) -> bool {
        let rows = columns.first().map_or(0, |column| column.len()).min(BLOCK);
        let is_counted = weights.is_none();
        if let Some(weights) = weights {
            if !self.sums_squares() && !self.never_weighted && weights.iter().any(|weight| *weight != 1.0) {
                return false;
            }
            block.weights[..rows].copy_from_slice(weights);
        }
        let Block { bins, inside, weights, products } = block;
        let (bins, inside) = (&mut bins[..rows], &mut inside[..rows]);
        let (weights, products) = (&weights[..rows], &mut products[..rows]);
        bins.fill(0);
        inside.fill(true);
        let mut stride = 1;
        for (axis, column) in self.axes[..self.dimension].iter().zip(columns) {
            axis.find_all(column, stride, bins, inside);
            stride *= axis.bins as u32 + 2;
        }
        self.entries += rows as f64;
        let values = columns.get(self.dimension).copied().filter(|_| self.profile);
        match values {
            Some(values) => {
                for ((product, weight), value) in products.iter_mut().zip(weights).zip(values) {
                    *product = weight * value;
                }
                self.cells.add_all(bins, products);
                add_all(&mut self.sumw2, bins, products.iter().zip(values).map(|(product, value)| product * value));
                add_all(&mut self.bin_entries, bins, weights.iter().copied());
                add_all(&mut self.bin_sumw2, bins, weights.iter().map(|weight| weight * weight));
            }
            // Bins hold whole numbers where nothing was weighted: then counting rows is adding ones.
            None if is_counted && self.sumw2.is_empty() && self.cells.add_counts(bins) => {}
            None => {
                self.cells.add_all(bins, weights);
                add_all(&mut self.sumw2, bins, weights.iter().map(|weight| weight * weight));
            }
        }
        self.add_statistics(inside, weights, columns);
        true
    }

    fn add_statistics(&mut self, inside: &[bool], weights: &[f64], columns: &[&[f64]]) {
        let dimension = self.dimension;
        match columns {
            [x] if !self.profile => return self.add_simple_statistics(inside, weights, x),
            [x, y] if dimension == 2 => return self.add_plane_statistics(inside, weights, x, y),
            _ => {}
        }
        let (sum, squares) = VALUE_SUMS[dimension - 1];
        let mut sums = self.sums;
        for (row, (inside, w)) in inside.iter().zip(weights).enumerate() {
            if !inside && !self.counts_overflows {
                continue;
            }
            let at = |place: usize| columns.get(place).and_then(|column| column.get(row)).copied().unwrap_or(0.0);
            let w = *w;
            let x = [at(0), if dimension > 1 { at(1) } else { 0.0 }, if dimension > 2 { at(2) } else { 0.0 }];
            add_terms(&mut sums, dimension, [w, w * w], x);
            if self.profile {
                let value = at(dimension);
                sums[sum] += w * value;
                sums[squares] += w * value * value;
            }
        }
        self.sums = sums;
    }
}

impl Histogram {
    /// The sums of a histogram with one axis and no means. Rows outside add zeros, which changes no sum, and needs no
    /// branch.
    fn add_simple_statistics(&mut self, inside: &[bool], weights: &[f64], values: &[f64]) {
        let [mut w, mut w2, mut wx, mut wx2, ..] = self.sums;
        let all = self.counts_overflows;
        for ((inside, weight), x) in inside.iter().zip(weights).zip(values) {
            let counts = *inside || all;
            let weight = if counts { *weight } else { 0.0 };
            // Infinite values outside would turn zeros into NaN.
            let x = if counts { *x } else { 0.0 };
            w += weight;
            w2 += weight * weight;
            wx += weight * x;
            wx2 += weight * x * x;
        }
        self.sums[..4].copy_from_slice(&[w, w2, wx, wx2]);
    }
}

impl Histogram {
    /// The sums of a histogram with two axes and no means.
    fn add_plane_statistics(&mut self, inside: &[bool], weights: &[f64], x: &[f64], y: &[f64]) {
        let [mut w, mut w2, mut wx, mut wx2, mut wy, mut wy2, mut wxy, ..] = self.sums;
        let all = self.counts_overflows;
        for ((inside, weight), (x, y)) in inside.iter().zip(weights).zip(x.iter().zip(y)) {
            let counts = *inside || all;
            let of = |value: f64| if counts { value } else { 0.0 };
            let (weight, x, y) = (of(*weight), of(*x), of(*y));
            w += weight;
            w2 += weight * weight;
            wx += weight * x;
            wx2 += weight * x * x;
            wy += weight * y;
            wy2 += weight * y * y;
            wxy += weight * x * y;
        }
        self.sums[..7].copy_from_slice(&[w, w2, wx, wx2, wy, wy2, wxy]);
    }
}

impl Axis {
    /// Adds the number of the bin of each value, times a stride, to the numbers of bins; notes which values are not
    /// inside.
    fn find_all(&self, values: &[f64], stride: u32, bins: &mut [u32], inside: &mut [bool]) {
        let mut found = [0; BLOCK];
        let last = self.bins as u32;
        let blocks = values.chunks(BLOCK).zip(bins.chunks_mut(BLOCK).zip(inside.chunks_mut(BLOCK)));
        for (values, (bins, inside)) in blocks {
            let found = &mut found[..values.len()];
            self.find_block(values, found);
            // Loops of one kind of number each, which the compiler turns into vectors.
            for (at, bin) in bins.iter_mut().zip(&*found) {
                *at += bin * stride;
            }
            for (inside, bin) in inside.iter_mut().zip(&*found) {
                *inside &= bin.wrapping_sub(1) < last;
            }
        }
    }

    /// The number of the bin of each value of a block, as [`find`](Self::find) has it, without a branch and without a
    /// division.
    fn find_block(&self, values: &[f64], found: &mut [u32]) {
        let (min, max, count) = (self.min, self.max, self.bins as f64);
        let (width, scale, end) = ((max - min) / count, count / (max - min), count + 1.0);
        // Edges that are hardly told apart are for `find`.
        let is_coarse = width > min.abs().max(max.abs()) * 1e-14;
        if self.has_edges() || !is_coarse || !scale.is_finite() || !width.is_normal() {
            values.iter().zip(found).for_each(|(x, found)| *found = self.find(*x) as u32);
            return;
        }
        for (x, found) in values.iter().zip(found) {
            let x = *x;
            // The next whole number is that of the bin or of the one behind it, which the lower edge tells.
            let next = ((x - min) * scale + WHOLE) - WHOLE;
            let bin = if x < min + next * width { next } else { next + 1.0 };
            let bin = if x < min { 0.0 } else { bin };
            let bin = if x < max { bin } else { end };
            *found = (bin + WHOLE).to_bits() as u32;
        }
    }
}

fn add_all(sums: &mut [f64], bins: &[u32], terms: impl Iterator<Item = f64>) {
    if sums.is_empty() {
        return;
    }
    for (bin, term) in bins.iter().zip(terms) {
        if let Some(sum) = sums.get_mut(*bin as usize) {
            *sum += term;
        }
    }
}

impl Cells {
    /// Counts rows in bins of doubles, where there are few: four counters a bin, so that neighbouring rows of one bin
    /// need not wait for each other. Gives `false`, and counts nothing, where there are many bins.
    fn add_counts(&mut self, bins: &[u32]) -> bool {
        const MOST: usize = 256;
        let Self::Double(values) = self else { return false };
        if values.len() > MOST {
            return false;
        }
        let mut counts = [[0_u16; MOST]; 4];
        let (fours, rest) = bins.as_chunks::<4>();
        for four in fours {
            for (counts, bin) in counts.iter_mut().zip(four) {
                counts[*bin as usize % MOST] += 1;
            }
        }
        rest.iter().for_each(|bin| counts[0][*bin as usize % MOST] += 1);
        for (bin, value) in values.iter_mut().enumerate() {
            *value += counts.iter().map(|counts| f64::from(counts[bin])).sum::<f64>();
        }
        true
    }

    /// Adds to bins, one after the other.
    fn add_all(&mut self, bins: &[u32], weights: &[f64]) {
        match self {
            Self::Double(values) => add_all(values, bins, weights.iter().copied()),
            Self::Float(values) => {
                for (bin, weight) in bins.iter().zip(weights) {
                    if let Some(value) = values.get_mut(*bin as usize) {
                        *value += *weight as f32;
                    }
                }
            }
            whole => bins.iter().zip(weights).for_each(|(bin, weight)| whole.add(*bin as usize, *weight)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_blocks_are_those_of_single_values() {
        let axes = [
            (100, -5.0, 5.0),
            (7, 0.0, 1.0),
            (1, -1e-3, 1e300),
            (3, 0.1, 0.7),
            (99_999, -1.0 / 3.0, 1.0),
            (100, 1e16, 1e16 + 10.0),
            (100, 0.0, 5e-324),
            (10, -1e308, 1e308),
        ];
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (bins, min, max) in axes {
            let axis = Axis::regular(bins, min, max).unwrap();
            let width = (max - min) / bins as f64;
            let mut values = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, min, max, f64::MAX, f64::MIN];
            for _ in 0..400 {
                values.push(min + random() * 1.2 * (max - min) - 0.1 * (max - min));
                // Edges, and the numbers next to them.
                let edge = min + (random() * bins as f64).floor() * width;
                values.extend([edge, edge.next_up(), edge.next_down()]);
            }
            let (mut found, mut inside) = (vec![0; values.len()], vec![true; values.len()]);
            axis.find_all(&values, 1, &mut found, &mut inside);
            for ((x, found), inside) in values.iter().zip(found).zip(inside) {
                let expected = axis.find(*x);
                assert_eq!(
                    (found as usize, inside),
                    (expected, (1..=bins).contains(&expected)),
                    "{x} of {min} to {max}"
                );
            }
        }
    }
}
