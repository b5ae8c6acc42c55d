//! Graphs: points, with errors where the class has some.

use super::class::UNSET;
use crate::error::{Error, Result};
use crate::schema::draft_members::{floats, floats_of, put, text_of, unfit, whole};
use crate::schema::{Datum, Draft};

/// Classes of graphs that ROOT merges.
pub(crate) const MERGED_GRAPHS: [&str; 8] = [
    "TGraph",
    "TGraphErrors",
    "TGraphAsymmErrors",
    "TGraphBentErrors",
    "TGraphMultiErrors",
    "TGraphPolar",
    "TGraphQQ",
    "TCutG",
];
/// Members with an error for each point. A graph has those of its class.
const ERRORS: [&str; 12] = [
    "fEX", "fEY", "fEXlow", "fEXhigh", "fEYlow", "fEYhigh", "fEXlowd", "fEXhighd", "fEYlowd", "fEYhighd", "fExL",
    "fExH",
];
/// Members with errors for each point, of several kinds.
const LISTS_OF_ERRORS: [&str; 2] = ["fEyL", "fEyH"];
/// Bit of `fBits`: the histogram of the axes is to be made again.
const RESET_HISTOGRAM: i64 = 1 << 17;

/// Bit of `fBits`, which ROOT sets for a new graph: it is clipped to its frame.
const CLIP_TO_FRAME: i64 = 1 << 10;
/// Members with the coordinates of points.
const COORDINATES: [&str; 3] = ["fX", "fY", "fZ"];
/// Members with the errors of points along x and y, below and above, in the order in which they are looked for.
const SIDES: [[(&str, &str); 2]; 3] = [
    [("fEX", "fEX"), ("fEY", "fEY")],
    [("fEXlow", "fEXhigh"), ("fEYlow", "fEYhigh")],
    [("fExL", "fExH"), ("fEyL", "fEyH")],
];

/// A graph, as ROOT stores it: points, with errors where the class has some.
///
/// # Example
///
/// ```
/// use sapwood::hist::Graph;
/// let graph = Graph::new(&[1.0, 2.0], &[3.0, 4.0])?.with_errors(&[0.0, 0.0], &[0.5, 0.25])?.with_title("points;x;y");
/// assert_eq!((graph.class(), graph.points()), ("TGraphErrors", 2));
/// assert_eq!(graph.errors(1)?, Some((vec![0.5, 0.25], vec![0.5, 0.25])));
/// assert_eq!(Graph::from_draft(graph.into_draft())?.values(1)?, [3.0, 4.0]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    draft: Draft,
    points: usize,
    sum_mode: SumMode,
}

/// How errors of several kinds become one: `fSumErrorsMode` of a `TGraphMultiErrors`.
#[derive(Clone, Copy, Debug, Default)]
enum SumMode {
    /// The first kind alone: ROOT's default.
    #[default]
    First,
    /// The root of the sum of their squares.
    Squares,
    /// The sum of their absolute values.
    Absolute,
}

impl Graph {
    /// A `TGraph` of points.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where there are not as many x as y.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Graph;
    /// assert_eq!(Graph::new(&[1.0], &[2.0])?.class(), "TGraph");
    /// assert!(Graph::new(&[1.0], &[2.0, 3.0]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn new(x: &[f64], y: &[f64]) -> Result<Self> {
        let draft = Draft::new("TGraph")
            .with("fBits", CLIP_TO_FRAME)
            .with("fName", "Graph")
            .with("fTitle", "")
            .with("fLineColor", 1)
            .with("fFillStyle", 1000)
            .with("fLineStyle", 1)
            .with("fLineWidth", 1)
            .with("fMarkerColor", 1)
            .with("fMarkerStyle", 1)
            .with("fMarkerSize", 1.0)
            .with("fNpoints", x.len() as i64)
            .with("fFunctions", std::sync::Arc::new(Draft::new("TList")))
            .with("fMaximum", UNSET)
            .with("fMinimum", UNSET);
        Self { draft, points: x.len(), sum_mode: SumMode::default() }.with_columns("TGraph", [("fX", x), ("fY", y)])
    }

    /// The same as a `TGraphErrors`, with errors along x and y.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where there is not one error for each point.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Graph;
    /// assert!(Graph::new(&[1.0], &[2.0])?.with_errors(&[], &[0.1]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_errors(self, ex: &[f64], ey: &[f64]) -> Result<Self> {
        self.with_columns("TGraphErrors", [("fEX", ex), ("fEY", ey)])
    }

    /// The same as a `TGraphAsymmErrors`, with errors below and above along x and y.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where there is not one error for each point.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Graph;
    /// let graph = Graph::new(&[1.0], &[2.0])?.with_asymmetric_errors((&[0.0], &[0.0]), (&[0.1], &[0.2]))?;
    /// assert_eq!(graph.errors(1)?, Some((vec![0.1], vec![0.2])));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_asymmetric_errors(self, ex: (&[f64], &[f64]), ey: (&[f64], &[f64])) -> Result<Self> {
        let columns = [("fEXlow", ex.0), ("fEXhigh", ex.1), ("fEYlow", ey.0), ("fEYhigh", ey.1)];
        self.with_columns("TGraphAsymmErrors", columns)
    }

    /// The same with a title, to which titles of axes may be added: `"title;x;y"`.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.with_title("one").title(), "one");
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
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.title(), "");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn title(&self) -> String {
        text_of(&self.draft, "fTitle")
    }

    fn with_columns<const N: usize>(mut self, class: &str, columns: [(&'static str, &[f64]); N]) -> Result<Self> {
        for (name, values) in columns {
            if values.len() != self.points {
                let words = format!("a graph of {} points has {} values for {name}", self.points, values.len());
                return Err(Error::mismatch(words));
            }
            self.draft.set(name, values.to_vec());
        }
        self.draft = self.draft.into_class(class);
        Ok(self)
    }

    /// The graph that a draft is: a `TGraph`, or an object of a class that is derived from it; or a `TGraph2D`.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where members are missing, or have not one number for each point.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Graph;
    /// use sapwood::schema::Draft;
    /// let draft = Draft::new("TGraph").with("fNpoints", 1).with("fX", vec![1.0]).with("fY", vec![2.0]);
    /// assert_eq!(Graph::from_draft(draft)?.values(0)?, [1.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_draft(draft: Draft) -> Result<Self> {
        let sum_mode = match whole(&draft, "fSumErrorsMode")? {
            0 => SumMode::First,
            1 => SumMode::Squares,
            2 => SumMode::Absolute,
            _ => return Err(unfit(&draft, "fSumErrorsMode")),
        };
        let graph = Self { points: points(&draft)?, draft, sum_mode };
        graph.values(0)?;
        graph.values(1)?;
        Ok(graph)
    }

    /// The object to be [written](crate::write::FileWriter::write), which keeps all members that graphs do not have in
    /// common.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.into_draft().class(), "TGraph");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn into_draft(self) -> Draft {
        self.draft
    }

    /// Its class.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.class(), "TGraph");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn class(&self) -> &str {
        self.draft.class()
    }

    /// How many points it has.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.points(), 1);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn points(&self) -> usize {
        self.points
    }

    /// Coordinates of all points along an axis, numbered from 0.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for an axis that is not there,
    /// [`Malformed`](crate::ErrorKind::Malformed) where there is not one number for each point.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.values(1)?, [2.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn values(&self, axis: usize) -> Result<Vec<f64>> {
        match COORDINATES.get(axis).filter(|_| axis < self.axes()) {
            Some(name) => column(&self.draft, name, self.points),
            None => Err(Error::not_found(format!("a {} has no axis {axis}", self.class()))),
        }
    }

    /// How many axes it has: three for a `TGraph2D`, two for others.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.axes(), 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn axes(&self) -> usize {
        if self.draft.member(COORDINATES[2]).is_some() { 3 } else { 2 }
    }

    /// Errors of all points along an axis, numbered from 0, below and above; none where the class has none. Several
    /// kinds of errors are one as the graph says: the first, the root of the sum of squares, or the sum.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where there is not one number for each point.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Graph::new(&[1.0], &[2.0])?.errors(1)?, None);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn errors(&self, axis: usize) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        let names = SIDES.iter().filter_map(|sides| sides.get(axis));
        let Some((low, high)) = names.into_iter().find(|(low, _)| self.draft.member(low).is_some()) else {
            return Ok(None);
        };
        Ok(Some((self.side(low)?, self.side(high)?)))
    }

    fn side(&self, name: &str) -> Result<Vec<f64>> {
        if !LISTS_OF_ERRORS.contains(&name) {
            return column(&self.draft, name, self.points);
        }
        let kinds = columns(&self.draft, name, self.points)?;
        let of_point = |point: usize| kinds.iter().map(move |kind| kind[point]);
        let sum = |point: usize| match self.sum_mode {
            SumMode::First => of_point(point).next().unwrap_or(0.0),
            SumMode::Squares => of_point(point).map(|error| error * error).sum::<f64>().sqrt(),
            SumMode::Absolute => of_point(point).map(f64::abs).sum(),
        };
        Ok((0..self.points).map(sum).collect())
    }

    /// Appends the points of a graph of the same class.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another class, and for more kinds of errors than it has.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Graph;
    /// let mut graph = Graph::new(&[1.0], &[2.0])?;
    /// graph.append(&Graph::new(&[3.0], &[4.0])?)?;
    /// assert_eq!((graph.points(), graph.values(0)?), (2, vec![1.0, 3.0]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn append(&mut self, other: &Self) -> Result<()> {
        if self.class() != other.class() {
            return Err(Error::mismatch(format!("a {} cannot be added to a {}", other.class(), self.class())));
        }
        append_points(&mut self.draft, &other.draft)?;
        self.points = points(&self.draft)?;
        Ok(())
    }
}

/// Appends the points of a graph, with their errors.
///
/// Source: `TGraph::Merge`, and `DoMerge` of the classes that are derived from it.
pub(crate) fn append_points(sum: &mut Draft, next: &Draft) -> Result<()> {
    let (old, more) = (points(sum)?, points(next)?);
    let all = old + more;
    if all > i32::MAX as usize {
        return Err(Error::limit("a graph has too many points", i32::MAX as u64, all as u64));
    }
    let mut new: Vec<(&str, Datum)> = Vec::new();
    for name in ["fX", "fY"] {
        let mut values = column(sum, name, old)?;
        values.extend(column(next, name, more)?);
        new.push((name, values.into()));
    }
    let here = |name: &&&str| sum.member(name).is_some();
    for name in ERRORS.iter().filter(here) {
        let mut errors = column(sum, name, old)?;
        errors.extend(column(next, name, more)?);
        new.push((name, errors.into()));
    }
    for name in LISTS_OF_ERRORS.iter().filter(here) {
        let mut kinds = columns(sum, name, old)?;
        let others = columns(next, name, more)?;
        if others.len() > kinds.len() {
            return Err(Error::mismatch("a graph has more kinds of errors than the sum")
                .wanted(kinds.len() as u64, others.len() as u64));
        }
        for (place, kind) in kinds.iter_mut().enumerate() {
            match others.get(place) {
                Some(other) => kind.extend(other),
                None => kind.resize(all, 0.0),
            }
        }
        let mut list = sum.member(name).cloned().unwrap_or(Datum::Null);
        for (item, kind) in list.as_list_mut().into_iter().flatten().zip(kinds) {
            *item = kind.into();
        }
        new.push((name, list));
    }
    for (name, value) in new {
        put(sum, name, value);
    }
    put(sum, "fNpoints", all as i64);
    if more > 0 && sum.member("fHistogram").is_some_and(|histogram| histogram.as_draft().is_some()) {
        let bits = whole(sum, "fBits")? | RESET_HISTOGRAM;
        put(sum, "fBits", bits);
    }
    Ok(())
}

fn points(graph: &Draft) -> Result<usize> {
    usize::try_from(whole(graph, "fNpoints")?).map_err(|_| unfit(graph, "fNpoints"))
}

fn column(graph: &Draft, name: &str, points: usize) -> Result<Vec<f64>> {
    let values = floats(graph, name)?;
    if values.len() == points {
        return Ok(values);
    }
    let words = format!("member {name} of a {} has not one number for each point", graph.class());
    Err(Error::malformed(words).wanted(points as u64, values.len() as u64))
}

fn columns(graph: &Draft, name: &str, points: usize) -> Result<Vec<Vec<f64>>> {
    let list = match graph.member(name) {
        None | Some(Datum::Null) => &[][..],
        Some(member) => member.as_list().ok_or_else(|| unfit(graph, name))?,
    };
    let fits = |values: &Vec<f64>| values.len() == points;
    // A `TArrayD` is numbers, or an object that has them.
    let numbers = |item: &Datum| floats_of(item.as_draft().and_then(|array| array.member("fArray")).unwrap_or(item));
    list.iter().map(|item| numbers(item).filter(fits).ok_or_else(|| unfit(graph, name))).collect()
}
