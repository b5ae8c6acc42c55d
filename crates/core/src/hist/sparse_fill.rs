//! Sparse histograms while they are filled.
//!
//! Source: `THnBase::Fill`, `THnSparse::GetBin`, `THnSparseCompactBinCoord`.

use std::collections::HashMap;
use std::sync::Arc;

use super::axis::Axis;
use super::cells::Cells;
use super::sparse::{SparseHistogram, bits_of};
use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::draft_members::{float, floats, put, text_of, unfit};
use crate::schema::{Datum, Draft};

/// Bins of a chunk, as ROOT has them.
const CHUNK: usize = 16 << 10;

/// A sparse histogram of doubles in any number of dimensions, which takes memory for bins that were filled alone.
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, SparseFill, SparseHistogram};
/// let axes = vec![Axis::regular(1000, 0.0, 1.0)?; 5];
/// let mut sparse = SparseFill::new(axes, true)?.named("h", "five axes");
/// let columns = vec![vec![0.5, 0.5, 0.25]; 5];
/// sparse.fill(&columns, Some(&[2.0, 1.0, 1.0]))?;
/// let draft = sparse.into_draft();
/// assert_eq!(draft.class(), "THnSparseT<TArrayD>");
/// let read = SparseHistogram::from_draft(&draft)?;
/// assert_eq!((read.bins(), read.contents().get(0), read.sumw2()), (2, 3.0, Some(&[5.0, 1.0][..])));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SparseFill {
    name: String,
    title: String,
    axes: Vec<Axis>,
    /// Bits of the bin number along each axis.
    bits: Vec<usize>,
    /// The number of each bin by its coordinates.
    bins: HashMap<Box<[u8]>, usize>,
    /// The coordinates of all bins, in the order in which they were filled first.
    coordinates: Vec<u8>,
    contents: Vec<f64>,
    /// Sums of squared weights; empty if fills have no weights.
    squares: Vec<f64>,
    entries: f64,
    /// Sums of weights and squared weights, and for each axis of weighted values and their squares.
    sums: Option<Sums>,
}

#[derive(Clone, Debug)]
struct Sums {
    weights: f64,
    squares: f64,
    values: Vec<f64>,
    squared_values: Vec<f64>,
}

impl SparseFill {
    /// A histogram without entries. With weights it sums their squares, too.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) without axes.
    pub fn new(axes: impl IntoIterator<Item = Axis>, is_weighted: bool) -> Result<Self> {
        let axes: Vec<Axis> = axes.into_iter().collect();
        if axes.is_empty() {
            return Err(Error::mismatch("a sparse histogram has one axis or more"));
        }
        let none = vec![0.0; axes.len()];
        let sums = is_weighted.then(|| Sums { weights: 0.0, squares: 0.0, values: none.clone(), squared_values: none });
        Ok(Self {
            name: String::new(),
            title: String::new(),
            bits: axes.iter().map(bits_of).collect(),
            axes,
            bins: HashMap::new(),
            coordinates: Vec::new(),
            contents: Vec::new(),
            squares: Vec::new(),
            entries: 0.0,
            sums,
        })
    }

    /// Sets its name and title.
    #[must_use]
    pub fn named(mut self, name: &str, title: &str) -> Self {
        name.clone_into(&mut self.name);
        title.clone_into(&mut self.title);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its axes.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, SparseFill};
    /// assert_eq!(SparseFill::new([Axis::regular(10, 0.0, 1.0)?], false)?.axes()[0].bins(), 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many bins were filled.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, SparseFill};
    /// assert_eq!(SparseFill::new([Axis::regular(10, 0.0, 1.0)?], false)?.bins(), 0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn bins(&self) -> usize {
        self.contents.len()
    }

    /// Fills rows: a column for each axis, and a weight for each row.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of columns, for columns of different lengths, and
    /// for weights if it sums no squares.
    pub fn fill(&mut self, columns: &[Vec<f64>], weights: Option<&[f64]>) -> Result<()> {
        if columns.len() != self.axes.len() {
            let words = "a sparse histogram takes a column for each axis";
            return Err(Error::mismatch(words).wanted(self.axes.len() as u64, columns.len() as u64));
        }
        let rows = columns.first().map_or(0, Vec::len);
        let lengths = columns.iter().map(Vec::len).chain(weights.map(<[f64]>::len));
        if let Some(other) = lengths.into_iter().find(|length| *length != rows) {
            let words = "columns and weights have different lengths";
            return Err(Error::mismatch(words).wanted(rows as u64, other as u64));
        }
        if weights.is_some() && self.sums.is_none() {
            return Err(Error::mismatch("a sparse histogram without sums of squares takes no weights"));
        }
        let width = self.width();
        let mut coordinates = vec![0_u8; width];
        for row in 0..rows {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            coordinates.fill(0);
            let mut at = 0;
            for ((axis, bits), column) in self.axes.iter().zip(&self.bits).zip(columns) {
                write_bits(&mut coordinates, at, *bits, axis.find(column[row]));
                at += bits;
            }
            self.entries += 1.0;
            if let Some(sums) = &mut self.sums {
                sums.weights += weight;
                sums.squares += weight * weight;
                let of_axes = sums.values.iter_mut().zip(&mut sums.squared_values);
                for ((sum, square), column) in of_axes.zip(columns) {
                    *sum += weight * column[row];
                    *square += weight * column[row] * column[row];
                }
            }
            self.add_to(&coordinates, weight, weight * weight);
        }
        Ok(())
    }

    /// Adds to a bin, which may be new.
    fn add_to(&mut self, coordinates: &[u8], content: f64, square: f64) {
        let is_weighted = self.sums.is_some();
        let bin = match self.bins.get(coordinates) {
            Some(bin) => *bin,
            None => {
                self.bins.insert(coordinates.into(), self.contents.len());
                self.coordinates.extend_from_slice(coordinates);
                self.contents.push(0.0);
                if is_weighted {
                    self.squares.push(0.0);
                }
                self.contents.len() - 1
            }
        };
        self.contents[bin] += content;
        if is_weighted {
            self.squares[bin] += square;
        }
    }

    /// Bytes of the coordinates of a bin.
    fn width(&self) -> usize {
        self.bits.iter().sum::<usize>().div_ceil(8)
    }

    /// Adds the bins and sums of another one.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other axes, and if only one sums squares.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, SparseFill};
    /// let mut sum = SparseFill::new([Axis::regular(10, 0.0, 1.0)?], false)?;
    /// let mut other = sum.clone();
    /// sum.fill(&[vec![0.5]], None)?;
    /// other.fill(&[vec![0.5, 0.8]], None)?;
    /// sum.add(&other)?;
    /// assert_eq!(sum.bins(), 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn add(&mut self, other: &Self) -> Result<()> {
        let is_same = self.axes.len() == other.axes.len()
            && self.axes.iter().zip(&other.axes).all(|(one, other)| one.same(other))
            && self.sums.is_some() == other.sums.is_some();
        if !is_same {
            return Err(Error::mismatch("sparse histograms of different axes or sums are not added"));
        }
        for (bin, coordinates) in other.coordinates.chunks_exact(other.width()).enumerate() {
            let square = other.squares.get(bin).copied().unwrap_or(0.0);
            self.add_to(coordinates, other.contents[bin], square);
        }
        self.entries += other.entries;
        if let Some((sums, others)) = self.sums.as_mut().zip(other.sums.as_ref()) {
            sums.weights += others.weights;
            sums.squares += others.squares;
            sums.values.iter_mut().zip(&others.values).for_each(|(sum, more)| *sum += more);
            sums.squared_values.iter_mut().zip(&others.squared_values).for_each(|(sum, more)| *sum += more);
        }
        Ok(())
    }

    /// The histogram that a draft is, to fill it further: a `THnSparse` of doubles.
    ///
    /// # Errors
    ///
    /// Errors of [`SparseHistogram::from_draft`].
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, SparseFill};
    /// let mut sparse = SparseFill::new([Axis::regular(10, 0.0, 1.0)?], false)?;
    /// sparse.fill(&[vec![0.5]], None)?;
    /// assert_eq!(SparseFill::from_draft(&sparse.into_draft())?.bins(), 1);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_draft(draft: &Draft) -> Result<Self> {
        let read = SparseHistogram::from_draft(draft)?;
        let is_weighted = float(draft, "fTsumw2")? >= 0.0;
        let mut made = Self::new(read.axes().to_vec(), is_weighted)?;
        made = made.named(&text_of(draft, "fName"), &text_of(draft, "fTitle"));
        if read.bins() > 0 && read.chunks.width != made.width() {
            return Err(unfit(draft, "fBinContent"));
        }
        for (bin, coordinates) in read.chunks.coordinates.chunks_exact(made.width()).enumerate() {
            let content = read.contents().get(bin);
            let square = read.sumw2().and_then(|squares| squares.get(bin)).copied().unwrap_or(content);
            made.add_to(coordinates, content, square);
        }
        made.entries = float(draft, "fEntries")?;
        if let Some(sums) = &mut made.sums {
            sums.weights = float(draft, "fTsumw")?;
            sums.squares = float(draft, "fTsumw2")?;
            for (name, sums) in [("fTsumwx", &mut sums.values), ("fTsumwx2", &mut sums.squared_values)] {
                let found = floats(draft, name)?;
                if found.len() != sums.len() {
                    return Err(unfit(draft, name));
                }
                *sums = found;
            }
        }
        Ok(made)
    }

    /// The object to be [written](crate::write::FileWriter::write).
    pub fn into_draft(self) -> Draft {
        let axis = |(number, axis): (usize, &Axis)| {
            let mut draft = axis.to_draft(number);
            put(&mut draft, "fName", format!("axis{number}").as_str());
            Datum::from(Arc::new(draft))
        };
        let axes: Vec<Datum> = self.axes.iter().enumerate().map(axis).collect();
        let chunks: Vec<Datum> =
            (0..self.bins()).step_by(CHUNK).map(|first| Datum::from(Arc::new(self.chunk(first)))).collect();
        let axes_count = self.axes.len();
        let sums = self.sums.unwrap_or_else(|| Sums {
            weights: 0.0,
            // ROOT's sign that no squares are summed.
            squares: -1.0,
            values: vec![0.0; axes_count],
            squared_values: vec![0.0; axes_count],
        });
        Draft::new("THnSparseT<TArrayD>")
            .with("fName", self.name.as_str())
            .with("fTitle", self.title.as_str())
            .with("fNdimensions", axes_count as i64)
            .with("fAxes", list(axes))
            .with("fEntries", self.entries)
            .with("fTsumw", sums.weights)
            .with("fTsumw2", sums.squares)
            .with("fTsumwx", sums.values)
            .with("fTsumwx2", sums.squared_values)
            .with("fChunkSize", CHUNK as i64)
            .with("fFilledBins", self.contents.len() as i64)
            .with("fBinContent", list(chunks))
    }

    /// A chunk of bins from one on. Its arrays have ROOT's length, whose end is not filled in the last chunk.
    fn chunk(&self, first: usize) -> Draft {
        let width = self.width();
        let end = (first + CHUNK).min(self.bins());
        let coordinates = &self.coordinates[first * width..end * width];
        let padded = |values: &[f64]| {
            let mut values = values[first..end].to_vec();
            values.resize(CHUNK, 0.0);
            Arc::new(Draft::new("TArrayD").with("This", Cells::Double(values).datum()))
        };
        let squares = self.sums.is_some().then(|| Datum::from(padded(&self.squares)));
        Draft::new("THnSparseArrayChunk")
            .with("fSingleCoordinateSize", width as i64)
            .with("fCoordinatesSize", coordinates.len() as i64)
            .with("fCoordinates", Datum::Numbers(Number::I8, coordinates.to_vec()))
            .with("fContent", padded(&self.contents))
            .with("fSumw2", squares.unwrap_or(Datum::Null))
    }
}

/// A `TObjArray` in an object.
fn list(items: Vec<Datum>) -> Draft {
    Draft::new("TObjArray").with("fName", "").with("fLowerBound", 0).with("items", items)
}

/// Writes a number into bits from one on; the lowest bit is first.
fn write_bits(into: &mut [u8], at: usize, bits: usize, number: usize) {
    for bit in (0..bits).filter(|bit| number >> bit & 1 == 1) {
        into[(at + bit) / 8] |= 1 << ((at + bit) % 8);
    }
}
