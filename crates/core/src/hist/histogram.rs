//! Histograms and profiles in memory: `TH1`, `TH2`, `TH3` of all types, `TProfile`, `TProfile2D`, `TProfile3D`.

use std::ops::RangeInclusive;

use super::axis::Axis;
use super::cells::Cells;
use crate::error::{Error, Result};
use crate::schema::draft_members::{float, floats, put, unfit, whole};
use crate::schema::{Datum, Draft};

/// Members that say where the axes are.
const AXES: [&str; 3] = ["fXaxis", "fYaxis", "fZaxis"];
/// Members that hold bins, whatever their type.
const CELLS: [&str; 6] = ["TArrayC", "TArrayS", "TArrayI", "TArrayL64", "TArrayF", "TArrayD"];
/// Sums over what was filled, in the order of `TH1::GetStats`.
const SUMS: [&str; 13] = [
    "fTsumw", "fTsumw2", "fTsumwx", "fTsumwx2", "fTsumwy", "fTsumwy2", "fTsumwxy", "fTsumwz", "fTsumwz2", "fTsumwxz",
    "fTsumwyz", "fTsumwt", "fTsumwt2",
];
/// Bit of `fBits`: weights are not summed in squares.
const NOT_WEIGHTED: i64 = 1 << 19;
/// Bit of `fBits`: automatic bins are powers of two.
const POWERS_OF_TWO: i64 = 1 << 20;
/// Bins that an axis may grow to, in all its dimensions: as many doubles take a gigabyte.
const MOST_CELLS: usize = 1 << 27;

/// A histogram or a profile.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// All members, of which those that a sum changes are old.
    draft: Draft,
    /// One, two or three.
    pub(crate) dimension: usize,
    /// Where bins hold sums of another value.
    pub(crate) profile: bool,
    pub(crate) axes: [Axis; 3],
    pub(crate) cells: Cells,
    /// Sums of squared weights, or none.
    pub(crate) sumw2: Vec<f64>,
    /// For profiles, sums of weights.
    pub(crate) bin_entries: Vec<f64>,
    /// For profiles, sums of squared weights, or none.
    pub(crate) bin_sumw2: Vec<f64>,
    /// Sums over what was filled.
    pub(crate) sums: [f64; 13],
    pub(crate) entries: f64,
    /// What was filled and is not in bins yet: how often, and then weight, coordinates and value of each. Below zero where it is in
    /// bins, too.
    pub(crate) buffer: Vec<f64>,
}

/// The dimensions of a class of histograms, and whether it is one of profiles.
pub(crate) fn shape_of(class: &str) -> Option<(usize, bool)> {
    match class {
        "TProfile" => Some((1, true)),
        "TProfile2D" => Some((2, true)),
        "TProfile3D" => Some((3, true)),
        _ => match class.as_bytes() {
            [b'T', b'H', dimension @ b'1'..=b'3', b'C' | b'S' | b'I' | b'L' | b'F' | b'D'] => {
                Some((usize::from(dimension - b'0'), false))
            }
            _ => None,
        },
    }
}

impl Histogram {
    /// The histogram that a draft is.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where its arrays do not fit its axes.
    pub(crate) fn read(draft: Draft) -> Result<Self> {
        let unknown = || Error::unsupported(format!("class {} is no histogram", draft.class()));
        let (dimension, profile) = shape_of(draft.class()).ok_or_else(unknown)?;
        let axis = |name| {
            let axis = draft.member(name).and_then(Datum::as_draft).ok_or_else(|| unfit(&draft, name))?;
            Axis::read(axis).map_err(|error| error.in_object(name))
        };
        let axes = [axis(AXES[0])?, axis(AXES[1])?, axis(AXES[2])?];
        let cells = CELLS.iter().find_map(|name| draft.member(name)).and_then(Cells::read);
        let mut sums = [0.0; 13];
        for (sum, name) in sums.iter_mut().zip(SUMS) {
            *sum = float(&draft, name)?;
        }
        let (sumw2, buffer) = (floats(&draft, "fSumw2")?, floats(&draft, "fBuffer")?);
        let read = Self {
            dimension,
            profile,
            axes,
            cells: cells.ok_or_else(|| unfit(&draft, "fArray"))?,
            sumw2,
            bin_entries: floats(&draft, "fBinEntries")?,
            bin_sumw2: floats(&draft, "fBinSumw2")?,
            sums,
            entries: float(&draft, "fEntries")?,
            buffer,
            draft,
        };
        read.check()?;
        Ok(read)
    }

    /// Checks that arrays fit the axes, and that no buffer holds more than it can.
    fn check(&self) -> Result<()> {
        let cells = self.count()?;
        let fit = |name: &str, len: usize, optional: bool| {
            if len == cells || (optional && len == 0) {
                return Ok(());
            }
            Err(Error::malformed(format!("{name} does not fit the axes")).wanted(cells as u64, len as u64))
        };
        fit("the contents", self.cells.len(), false)?;
        fit("fSumw2", self.sumw2.len(), !self.profile)?;
        fit("fBinEntries", self.bin_entries.len(), !self.profile)?;
        fit("fBinSumw2", self.bin_sumw2.len(), true)?;
        let filled = self.buffer.first().copied().unwrap_or(0.0).abs();
        if self.buffer.is_empty() || filled * self.stride() as f64 + 1.0 <= self.buffer.len() as f64 {
            return Ok(());
        }
        Err(Error::malformed("more was filled into a buffer than it holds")
            .wanted(self.buffer.len() as u64, filled as u64))
    }

    /// The draft again, with the members as they are now.
    pub(crate) fn store(mut self) -> Draft {
        let name = CELLS.iter().find(|name| self.draft.member(name).is_some());
        name.into_iter().for_each(|name| put(&mut self.draft, name, self.cells.datum()));
        put(&mut self.draft, "fNcells", self.cells.len() as i64);
        for (axis, name) in self.axes.iter().zip(AXES) {
            self.draft.member_mut(name).and_then(Datum::as_draft_mut).into_iter().for_each(|draft| axis.store(draft));
        }
        for (sum, name) in self.sums.iter().zip(SUMS) {
            put(&mut self.draft, name, *sum);
        }
        put(&mut self.draft, "fEntries", self.entries);
        put(&mut self.draft, "fSumw2", self.sumw2);
        put(&mut self.draft, "fBinEntries", self.bin_entries);
        put(&mut self.draft, "fBinSumw2", self.bin_sumw2);
        put(&mut self.draft, "fBufferSize", self.buffer.len() as i64);
        put(&mut self.draft, "fBuffer", self.buffer);
        self.draft
    }

    /// Members that no sum changes.
    pub(crate) fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Members that no sum changes, to be changed otherwise.
    pub(crate) fn draft_mut(&mut self) -> &mut Draft {
        &mut self.draft
    }

    /// How many bins its axes ask for, with underflow and overflow.
    pub(crate) fn count(&self) -> Result<usize> {
        let bins = self.axes[..self.dimension].iter().try_fold(1_usize, |all, axis| all.checked_mul(axis.bins + 2));
        bins.filter(|bins| *bins <= i32::MAX as usize).ok_or_else(|| Error::malformed("a histogram has too many bins"))
    }

    /// Empty bins for other axes.
    pub(crate) fn resize(&mut self) -> Result<()> {
        let count = self.count()?;
        if count > MOST_CELLS.max(self.cells.len()) {
            return Err(Error::limit("a sum has too many bins", MOST_CELLS as u64, count as u64));
        }
        self.cells = self.cells.zeros(count);
        for array in [&mut self.sumw2, &mut self.bin_entries, &mut self.bin_sumw2] {
            let len = if array.is_empty() { 0 } else { count };
            *array = vec![0.0; len];
        }
        Ok(())
    }

    /// Numbers of a fill in the buffer: its weight, its coordinates, and the value of a profile.
    pub(crate) fn stride(&self) -> usize {
        1 + self.dimension + usize::from(self.profile)
    }

    pub(crate) fn has_limits(&self) -> bool {
        self.axes[..self.dimension].iter().all(Axis::has_limits)
    }

    /// Entries, including buffered ones.
    pub(crate) fn entries(&self) -> f64 {
        match self.buffer.first() {
            Some(waiting) if *waiting > 0.0 => *waiting,
            _ => self.entries,
        }
    }

    /// Whether nothing was filled, and no bin set.
    pub(crate) fn is_empty(&self) -> bool {
        let total = || (0..self.cells.len()).map(|bin| self.cells.get(bin)).sum::<f64>();
        self.sums[0] == 0.0 && self.entries() == 0.0 && total() == 0.0
    }

    pub(crate) fn is_weighted(&self) -> bool {
        !self.sumw2.is_empty()
    }

    pub(crate) fn is_in_powers_of_two(&self) -> bool {
        self.bits() & POWERS_OF_TWO != 0
    }

    /// Whether fills with weights shall not be summed in squares.
    pub(crate) fn never_weighted(&self) -> bool {
        self.bits() & NOT_WEIGHTED != 0
    }

    fn bits(&self) -> i64 {
        whole(&self.draft, "fBits").unwrap_or(0)
    }

    /// Whether underflow and overflow count in statistics. Where the histogram does not say, ROOT's default is that they do not.
    pub(crate) fn counts_overflows(&self) -> bool {
        whole(&self.draft, "fStatOverflows").is_ok_and(|flag| flag == 1)
    }

    /// The number of a bin by those on its axes.
    pub(crate) fn bin(&self, at: [usize; 3]) -> usize {
        let mut bin = 0;
        for (axis, at) in self.axes[..self.dimension].iter().zip(at).rev() {
            bin = bin * (axis.bins + 2) + at.min(axis.bins + 1);
        }
        bin
    }

    /// The numbers of a bin on its axes.
    pub(crate) fn at(&self, bin: usize) -> [usize; 3] {
        let mut rest = bin;
        let mut at = [0; 3];
        for (axis, at) in self.axes[..self.dimension].iter().zip(&mut at) {
            *at = rest % (axis.bins + 2);
            rest /= axis.bins + 2;
        }
        at
    }

    /// Begins to sum squared weights: so far, they were one.
    pub(crate) fn weigh(&mut self) {
        if self.profile {
            self.bin_sumw2.clone_from(&self.bin_entries);
        } else {
            self.sumw2 = (0..self.cells.len()).map(|bin| self.cells.get(bin).abs()).collect();
        }
    }

    /// Whether a bin holds nothing at all.
    pub(crate) fn is_bin_empty(&self, bin: usize) -> bool {
        let zero = |array: &[f64]| array.get(bin).is_none_or(|value| *value == 0.0);
        self.cells.get(bin) == 0.0 && zero(&self.sumw2) && zero(&self.bin_entries)
    }

    /// Adds a bin of another histogram to one of this.
    pub(crate) fn add_bin(&mut self, bin: usize, other: &Self, from: usize) {
        let content = other.cells.get(from);
        self.cells.add(bin, content);
        let add = |sums: &mut Vec<f64>, others: &[f64], otherwise: f64| {
            if let Some(sum) = sums.get_mut(bin) {
                *sum += others.get(from).copied().unwrap_or(otherwise);
            }
        };
        add(&mut self.sumw2, &other.sumw2, content);
        let entries = other.bin_entries.get(from).copied().unwrap_or(0.0);
        add(&mut self.bin_entries, &other.bin_entries, 0.0);
        add(&mut self.bin_sumw2, &other.bin_sumw2, entries);
    }

    /// Sums over what was filled. They are taken from the bins where a range is set, or where bins were set and not filled.
    pub(crate) fn statistics(&mut self) -> Result<[f64; 13]> {
        self.empty_buffer(false)?;
        let ranged = self.axes[..self.dimension].iter().any(Axis::has_range);
        let set = self.sums[0] == 0.0 && (self.profile || self.entries > 0.0);
        Ok(if ranged || set { self.statistics_of_bins() } else { self.sums })
    }

    fn statistics_of_bins(&self) -> [f64; 13] {
        let mut sums = [0.0; 13];
        let overflows = self.counts_overflows();
        let range = |axis: usize| -> RangeInclusive<usize> {
            if axis < self.dimension { self.axes[axis].statistics_range(overflows) } else { 0..=0 }
        };
        let center = |axis: usize, bin: usize| {
            let labelled = self.axes[axis].has_labels() && self.axes[axis].can_extend();
            if axis >= self.dimension || labelled { 0.0 } else { self.axes[axis].center(bin) }
        };
        for iz in range(2) {
            let z = center(2, iz);
            for iy in range(1) {
                let y = center(1, iy);
                for ix in range(0) {
                    let x = center(0, ix);
                    let bin = self.bin([ix, iy, iz]);
                    let content = self.cells.get(bin);
                    let one = |array: &[f64], otherwise: f64| array.get(bin).copied().unwrap_or(otherwise);
                    let (w, w2) = if self.profile {
                        let w = one(&self.bin_entries, 0.0);
                        (w, one(&self.bin_sumw2, w))
                    } else {
                        let error = one(&self.sumw2, content.abs()).sqrt();
                        (content, error * error)
                    };
                    let terms =
                        [w, w2, w * x, w * x * x, w * y, w * y * y, w * x * y, w * z, w * z * z, w * x * z, w * y * z];
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                    if self.profile {
                        let (value, squares) = VALUE_SUMS[self.dimension - 1];
                        sums[value] += content;
                        sums[squares] += one(&self.sumw2, 0.0);
                    }
                }
            }
        }
        sums
    }
}

/// The index of the sums of a profile's value, by its dimensions.
pub(crate) const VALUE_SUMS: [(usize, usize); 3] = [(4, 5), (7, 8), (11, 12)];
