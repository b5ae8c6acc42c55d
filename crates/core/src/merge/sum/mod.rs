//! Sums of objects: what ROOT's `Merge` makes of histograms, profiles, graphs, parameters, efficiencies, and lists of
//! them.

mod collection;
mod combine;
mod efficiency;
mod parameter;
mod sparse;

use std::fmt;

use self::collection::AddFn;

use crate::error::{Error, Result};
use crate::hist::{self, Histogram};
use crate::schema::Draft;

/// The function that adds objects of a class; none if they cannot be added.
fn adder(class: &str) -> Option<AddFn> {
    Some(match class {
        class if hist::shape_of(class).is_some() => add_histogram,
        class if hist::MERGED_GRAPHS.contains(&class) => hist::append_points,
        class if parameter::is_parameter(class) => parameter::add,
        class if sparse::is_sparse(class) || sparse::is_full(class) => sparse::add,
        "TList" | "THashList" | "TObjArray" => |sum, next| collection::add_list(sum, next, adder),
        "THStack" => |sum, next| collection::add_stack(sum, next, adder),
        "TEfficiency" => efficiency::add,
        "TStatistic" => parameter::add_statistic,
        _ => return None,
    })
}

fn add_histogram(sum: &mut Draft, next: &Draft) -> Result<()> {
    let mut all = Histogram::from_draft(sum.clone())?;
    combine::add(&mut all, Histogram::from_draft(next.clone())?)?;
    *sum = all.into_draft();
    Ok(())
}

/// Whether objects of a class can be added. Those that cannot are kept side by side, as further cycles of one name.
///
/// # Example
///
/// ```
/// use sapwood::merge::can_add;
/// assert!(can_add("TH1D") && can_add("TGraphErrors") && can_add("TParameter<double>"));
/// assert!(!can_add("TObjString") && !can_add("TF1"));
/// ```
pub fn can_add(class: &str) -> bool {
    adder(class).is_some()
}

/// Whether ROOT adds objects of a class that is not added here: a merged file has more of them than one of `hadd`.
pub(super) fn only_root_adds(class: &str) -> bool {
    const CLASSES: [&str; 10] = [
        "TEntryList",
        "TEventList",
        "TH2Poly",
        "TProfile2Poly",
        "TClonesArray",
        "TPolyLine",
        "TPolyLine3D",
        "TPolyMarker",
        "TPolyMarker3D",
        "TEntryListArray",
    ];
    CLASSES.contains(&class) && !can_add(class)
}

/// The sum of objects of one name, as far as it was added up. It holds one object, however many are added.
///
/// What ROOT's `Merge` does with one object after the other is done here: bins, squared weights, statistics and entries
/// of histograms are added, on axes that hold both where limits differ and bins fit, by label where axes have labels
/// and can grow, and from the buffers of those that have no limits yet; points of graphs follow each other; parameters
/// are added, multiplied or compared as their own bits say; lists are added item by item. All else that the first
/// object has stays: titles, labels, options, colours, functions. Where a histogram gets other bins, its functions and
/// contours go, as they do with ROOT.
///
/// # Example
///
/// ```
/// use sapwood::merge::Sum;
/// use sapwood::schema::{Datum, Draft};
/// let parameter = |value: i64| Draft::new("TParameter<int>").with("fName", "runs").with("fVal", value);
/// let mut sum = Sum::new(parameter(2))?;
/// sum.add(&parameter(3))?;
/// assert!(matches!(sum.finish().member("fVal"), Some(Datum::Int(5))));
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("histograms.root");
/// use sapwood::merge::Sum;
/// let file = sapwood::File::open(path)?;
/// let mut sum = Sum::new(file.draft("h1d")?)?;
/// sum.add(&file.draft("h1d")?)?;
/// assert_eq!(sum.class(), "TH1D");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone)]
pub struct Sum {
    state: State,
}

#[derive(Clone)]
enum State {
    Histogram(Box<Histogram>),
    Other(Draft, AddFn),
}

impl Sum {
    /// A sum of one object.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for classes that [cannot be added](can_add), and
    /// [`Malformed`](crate::ErrorKind::Malformed) where a histogram's arrays do not fit its axes.
    pub fn new(first: Draft) -> Result<Self> {
        let add = adder(first.class());
        let add =
            add.ok_or_else(|| Error::unsupported(format!("objects of class {} cannot be added", first.class())))?;
        let state = match hist::shape_of(first.class()) {
            Some(_) => State::Histogram(Box::new(Histogram::from_draft(first)?)),
            None => State::Other(first, add),
        };
        Ok(Self { state })
    }

    /// Adds an object, read from any file. If that fails, the sum is unchanged.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where ROOT refuses to merge them, with the reason: other dimensions,
    /// bins that do not fit together, overflow that may be within other limits, another class.
    /// [`Malformed`](crate::ErrorKind::Malformed) where members contradict each other;
    /// [`Limit`](crate::ErrorKind::Limit) where the sum would have too many bins;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for automatic bins in powers of two.
    pub fn add(&mut self, next: &Draft) -> Result<()> {
        match &mut self.state {
            State::Histogram(_) => self.take(next.clone()),
            State::Other(sum, add) => check_classes(sum, next).and_then(|()| add(sum, next)),
        }
    }

    /// [Adds](Self::add) an object that nobody else needs: a histogram of many bins is not copied.
    pub(crate) fn take(&mut self, next: Draft) -> Result<()> {
        match &mut self.state {
            State::Histogram(sum) => {
                check_classes(sum.draft(), &next)?;
                combine::add(sum, Histogram::from_draft(next)?)
            }
            State::Other(..) => self.add(&next),
        }
    }

    /// The class of the sum.
    pub fn class(&self) -> &str {
        match &self.state {
            State::Histogram(sum) => sum.draft().class(),
            State::Other(sum, _) => sum.class(),
        }
    }

    /// The sum, to be [written](crate::write::FileWriter::write).
    pub fn finish(self) -> Draft {
        match self.state {
            State::Histogram(sum) => sum.into_draft(),
            State::Other(sum, _) => sum,
        }
    }
}

fn check_classes(sum: &Draft, next: &Draft) -> Result<()> {
    if sum.class() == next.class() {
        return Ok(());
    }
    Err(Error::mismatch(format!("a {} cannot be added to a {}", next.class(), sum.class())))
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sum").field("class", &self.class()).finish_non_exhaustive()
    }
}
