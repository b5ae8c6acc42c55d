//! Histograms as they are stored: members of their classes.

use super::axis::Axis;
use super::cells::Cells;
use super::class::{AXES, CELLS, CONSIDER, NOT_WEIGHTED, SUMS, VALUES, class_of, no_histogram, shape_of};
use super::histogram::Histogram;
use crate::error::Result;
use crate::schema::draft_members::{float, floats, put, unfit, whole};
use crate::schema::{Datum, Draft};

impl Histogram {
    /// The histogram that a draft is: one that [was read](crate::File::draft), or one that was made.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for other classes, [`Malformed`](crate::ErrorKind::Malformed)
    /// where its arrays do not fit its axes.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// use sapwood::schema::Draft;
    /// let histogram = Histogram::new("TH1D", [Axis::regular(3, 0.0, 1.0)?])?;
    /// assert_eq!(Histogram::from_draft(histogram.to_draft())?.values(), [0.0; 5]);
    /// assert!(Histogram::from_draft(Draft::new("TObjString")).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_draft(mut draft: Draft) -> Result<Self> {
        let shape = shape_of(draft.class()).ok_or_else(|| no_histogram(draft.class()))?;
        let axis = |name| {
            let axis = draft.member(name).and_then(Datum::as_draft).ok_or_else(|| unfit(&draft, name))?;
            Axis::from_draft(axis).map_err(|error| error.in_object(name))
        };
        let axes = [axis(AXES[0])?, axis(AXES[1])?, axis(AXES[2])?];
        let cells = CELLS.iter().find_map(|name| draft.member(name)).and_then(Cells::read);
        let mut sums = [0.0; 13];
        for (sum, name) in sums.iter_mut().zip(SUMS) {
            *sum = float(&draft, name)?;
        }
        for name in ["fBinStatErrOpt", "fErrorMode"] {
            whole(&draft, name)?;
        }
        let (sumw2, buffer) = (floats(&draft, "fSumw2")?, floats(&draft, "fBuffer")?);
        let letter = VALUES[shape.dimension - 1];
        let (min, max) = (float(&draft, &format!("f{letter}min"))?, float(&draft, &format!("f{letter}max"))?);
        let cells = cells.ok_or_else(|| unfit(&draft, "fArray"))?;
        let bin_entries = floats(&draft, "fBinEntries")?;
        let bin_sumw2 = floats(&draft, "fBinSumw2")?;
        // `into_draft` puts them back: a histogram of many bins is held once.
        for name in CELLS.iter().chain(&["fSumw2", "fBuffer", "fBinEntries", "fBinSumw2"]) {
            if let Some(Datum::Numbers(_, bytes)) = draft.member_mut(name) {
                *bytes = Vec::new();
            }
        }
        let read = Self {
            dimension: shape.dimension,
            profile: shape.profile,
            axes,
            cells,
            sumw2,
            bin_entries,
            bin_sumw2,
            value_limits: (shape.profile && min != max).then_some((min, max)),
            // Where the histogram does not say, ROOT's default is that they do not.
            counts_overflows: whole(&draft, "fStatOverflows")? == CONSIDER,
            never_weighted: whole(&draft, "fBits")? & NOT_WEIGHTED != 0,
            sums,
            entries: float(&draft, "fEntries")?,
            buffer,
            draft,
        };
        read.check()?;
        Ok(read)
    }

    /// The histogram that an object of any class is which derives from one of histograms: `bases` are the names of its
    /// bases, nearest first. It becomes one of that class.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where no base is a histogram with bins, and those of
    /// [`from_draft`](Self::from_draft).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// use sapwood::schema::Draft;
    /// let histogram = Histogram::new("TH1F", [Axis::regular(3, 0.0, 1.0)?])?.into_draft();
    /// let mut derived = Draft::new("Spectrum");
    /// histogram.members().for_each(|(name, value)| derived.set(name.to_owned(), value.clone()));
    /// assert_eq!(Histogram::from_derived(derived, &["TH1F", "TH1", "TArrayF"])?.class(), "TH1F");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_derived(draft: Draft, bases: &[&str]) -> Result<Self> {
        if shape_of(draft.class()).is_some() {
            return Self::from_draft(draft);
        }
        let known = bases.iter().find(|base| shape_of(base).is_some()).map(|base| (*base).to_owned());
        // A class may combine a base that knows the axes with an array of its own.
        let combined = || {
            let dimension = 1 + ["TH1", "TH2", "TH3"].iter().rposition(|class| bases.contains(class))?;
            let Some(Datum::Numbers(number, _)) = CELLS.iter().find_map(|name| draft.member(name)) else { return None };
            class_of(dimension, *number)
        };
        match known.or_else(combined) {
            Some(class) => Self::from_draft(draft.into_class(&class)),
            None => Err(no_histogram(draft.class())),
        }
    }

    /// The object to be [written](crate::write::FileWriter::write).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert_eq!(Histogram::new("TH1D", [Axis::regular(3, 0.0, 1.0)?])?.to_draft().class(), "TH1D");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn to_draft(&self) -> Draft {
        self.clone().into_draft()
    }

    /// The object to be [written](crate::write::FileWriter::write), which keeps all members that histograms do not have
    /// in common.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert_eq!(Histogram::new("TH1D", [Axis::regular(3, 0.0, 1.0)?])?.into_draft().class(), "TH1D");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn into_draft(mut self) -> Draft {
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
}
