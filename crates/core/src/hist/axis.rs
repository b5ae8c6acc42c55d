//! Axes of histograms: `TAxis`, its bins, what it can become, and its labels.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::limits;
use crate::error::{Error, Result};
use crate::schema::draft_members::{float, floats, push_item, put, unfit, whole};
use crate::schema::{Datum, Draft};

/// Bit of `fBits2`: bins have labels and no numbers.
const ALPHANUMERIC: i64 = 1;
/// Bit of `fBits2`: the axis may grow.
const CAN_EXTEND: i64 = 2;
/// Bit of `fBits2`: bins never have labels.
const NOT_ALPHANUMERIC: i64 = 4;
/// Bit of `fBits`: statistics are those of a range.
const RANGE: i64 = 1 << 11;
/// Bit of `fBits`: edges of automatic bins are whole numbers.
const INTEGER: i64 = 1 << 22;

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// How many bins it has, without underflow and overflow.
    pub(crate) bins: usize,
    /// Where it begins.
    pub(crate) min: f64,
    /// Where it ends.
    pub(crate) max: f64,
    /// Edges of bins that are not of one width.
    edges: Vec<f64>,
    /// The bins that statistics are of, where a range is set.
    range: (i64, i64),
    bits: i64,
    bits2: i64,
    labels: Option<Labels>,
}

/// Labels in the order in which they came, each with its bin.
#[derive(Clone, Debug, Default)]
struct Labels {
    list: Vec<(Arc<[u8]>, i64)>,
    bins: HashMap<Arc<[u8]>, i64>,
    names: HashMap<i64, usize>,
    /// How many of them the file has.
    known: usize,
}

impl Labels {
    fn push(&mut self, label: Arc<[u8]>, bin: i64) {
        self.bins.entry(Arc::clone(&label)).or_insert(bin);
        self.names.entry(bin).or_insert(self.list.len());
        self.list.push((label, bin));
    }
}

impl Axis {
    /// The axis that a draft is.
    pub(crate) fn read(draft: &Draft) -> Result<Self> {
        let bins = whole(draft, "fNbins")?;
        let bins = usize::try_from(bins).ok().filter(|bins| *bins <= i32::MAX as usize);
        let edges = floats(draft, "fXbins")?;
        let axis = Self {
            bins: bins.ok_or_else(|| unfit(draft, "fNbins"))?,
            min: float(draft, "fXmin")?,
            max: float(draft, "fXmax")?,
            edges,
            range: (whole(draft, "fFirst")?, whole(draft, "fLast")?),
            bits: whole(draft, "fBits")?,
            bits2: whole(draft, "fBits2")?,
            labels: labels(draft)?,
        };
        if !axis.edges.is_empty() && axis.edges.len() != axis.bins + 1 {
            return Err(Error::malformed("an axis has not one edge more than bins")
                .wanted(axis.bins as u64 + 1, axis.edges.len() as u64));
        }
        if !(axis.min.is_finite() && axis.max.is_finite() && axis.edges.is_sorted()) {
            return Err(Error::malformed("an axis has limits that are no numbers in order"));
        }
        Ok(axis)
    }

    /// Changes the members of a draft to what the axis is.
    pub(crate) fn store(&self, draft: &mut Draft) {
        put(draft, "fNbins", self.bins as i64);
        put(draft, "fXmin", self.min);
        put(draft, "fXmax", self.max);
        put(draft, "fXbins", self.edges.clone());
        put(draft, "fFirst", self.range.0);
        put(draft, "fLast", self.range.1);
        put(draft, "fBits", self.bits);
        put(draft, "fBits2", self.bits2);
        let Some(labels) = &self.labels else { return };
        let new = labels.list.get(labels.known..).unwrap_or_default();
        if draft.member("fLabels").is_none_or(|list| list.as_draft().is_none()) {
            let empty = Draft::new("THashList").with("items", Vec::<Datum>::new()).with("options", Vec::<Datum>::new());
            put(draft, "fLabels", Arc::new(empty));
        }
        let Some(list) = draft.member_mut("fLabels").and_then(Datum::as_draft_mut) else { return };
        for (label, bin) in new {
            let text = std::str::from_utf8(label).map_or_else(|_| Datum::Bytes(Arc::clone(label)), Datum::from);
            let item = Draft::new("TObjString").with("fUniqueID", *bin).with("fString", text);
            push_item(list, Datum::from(Arc::new(item)));
        }
    }

    /// Whether it has limits: one without them finds them in what is filled.
    pub(crate) fn has_limits(&self) -> bool {
        self.min < self.max
    }

    /// Whether its bins are not of one width.
    pub(crate) fn has_edges(&self) -> bool {
        !self.edges.is_empty()
    }

    pub(crate) fn can_extend(&self) -> bool {
        self.bits2 & CAN_EXTEND != 0
    }

    pub(crate) fn set_can_extend(&mut self, can: bool) {
        self.bits2 = if can { self.bits2 | CAN_EXTEND } else { self.bits2 & !CAN_EXTEND };
    }

    pub(crate) fn is_alphanumeric(&self) -> bool {
        self.bits2 & ALPHANUMERIC != 0
    }

    pub(crate) fn has_labels(&self) -> bool {
        self.labels.is_some()
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.bits & INTEGER != 0
    }

    pub(crate) fn has_range(&self) -> bool {
        self.bits & RANGE != 0
    }

    /// The bins that statistics are of; with underflow and overflow where they count and no range is set.
    pub(crate) fn statistics_range(&self, overflows: bool) -> std::ops::RangeInclusive<usize> {
        let most = self.bins as i64 + 1;
        let bounded = |bin: i64| bin.clamp(0, most) as usize;
        match (self.has_range(), overflows) {
            (true, _) => bounded(self.range.0)..=bounded(self.range.1),
            (false, true) => 0..=self.bins + 1,
            (false, false) => 1..=self.bins,
        }
    }

    /// All bins as the range, which is none.
    pub(crate) fn forget_range(&mut self) {
        self.range = (1, self.bins as i64);
        self.bits &= !RANGE;
    }

    /// Bins of one width.
    pub(crate) fn set(&mut self, bins: usize, min: f64, max: f64) {
        (self.bins, self.min, self.max) = (bins, min, max);
        self.edges.clear();
    }

    /// The bins of another axis.
    pub(crate) fn set_bins_of(&mut self, other: &Self) {
        self.set(other.bins, other.min, other.max);
        self.edges.clone_from(&other.edges);
    }

    /// Other limits for the same number of bins.
    pub(crate) fn set_limits(&mut self, min: f64, max: f64) {
        (self.min, self.max) = (min, max);
    }

    /// The middle of a bin.
    pub(crate) fn center(&self, bin: usize) -> f64 {
        match (bin.checked_sub(1).and_then(|before| self.edges.get(before)), self.edges.get(bin)) {
            (Some(low), Some(high)) => low + 0.5 * (high - low),
            _ => {
                let width = (self.max - self.min) / self.bins as f64;
                self.min + (bin as f64 - 1.0) * width + 0.5 * width
            }
        }
    }

    /// The width of a bin, those outside being as wide as the first and the last.
    fn width(&self, bin: usize) -> f64 {
        let bin = bin.clamp(1, self.bins.max(1));
        match (self.edges.get(bin - 1), self.edges.get(bin)) {
            (Some(low), Some(high)) => high - low,
            _ if self.bins == 0 => 0.0,
            _ => (self.max - self.min) / self.bins as f64,
        }
    }

    /// The bin that a value falls into.
    pub(crate) fn find(&self, x: f64) -> usize {
        if x < self.min {
            0
        } else if x.is_nan() || x >= self.max {
            self.bins + 1
        } else if self.edges.is_empty() {
            1 + (self.bins as f64 * (x - self.min) / (self.max - self.min)) as usize
        } else {
            self.edges.partition_point(|edge| *edge <= x)
        }
    }

    /// Whether both have the same limits and as many bins.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let close = |one: f64, two: f64, width: f64| (one - two).abs() < width * 1e-10 || one == two;
        self.bins == other.bins
            && close(self.min, other.min, self.width(1))
            && close(self.max, other.max, self.width(self.bins))
            && self.edges.is_empty() == other.edges.is_empty()
            && self
                .edges
                .iter()
                .zip(&other.edges)
                .enumerate()
                .all(|(bin, (one, two))| close(*one, *two, self.width(bin)))
    }

    /// The axis that holds the bins of both: bins as wide as the wider ones, which are a multiple of the others, with a common edge.
    pub(crate) fn joined(&self, other: &Self) -> Option<Self> {
        if self.same(other) {
            return Some(self.clone());
        }
        let mut all = self.clone();
        (all.min, all.max, all.bins) =
            limits::joined((self.min, self.max, self.width(0)), (other.min, other.max, other.width(0)))
                .filter(|_| self.edges.is_empty() && other.edges.is_empty())?;
        Some(all)
    }

    /// What a bin is called; nothing where it has no label.
    pub(crate) fn label(&self, bin: usize) -> Arc<[u8]> {
        let inside = bin >= 1 && bin <= self.bins;
        let labels = self.labels.as_ref().filter(|_| inside);
        let place = labels.and_then(|labels| labels.names.get(&(bin as i64)));
        match (labels, place) {
            (Some(labels), Some(place)) => {
                labels.list.get(*place).map(|(label, _)| Arc::clone(label)).unwrap_or_default()
            }
            _ => Arc::from([]),
        }
    }

    /// The bin of a label: the one that has it, or a new one.
    pub(crate) fn find_label(&mut self, label: &Arc<[u8]>) -> Labelled {
        let can_be = self.bits2 & NOT_ALPHANUMERIC == 0;
        if self.labels.is_none() {
            self.labels = Some(Labels::default());
            if can_be {
                self.bits2 |= CAN_EXTEND | ALPHANUMERIC;
                if self.max <= self.min {
                    (self.min, self.max) = (0.0, self.bins as f64);
                }
            }
        }
        let (alphanumeric, bins) = (self.is_alphanumeric(), self.bins);
        let Some(labels) = &mut self.labels else { return Labelled::None };
        if let Some(bin) = labels.bins.get(label) {
            return usize::try_from(*bin).map_or(Labelled::None, Labelled::Bin);
        }
        if !alphanumeric {
            if labels.list.len() != bins || !can_be {
                return Labelled::None;
            }
            self.bits2 |= CAN_EXTEND | ALPHANUMERIC;
        }
        let bin = labels.list.len() + 1;
        if bin > bins {
            return Labelled::Full;
        }
        labels.push(Arc::clone(label), bin as i64);
        Labelled::Bin(bin)
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bins from {} to {}", self.bins, self.min, self.max)
    }
}

/// Where a label is.
pub(crate) enum Labelled {
    /// In this bin.
    Bin(usize),
    /// There is no bin left for it.
    Full,
    /// The axis takes no further labels.
    None,
}

fn labels(draft: &Draft) -> Result<Option<Labels>> {
    let Some(list) = draft.member("fLabels").and_then(Datum::as_draft) else { return Ok(None) };
    let items = list.member("items").and_then(Datum::as_list).ok_or_else(|| unfit(draft, "fLabels"))?;
    let mut labels = Labels::default();
    for item in items {
        let item = item.as_draft().ok_or_else(|| unfit(draft, "fLabels"))?;
        let label: Arc<[u8]> = match item.member("fString") {
            Some(Datum::Text(text)) => text.as_bytes().into(),
            Some(Datum::Bytes(bytes)) => Arc::clone(bytes),
            None => Arc::from([]),
            Some(_) => return Err(unfit(draft, "fLabels")),
        };
        labels.push(label, whole(item, "fUniqueID")?);
    }
    labels.known = labels.list.len();
    Ok(Some(labels))
}
