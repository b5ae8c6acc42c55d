//! Sparse histograms: only bins that were filled, in any number of dimensions.
//!
//! Source: `THnSparse`, `THnSparseArrayChunk`, `THnSparseCompactBinCoord`.

use super::axis::Axis;
use super::cells::Cells;
use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::draft_members::{floats_of, unfit, whole};
use crate::schema::{Datum, Draft};

/// The bins of a `THnSparse` that were filled. Along each axis, bins are numbered from 1; 0 is the underflow, and the
/// number after the last is the overflow.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood::column::Number;
/// use sapwood::hist::SparseHistogram;
/// use sapwood::schema::{Datum, Draft};
/// let array = |items: Vec<Draft>| {
///     let items: Vec<Datum> = items.into_iter().map(|item| Datum::from(Arc::new(item))).collect();
///     Arc::new(Draft::new("TObjArray").with("items", items))
/// };
/// let axis = Draft::new("TAxis").with("fNbins", 4).with("fXmin", 0.0).with("fXmax", 1.0);
/// let chunk = Draft::new("THnSparseArrayChunk")
///     .with("fSingleCoordinateSize", 1)
///     .with("fCoordinates", Datum::Numbers(Number::I8, vec![2, 4]))
///     .with("fContent", Arc::new(Draft::new("TArrayD").with("fArray", vec![1.5, 2.5])));
/// let draft = Draft::new("THnSparseT<TArrayD>")
///     .with("fAxes", array(vec![axis]))
///     .with("fFilledBins", 2)
///     .with("fBinContent", array(vec![chunk]));
/// let sparse = SparseHistogram::from_draft(&draft)?;
/// assert_eq!((sparse.bins(), sparse.axes().len(), sparse.coordinates()), (2, 1, vec![2, 4]));
/// assert_eq!((sparse.contents().get(1), sparse.sumw2()), (2.5, None));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SparseHistogram {
    axes: Vec<Axis>,
    pub(crate) chunks: SparseChunks,
}

/// Bins in the order of their chunks, each with its coordinates as the chunks have them.
#[derive(Clone, Debug)]
pub(crate) struct SparseChunks {
    /// Bytes of the coordinates of a bin.
    pub(crate) width: usize,
    pub(crate) coordinates: Vec<u8>,
    pub(crate) contents: Cells,
    /// Empty where no chunk has any. A chunk without squares has its contents in their place.
    pub(crate) squares: Vec<f64>,
}

impl SparseHistogram {
    /// The histogram that a draft is.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where members are missing or do not fit each other.
    pub fn from_draft(draft: &Draft) -> Result<Self> {
        let axes = draft.member("fAxes").and_then(Datum::as_draft).and_then(|axes| axes.member("items"));
        let axes = axes.and_then(Datum::as_list).ok_or_else(|| unfit(draft, "fAxes"))?;
        let axis = |axis: &Datum| Axis::from_draft(axis.as_draft().ok_or_else(|| unfit(draft, "fAxes"))?);
        let axes: Vec<Axis> = axes.iter().map(axis).collect::<Result<_>>()?;
        let chunks = SparseChunks::read(draft)?;
        let count = chunks.len();
        if whole(draft, "fFilledBins")? != count as i64 {
            return Err(unfit(draft, "fFilledBins"));
        }
        if count > 0 && 8 * chunks.width < axes.iter().map(bits_of).sum() {
            return Err(Error::malformed("coordinates of bins do not fit the axes"));
        }
        Ok(Self { axes, chunks })
    }

    /// Its axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many bins were filled.
    pub fn bins(&self) -> usize {
        self.chunks.len()
    }

    /// What these bins hold.
    pub fn contents(&self) -> &Cells {
        &self.chunks.contents
    }

    /// Their sums of squared weights; none where none were summed.
    pub fn sumw2(&self) -> Option<&[f64]> {
        Some(self.chunks.squares.as_slice()).filter(|squares| !squares.is_empty())
    }

    /// Their numbers along each axis: all axes of the first bin, then those of the second, and so on.
    pub fn coordinates(&self) -> Vec<i64> {
        let widths: Vec<usize> = self.axes.iter().map(bits_of).collect();
        let mut found = Vec::with_capacity(widths.len() * self.bins());
        for bin in self.chunks.coordinates.chunks_exact(self.chunks.width.max(1)) {
            let mut at = 0;
            for width in &widths {
                // As many bits an axis as its number of bins needs, from the lowest bit on.
                let bit = |place: usize| i64::from(bin[(at + place) / 8] >> ((at + place) % 8) & 1) << place;
                found.push((0..*width).map(bit).sum());
                at += width;
            }
        }
        found
    }
}

/// Bits of a bin number along an axis, underflow and overflow included.
pub(super) fn bits_of(axis: &Axis) -> usize {
    (usize::BITS - (axis.bins() + 2).leading_zeros()) as usize
}

impl SparseChunks {
    /// How many bins they hold.
    pub(crate) fn len(&self) -> usize {
        self.coordinates.len() / self.width.max(1)
    }

    /// All bins of a `THnSparse`.
    pub(crate) fn read(draft: &Draft) -> Result<Self> {
        let mut all =
            Self { width: 0, coordinates: Vec::new(), contents: Cells::Double(Vec::new()), squares: Vec::new() };
        for chunk in chunk_list(draft)? {
            all.push(chunk.as_draft().ok_or_else(|| unfit(draft, "fBinContent"))?)?;
        }
        Ok(all)
    }

    fn push(&mut self, chunk: &Draft) -> Result<()> {
        let bad = || Error::malformed("a chunk of bins has coordinates of another size");
        let width = usize::try_from(whole(chunk, "fSingleCoordinateSize")?).map_err(|_| bad())?;
        let Some(Datum::Numbers(Number::I8, coordinates)) = chunk.member("fCoordinates") else {
            return Err(unfit(chunk, "fCoordinates"));
        };
        if width == 0 || coordinates.len() % width != 0 || (self.width != 0 && self.width != width) {
            return Err(bad());
        }
        let (before, count) = (self.len(), coordinates.len() / width);
        let contents = chunk.member("fContent").and_then(array).and_then(Cells::read);
        let contents = contents.ok_or_else(|| unfit(chunk, "fContent"))?;
        if self.width == 0 {
            self.contents = contents.zeros(0);
        }
        if !self.contents.append(&contents, count) {
            return Err(unfit(chunk, "fContent"));
        }
        let squares = match chunk.member("fSumw2") {
            None | Some(Datum::Null) => None,
            Some(squares) => Some(array(squares).and_then(floats_of).ok_or_else(|| unfit(chunk, "fSumw2"))?),
        };
        if squares.is_some() && self.squares.is_empty() {
            self.squares = (0..before).map(|bin| self.contents.get(bin)).collect();
        }
        match squares {
            Some(squares) => self.squares.extend(squares.get(..count).ok_or_else(|| unfit(chunk, "fSumw2"))?),
            None if !self.squares.is_empty() => self.squares.extend((0..count).map(|bin| contents.get(bin))),
            None => {}
        }
        self.width = width;
        self.coordinates.extend_from_slice(coordinates);
        Ok(())
    }
}

/// The chunks of a `THnSparse`.
pub(crate) fn chunk_list(draft: &Draft) -> Result<&[Datum]> {
    let array = draft.member("fBinContent").and_then(Datum::as_draft).and_then(|array| array.member("items"));
    array.and_then(Datum::as_list).ok_or_else(|| unfit(draft, "fBinContent"))
}

/// The numbers of a `TArray`: they stand for it, or are a member: `This`, as ROOT calls a base that is numbers, or
/// `fArray`.
fn array(array: &Datum) -> Option<&Datum> {
    match array.as_draft() {
        Some(draft) => draft.member("This").or_else(|| draft.member("fArray")),
        None => Some(array),
    }
}
