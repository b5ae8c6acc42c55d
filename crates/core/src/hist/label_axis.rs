//! Axes whose bins have labels, and grow by them.
//!
//! Source: `TAxis::FindBin`, `TAxis::SetBinLabel`.

use std::sync::Arc;

use super::axis::{Axis, CAN_EXTEND};
use super::labels::Labels;
use crate::error::{Error, Result};
use crate::wire::text;

/// Bit of `fBits2`: bins have labels and no numbers.
const ALPHANUMERIC: i64 = 1;
/// Bit of `fBits2`: bins never have labels.
const NOT_ALPHANUMERIC: i64 = 4;

/// Where a label is.
pub(crate) enum Labelled {
    /// In this bin.
    Bin(usize),
    /// There is no bin left for it.
    Full,
    /// The axis takes no further labels.
    None,
}

impl Axis {
    /// An axis of categories: bins of width 1 from 0 on, each with its label. It can grow.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) without labels.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// let axis = Axis::labelled(["all", "good"])?;
    /// assert_eq!((axis.bins(), axis.max(), axis.labels()), (2, 2.0, Some(vec!["all".into(), "good".into()])));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn labelled<S: AsRef<str>>(labels: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut all = Labels::default();
        for (place, label) in labels.into_iter().enumerate() {
            all.push(label.as_ref().as_bytes().into(), place as i64 + 1);
        }
        let mut axis = Self::regular(all.list.len(), 0.0, all.list.len() as f64)?;
        axis.bits2 = CAN_EXTEND | ALPHANUMERIC;
        axis.labels = Some(all);
        Ok(axis)
    }

    /// The same with labels for its bins, as many as there are bins. It can grow.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of labels.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// let axis = Axis::regular(2, 10.0, 30.0)?.with_labels(["low", "high"])?;
    /// assert_eq!((axis.label(1).as_str(), axis.min()), ("low", 10.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_labels<S: AsRef<str>>(mut self, labels: impl IntoIterator<Item = S>) -> Result<Self> {
        let other = Self::labelled(labels)?;
        if other.bins != self.bins {
            return Err(
                Error::mismatch("an axis has not one label for each bin").wanted(self.bins as u64, other.bins as u64)
            );
        }
        (self.labels, self.bits2) = (other.labels, other.bits2);
        Ok(self)
    }

    /// Labels of all bins, empty for those without one; none where no bin has one.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(2, -1.0, 1.0)?.labels(), None);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn labels(&self) -> Option<Vec<String>> {
        self.labels.as_ref()?;
        Some((1..=self.bins).map(|bin| self.label(bin)).collect())
    }

    /// Labels of all bins, which may be no text; none unless each bin has one. Labels that do not say which bins they
    /// are of are in the order of bins.
    ///
    /// # Example
    ///
    /// ```
    /// let axis = sapwood::hist::Axis::labelled(["all", "good"])?;
    /// assert_eq!(axis.complete_labels().map(|labels| labels.len()), Some(2));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn complete_labels(&self) -> Option<Vec<Arc<[u8]>>> {
        let labels = &self.labels.as_ref()?.list;
        if labels.is_empty() || labels.len() != self.bins {
            return None;
        }
        let mut sorted: Vec<_> = labels.iter().collect();
        sorted.sort_by_key(|(_, bin)| *bin);
        if !sorted.iter().zip(1..).all(|((_, bin), expected)| *bin == expected) {
            sorted = labels.iter().collect();
        }
        Some(sorted.into_iter().map(|(label, _)| Arc::clone(label)).collect())
    }

    /// The label of a bin; empty where it has none.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::labelled(["all", "good"])?.label(1), "all");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn label(&self, bin: usize) -> String {
        text(&self.label_bytes(bin))
    }

    pub(crate) fn is_alphanumeric(&self) -> bool {
        self.bits2 & ALPHANUMERIC != 0
    }

    pub(crate) fn has_labels(&self) -> bool {
        self.labels.is_some()
    }

    /// The label of a bin, which may be no text; empty where it has none.
    pub(crate) fn label_bytes(&self, bin: usize) -> Arc<[u8]> {
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
