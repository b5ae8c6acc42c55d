//! Axes as they are stored: members of `TAxis`.

use std::sync::Arc;

use super::axis::{Axis, MOST_BINS};
use super::labels::Labels;
use crate::error::{Error, Result};
use crate::schema::draft_members::{float, floats, push_item, put, text_of, unfit, whole};
use crate::schema::{Datum, Draft};

/// Names of the axes of a histogram.
const NAMES: [&str; 3] = ["xaxis", "yaxis", "zaxis"];

impl Axis {
    /// The axis that a `TAxis` is.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where members contradict each other.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// use sapwood::schema::Draft;
    /// let axis = Draft::new("TAxis").with("fNbins", 3).with("fXmin", 0.0).with("fXmax", 6.0);
    /// assert_eq!(Axis::from_draft(&axis)?.edges(), [0.0, 2.0, 4.0, 6.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_draft(draft: &Draft) -> Result<Self> {
        let bins = whole(draft, "fNbins")?;
        let bins = usize::try_from(bins).ok();
        let edges = floats(draft, "fXbins")?;
        let axis = Self {
            bins: bins.filter(|bins| *bins <= MOST_BINS).ok_or_else(|| unfit(draft, "fNbins"))?,
            min: float(draft, "fXmin")?,
            max: float(draft, "fXmax")?,
            title: text_of(draft, "fTitle"),
            time_format: (whole(draft, "fTimeDisplay")? != 0).then(|| text_of(draft, "fTimeFormat")),
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
        let are_limits = if axis.has_edges() {
            // These may begin and end at infinity.
            !axis.min.is_nan() && !axis.max.is_nan() && axis.edges.is_sorted()
        } else {
            axis.min.is_finite() && axis.max.is_finite()
        };
        if !are_limits {
            return Err(Error::malformed("an axis has limits that are no numbers in order"));
        }
        Ok(axis)
    }

    /// A new `TAxis`, the first, second or third of a histogram, with attributes as ROOT has them without a style.
    pub(crate) fn to_draft(&self, place: usize) -> Draft {
        let mut draft = Draft::new("TAxis")
            .with("fName", NAMES.get(place).copied().unwrap_or_default())
            .with("fTitle", self.title.as_str())
            .with("fNdivisions", 510)
            .with("fAxisColor", 1)
            .with("fLabelColor", 1)
            .with("fLabelFont", 42)
            .with("fLabelOffset", 0.005)
            .with("fLabelSize", 0.035)
            .with("fTickLength", 0.03)
            .with("fTitleOffset", if place == 1 { 0.0 } else { 1.0 })
            .with("fTitleSize", 0.035)
            .with("fTitleColor", 1)
            .with("fTitleFont", 42);
        for name in ["fNbins", "fXmin", "fXmax", "fXbins", "fFirst", "fLast", "fBits", "fBits2", "fTimeDisplay"] {
            draft.set(name, 0);
        }
        draft.set("fTimeFormat", "");
        draft.set("fLabels", Datum::Null);
        self.store(&mut draft);
        draft
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
        if text_of(draft, "fTitle") != self.title {
            put(draft, "fTitle", self.title.as_str());
        }
        if let Some(format) = self.time_format.as_deref().filter(|format| text_of(draft, "fTimeFormat") != *format) {
            put(draft, "fTimeDisplay", 1);
            put(draft, "fTimeFormat", format);
        }
        let Some(labels) = &self.labels else { return };
        if draft.member("fLabels").is_none_or(|list| list.as_draft().is_none()) {
            let empty = Draft::new("THashList").with("items", Vec::<Datum>::new()).with("options", Vec::<Datum>::new());
            put(draft, "fLabels", Arc::new(empty));
        }
        let Some(list) = draft.member_mut("fLabels").and_then(Datum::as_draft_mut) else { return };
        let known = list.member("items").and_then(Datum::as_list).map_or(0, <[Datum]>::len);
        let new = labels.list.get(known..).unwrap_or_default();
        for (label, bin) in new {
            let text = std::str::from_utf8(label).map_or_else(|_| Datum::Bytes(Arc::clone(label)), Datum::from);
            let item = Draft::new("TObjString").with("fUniqueID", *bin).with("fString", text);
            push_item(list, Datum::from(Arc::new(item)));
        }
    }
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
    Ok(Some(labels))
}
