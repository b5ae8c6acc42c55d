//! Classes of histograms: what their names say, and which members they have.

use crate::column::Number;
use crate::error::Error;
use crate::schema::Draft;

/// Members that say where the axes are.
pub(super) const AXES: [&str; 3] = ["fXaxis", "fYaxis", "fZaxis"];
/// Members that hold bins, whatever their type: bases, by the name that a draft gives them, and ROOT's name for what
/// they hold.
pub(super) const CELLS: [&str; 7] = ["TArrayC", "TArrayS", "TArrayI", "TArrayL64", "TArrayF", "TArrayD", "fArray"];
/// Letters of the value along the axis after the last, which a profile averages.
pub(super) const VALUES: [char; 3] = ['Y', 'Z', 'T'];
/// Bit of `fBits`: weights are not summed in squares.
pub(super) const NOT_WEIGHTED: i64 = 1 << 19;
/// Bit of `fBits`: automatic bins are powers of two.
pub(super) const POWERS_OF_TWO: i64 = 1 << 20;
/// Bit of `fBits`, which ROOT sets for what a directory holds.
const MUST_CLEAN_UP: i64 = 1 << 3;
/// `fStatOverflows`: underflow and overflow do not count, or count.
pub(super) const IGNORE: i64 = 0;
pub(super) const CONSIDER: i64 = 1;
/// `fStatOverflows`: as ROOT's own setting says, which is that underflow and overflow do not count.
const NEUTRAL: i64 = 2;
/// Minimum or maximum of a plot that is found from the values.
pub(super) const UNSET: f64 = -1111.0;
/// Members with sums over what was filled, in the order of `TH1::GetStats`.
pub(crate) const SUMS: [&str; 13] = [
    "fTsumw", "fTsumw2", "fTsumwx", "fTsumwx2", "fTsumwy", "fTsumwy2", "fTsumwxy", "fTsumwz", "fTsumwz2", "fTsumwxz",
    "fTsumwyz", "fTsumwt", "fTsumwt2",
];
/// How many of the sums histograms of one, two and three dimensions have.
pub(super) const SUMS_OF_DIMENSION: [usize; 3] = [4, 7, 11];
/// The index of the sums of a profile's value, by its dimensions.
pub(crate) const VALUE_SUMS: [(usize, usize); 3] = [(4, 5), (7, 8), (11, 12)];

/// What a class of histograms is.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// One, two or three.
    pub(crate) dimension: usize,
    /// Whether bins hold sums of another value.
    pub(crate) profile: bool,
    /// The type of contents.
    pub(super) number: Number,
}

/// Classes of profiles, by their dimensions.
const PROFILES: [&str; 3] = ["TProfile", "TProfile2D", "TProfile3D"];
/// Letters of classes, and what their bins hold.
const LETTERS: [(char, Number); 6] = [
    ('C', Number::I8),
    ('S', Number::I16),
    ('I', Number::I32),
    ('L', Number::I64),
    ('F', Number::F32),
    ('D', Number::F64),
];

/// What a class of histograms is, if it is one.
pub(crate) fn shape_of(class: &str) -> Option<Shape> {
    let profile = |dimension| Shape { dimension, profile: true, number: Number::F64 };
    if let Some(place) = PROFILES.iter().position(|known| *known == class) {
        return Some(profile(place + 1));
    }
    match class.as_bytes() {
        [b'T', b'H', dimension @ b'1'..=b'3', last] => {
            let (_, number) = LETTERS.iter().find(|(letter, _)| *letter == char::from(*last))?;
            Some(Shape { dimension: usize::from(dimension - b'0'), profile: false, number: *number })
        }
        _ => None,
    }
}

/// The class of histograms with so many axes, whose bins hold numbers of a type; none where ROOT has none.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::hist::class_of;
/// assert_eq!(class_of(2, Number::F32).as_deref(), Some("TH2F"));
/// assert_eq!(class_of(4, Number::F32), None);
/// ```
pub fn class_of(axes: usize, number: Number) -> Option<String> {
    let (letter, _) = LETTERS.iter().find(|(_, of)| *of == number)?;
    (1..=3).contains(&axes).then(|| format!("TH{axes}{letter}"))
}

/// The class of profiles with so many axes; none where ROOT has none.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood::hist::profile_class_of(2), Some("TProfile2D"));
/// ```
pub fn profile_class_of(axes: usize) -> Option<&'static str> {
    PROFILES.get(axes.checked_sub(1)?).copied()
}

/// What the bins of a class of histograms hold; none where it is no such class.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::hist::number_of;
/// assert_eq!(number_of("TH3I"), Some(Number::I32));
/// assert_eq!(number_of("TGraph"), None);
/// ```
pub fn number_of(class: &str) -> Option<Number> {
    shape_of(class).map(|shape| shape.number)
}

/// The member that is an axis, numbered from 0.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood::hist::axis_member(1), Some("fYaxis"));
/// ```
pub fn axis_member(axis: usize) -> Option<&'static str> {
    AXES.get(axis).copied()
}

pub(super) fn no_histogram(class: &str) -> Error {
    Error::unsupported(format!("class {class} is no histogram"))
}

/// Members of a new histogram without axes and bins, as ROOT sets them without a style.
pub(super) fn new_draft(class: &str, shape: Shape) -> Draft {
    let mut draft = Draft::new(class)
        .with("fBits", MUST_CLEAN_UP)
        .with("fName", "")
        .with("fTitle", "")
        .with("fLineColor", 602)
        .with("fFillStyle", 1001)
        .with("fLineStyle", 1)
        .with("fLineWidth", 1)
        .with("fMarkerColor", 1)
        .with("fMarkerStyle", 1)
        .with("fMarkerSize", 1.0)
        .with("fNcells", 0)
        .with("fBarWidth", 1000)
        .with("fEntries", 0.0)
        .with("fMaximum", UNSET)
        .with("fMinimum", UNSET)
        .with("fBinStatErrOpt", 0)
        .with("fStatOverflows", NEUTRAL);
    if shape.dimension == 2 {
        draft.set("fScalefactor", 1.0);
    }
    for name in &SUMS[..SUMS_OF_DIMENSION[shape.dimension - 1]] {
        draft.set(*name, 0.0);
    }
    let mut arrays = vec!["fArray", "fSumw2", "fBuffer"];
    if shape.profile {
        let (sum, squares) = VALUE_SUMS[shape.dimension - 1];
        draft.set(SUMS[sum], 0.0);
        draft.set(SUMS[squares], 0.0);
        let letter = VALUES[shape.dimension - 1];
        draft.set(format!("f{letter}min"), 0.0);
        draft.set(format!("f{letter}max"), 0.0);
        draft.set("fErrorMode", 0);
        arrays.extend(["fBinEntries", "fBinSumw2"]);
    }
    for name in arrays {
        draft.set(name, Vec::<f64>::new());
    }
    draft.set("fBufferSize", 0);
    draft
}
