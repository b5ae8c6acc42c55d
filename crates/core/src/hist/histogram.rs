//! Histograms and profiles in memory: `TH1`, `TH2`, `TH3` of all types, `TProfile`, `TProfile2D`, `TProfile3D`.

use super::axis::Axis;
use super::cells::Cells;
use super::class::{AXES, new_draft, no_histogram, shape_of};
use crate::error::{Error, Result};
use crate::schema::Draft;
use crate::schema::draft_members::text_of;

/// Bins that an axis may grow to, in all its dimensions: as many doubles take a gigabyte.
const MOST_CELLS: usize = 1 << 27;

/// A histogram or a profile, as ROOT fills and stores it: `TH1`, `TH2`, `TH3` in all types of contents, `TProfile`,
/// `TProfile2D`, `TProfile3D`.
///
/// # Example
///
/// Filled, written, read and added to another one:
///
/// ```
/// use std::sync::Arc;
/// use sapwood::hist::{Axis, Histogram};
/// use sapwood::io::{MemorySink, MemoryStore};
/// use sapwood::write::{FileWriter, WriteOptions};
/// use sapwood::{File, OpenOptions};
///
/// let mut mass = Histogram::new("TH1F", [Axis::regular(60, 0.0, 120.0)?.with_title("m [GeV]")])?.with_name("mass");
/// mass.fill(&[91.2], 1.0)?;
/// mass.fill_many(&[&[88.0, 91.0, 250.0]], Some(&[1.0, 0.5, 1.0]))?;
/// assert_eq!((mass.entries(), mass.integral()), (4.0, 2.5));
///
/// let sink = Arc::new(MemorySink::default());
/// let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default())?;
/// file.write("mass", mass.to_draft())?;
/// file.close()?;
///
/// let file = File::from_store(Arc::new(MemoryStore::new("memory.root", sink.to_bytes())), OpenOptions::default())?;
/// let mut sum = Histogram::from_draft(file.draft("mass")?)?;
/// sum.add(&mass)?;
/// assert_eq!(sum.integral(), 5.0);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Histogram {
    /// All members, of which those that fill and add change are old.
    pub(super) draft: Draft,
    /// One, two or three.
    pub(crate) dimension: usize,
    /// Where bins hold sums of another value.
    pub(crate) profile: bool,
    /// Those that it has, and as ROOT writes them those that it does not have.
    pub(crate) axes: [Axis; 3],
    pub(crate) cells: Cells,
    /// Sums of squared weights, or none; for profiles, of weighted squares of values.
    pub(crate) sumw2: Vec<f64>,
    /// For profiles, sums of weights.
    pub(crate) bin_entries: Vec<f64>,
    /// For profiles, sums of squared weights, or none.
    pub(crate) bin_sumw2: Vec<f64>,
    /// Values that a profile takes, where it does not take all.
    pub(super) value_limits: Option<(f64, f64)>,
    /// Whether underflow and overflow count in statistics.
    pub(super) counts_overflows: bool,
    /// Whether fills with weights shall not be summed in squares.
    pub(super) never_weighted: bool,
    /// Sums over what was filled.
    pub(crate) sums: [f64; 13],
    pub(crate) entries: f64,
    /// What was filled and is not in bins yet: how often, and then weight, coordinates and value of each. Below zero
    /// where it is in bins, too.
    pub(crate) buffer: Vec<f64>,
}

impl Histogram {
    /// An empty histogram of a class (`TH1F`, `TH3I`, `TProfile2D` ...), with as many axes as that has.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of axes,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for other classes, [`Limit`](crate::ErrorKind::Limit) for more
    /// than 2<sup>27</sup> bins.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let x = Axis::regular(10, 0.0, 1.0)?;
    /// let histogram = Histogram::new("TH2I", [x.clone(), Axis::labelled(["data", "simulation"])?])?;
    /// assert_eq!((histogram.class(), histogram.cells().len()), ("TH2I", 12 * 4));
    /// assert!(Histogram::new("TH2I", [x]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn new(class: &str, axes: impl IntoIterator<Item = Axis>) -> Result<Self> {
        let shape = shape_of(class).ok_or_else(|| no_histogram(class))?;
        let mut axes: Vec<Axis> = axes.into_iter().collect();
        if axes.len() != shape.dimension {
            return Err(Error::mismatch(format!("a {class} has another number of axes"))
                .wanted(shape.dimension as u64, axes.len() as u64));
        }
        axes.resize(3, Axis::regular(1, 0.0, 1.0)?);
        let Ok(axes) = <[Axis; 3]>::try_from(axes) else { return Err(Error::internal("not three axes")) };
        let mut made = Self {
            draft: new_draft(class, shape),
            dimension: shape.dimension,
            profile: shape.profile,
            cells: Cells::zeros_of(shape.number, 0).ok_or_else(|| no_histogram(class))?,
            sumw2: Vec::new(),
            bin_entries: Vec::new(),
            bin_sumw2: Vec::new(),
            value_limits: None,
            counts_overflows: false,
            never_weighted: false,
            sums: [0.0; 13],
            entries: 0.0,
            buffer: Vec::new(),
            axes,
        };
        for (place, name) in AXES.into_iter().enumerate() {
            made.draft.set(name, made.axes[place].to_draft(place));
        }
        made.resize()?;
        if shape.profile {
            let count = made.cells.len();
            (made.sumw2, made.bin_entries) = (vec![0.0; count], vec![0.0; count]);
        }
        Ok(made)
    }

    /// The same with a name, which is most often that of its key.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.with_name("pt");
    /// assert_eq!(histogram.name(), "pt");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.draft.set("fName", name);
        self
    }

    /// Its name.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert_eq!(Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.name(), "");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn name(&self) -> String {
        text_of(&self.draft, "fName")
    }

    /// The same with a title.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.with_title("muons");
    /// assert_eq!(histogram.title(), "muons");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_title(mut self, title: &str) -> Self {
        self.draft.set("fTitle", title);
        self
    }

    /// Its title.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert_eq!(Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.title(), "");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn title(&self) -> String {
        text_of(&self.draft, "fTitle")
    }

    /// Its class.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert_eq!(Histogram::new("TH1S", [Axis::regular(1, 0.0, 1.0)?])?.class(), "TH1S");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn class(&self) -> &str {
        self.draft.class()
    }

    /// Its axes: x, y, z.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert_eq!(Histogram::new("TH1S", [Axis::regular(7, 0.0, 1.0)?])?.axes()[0].bins(), 7);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn axes(&self) -> &[Axis] {
        &self.axes[..self.dimension]
    }

    /// An axis, to restrict its range or to let it grow.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(3, 0.0, 3.0)?])?;
    /// histogram.fill_many(&[&[0.5, 1.5, 2.5]], None)?;
    /// histogram.axis_mut(0).into_iter().for_each(|axis| axis.set_range(Some(1..=2)));
    /// assert_eq!(histogram.integral(), 2.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn axis_mut(&mut self, axis: usize) -> Option<&mut Axis> {
        self.axes[..self.dimension].get_mut(axis)
    }

    /// Whether it is a profile, which holds the mean of a value in each bin.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert!(Histogram::new("TProfile", [Axis::regular(7, 0.0, 1.0)?])?.is_profile());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_profile(&self) -> bool {
        self.profile
    }

    /// What bins hold, flow bins included, in the type of the class; x runs fastest. Bins of profiles hold sums of
    /// weighted values.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Cells, Histogram};
    /// let mut histogram = Histogram::new("TH1I", [Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.fill(&[1.5], 1.0)?;
    /// assert!(matches!(histogram.cells(), Cells::Int(counts) if counts[..] == [0, 0, 1, 0]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Sums of squared weights of all bins; none where they are not summed. For profiles, sums of weighted squares of
    /// values.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// assert_eq!(histogram.sumw2(), None);
    /// histogram.fill(&[0.5], 3.0)?;
    /// assert_eq!(histogram.sumw2(), Some(&[0.0, 9.0, 0.0][..]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn sumw2(&self) -> Option<&[f64]> {
        Some(self.sumw2.as_slice()).filter(|sums| !sums.is_empty())
    }

    /// Sums of weights of a profile's bins; none for histograms.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// profile.fill(&[0.5, 7.0], 1.0)?;
    /// assert_eq!(profile.bin_entries(), Some(&[0.0, 1.0, 0.0][..]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn bin_entries(&self) -> Option<&[f64]> {
        Some(self.bin_entries.as_slice()).filter(|_| self.profile)
    }

    /// Sums of squared weights of a profile's bins; none where they are not summed, and for histograms.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// profile.fill(&[0.5, 7.0], 2.0)?;
    /// assert_eq!(profile.bin_sumw2(), Some(&[0.0, 4.0, 0.0][..]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn bin_sumw2(&self) -> Option<&[f64]> {
        Some(self.bin_sumw2.as_slice()).filter(|sums| !sums.is_empty())
    }

    /// Members that no sum changes.
    pub(crate) fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Members that no sum changes, to be changed otherwise.
    pub(crate) fn draft_mut(&mut self) -> &mut Draft {
        &mut self.draft
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
        self.axes().iter().all(Axis::has_limits)
    }

    /// Whether nothing was filled, and no bin set.
    pub(crate) fn is_empty(&self) -> bool {
        let total = || (0..self.cells.len()).map(|bin| self.cells.get(bin)).sum::<f64>();
        self.sums[0] == 0.0 && self.entries() == 0.0 && total() == 0.0
    }

    pub(crate) fn is_weighted(&self) -> bool {
        !self.sumw2.is_empty()
    }

    /// Whether fills sum squared weights.
    pub(crate) fn sums_squares(&self) -> bool {
        !if self.profile { &self.bin_sumw2 } else { &self.sumw2 }.is_empty()
    }

    /// Sums squared weights from now on, where it does not do so already; so far, weights were one. Fills with another
    /// weight do the same.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// histogram.sum_squares();
    /// assert_eq!(histogram.sumw2(), Some(&[0.0; 3][..]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn sum_squares(&mut self) {
        if self.sums_squares() {
            return;
        }
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
}
