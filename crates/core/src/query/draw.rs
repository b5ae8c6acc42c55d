//! Histograms of expressions: `TTree::Draw`.

use super::align::Lengths;
use super::bound::Bound;
use super::evaluate::Rows;
use super::fault::fault;
use super::index;
use super::parse::parse_list;
use super::points::{Points, passing};
use super::select::Query;
use super::source::Source;
use super::step::Step;
use super::steps::each_step;
use super::token::{Placed, Token, tokens};
use super::value::Data;
use crate::error::{Error, Result};
use crate::hist::{Axis, Histogram};
use crate::read::{Progress, Selection};

/// Values that decide on automatic bins, unless the tree has another number (`TTree::SetEstimate`); the axes grow for
/// what follows.
const ESTIMATE: usize = 1_000_000;

/// What is drawn: one to three expressions, a cut or weight, and bins.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::Draw;
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let drawn = Draw::new(&tree, "Jet_pt>>pt(50, 0, 100)", "nJet > 2")?.run(0..tree.entries)?;
/// assert_eq!((drawn.name(), drawn.axes()[0].bins()), ("pt".into(), 50));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Draw {
    pub(super) query: Query,
    name: String,
    title: String,
    /// Whether values of bins are means of the last expression.
    is_profile: bool,
    bins: Vec<Bins>,
    /// The weight of each entry, besides the cut.
    weight: f64,
    /// How many values decide on automatic bins.
    estimate: usize,
}

/// The bins of an axis.
#[derive(Clone, Debug)]
enum Bins {
    /// So many, around the values.
    Automatic(usize),
    Fixed(Box<Axis>),
}

impl Draw {
    /// Draws what the words of `TTree::Draw` say: `y:x>>name(bins, min, max, ...)`, the last expression along x. A cut
    /// that is a number is a weight; an empty one keeps everything. The [weight of the tree](crate::tree::Tree::weight)
    /// counts, too.
    ///
    /// # Errors
    ///
    /// Those of [`Query::value`], and [`Expression`](crate::ErrorKind::Expression) for bins that are none.
    pub fn new(source: impl Into<Source>, words: &str, cut: &str) -> Result<Self> {
        Self::with_aliases(source, words, cut, [])
    }

    /// The same, with names of expressions that others may use.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Draw;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let draw = Draw::with_aliases(&tree, "ht", "", [("ht", "Sum$(Jet_pt)")])?;
    /// assert_eq!(draw.run(0..tree.entries)?.entries(), 10.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_aliases<'a>(
        source: impl Into<Source>,
        words: &str,
        cut: &str,
        aliases: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        let (values, target) = split(words)?;
        let source: Source = source.into();
        let weight = source.weight();
        let estimate = source.estimate().unwrap_or(ESTIMATE);
        let mut query = Query::new(source).aliases(aliases).lengths(Lengths::Shortest);
        for expr in parse_list(values)? {
            query = query.value(&values[expr.span])?;
        }
        let dimension = query.values.len();
        if dimension > 3 {
            return Err(Error::mismatch(format!("a histogram has one to three axes, not {dimension}")));
        }
        let cut = cut.trim();
        if !cut.is_empty() {
            query = query.cut(cut)?;
        }
        // The last expression is along x.
        query.values.reverse();
        if let Some(value) = query.values.iter().find(|value| value.bound.number().is_none()) {
            return Err(fault(&value.text, 0, "texts cannot be drawn: compare them"));
        }
        let count = match dimension {
            1 => 100,
            2 => 40,
            _ => 20,
        };
        let mut draw = Self {
            title: match cut.is_empty() {
                true => values.trim().to_owned(),
                false => format!("{} {{{cut}}}", values.trim()),
            },
            bins: vec![Bins::Automatic(count); dimension],
            query,
            name: "htemp".to_owned(),
            is_profile: false,
            weight,
            estimate,
        };
        if let Some(target) = target {
            draw.set_target(words, target)?;
        }
        Ok(draw)
    }

    /// Draws means of the first expression in bins of the others: a profile.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where there is one expression only.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Draw;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let drawn = Draw::new(&tree, "Jet_pt:Jet_eta>>(10, -5, 5)", "")?.profile()?.run(0..10)?;
    /// assert_eq!(drawn.class(), "TProfile");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn profile(mut self) -> Result<Self> {
        if self.query.values.len() < 2 {
            return Err(Error::mismatch("a profile has values along y and bins along x: draw y:x"));
        }
        self.is_profile = true;
        self.bins.pop();
        if let [Bins::Automatic(40)] = self.bins[..] {
            self.bins[0] = Bins::Automatic(100);
        }
        Ok(self)
    }

    /// Weights each entry with a number instead of the weight of the tree; 1 leaves that out.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Draw;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let drawn = Draw::new(&tree, "nJet", "")?.tree_weight(0.5).run(0..4)?;
    /// assert_eq!((drawn.entries(), drawn.statistics()?[0]), (4.0, 2.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn tree_weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the axes of the histogram: as many as it has expressions, along x first.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of axes.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::{hist::Axis, query::Draw};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let draw = Draw::new(&tree, "Jet_pt", "")?.axes([Axis::variable(&[0.0, 10.0, 100.0])?])?;
    /// assert_eq!(draw.run(0..10)?.axes()[0].bins(), 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn axes(mut self, axes: impl IntoIterator<Item = Axis>) -> Result<Self> {
        let axes: Vec<Axis> = axes.into_iter().collect();
        if axes.len() != self.bins.len() {
            let words = "a histogram has an axis for each expression";
            return Err(Error::mismatch(words).wanted(self.bins.len() as u64, axes.len() as u64));
        }
        self.bins = axes.into_iter().map(Box::new).map(Bins::Fixed).collect();
        Ok(self)
    }

    /// Numbers of the branches or fields that are read, each once: [`Query::needed`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Draw;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// assert_eq!(Draw::new(&tree, "Jet_pt", "nJet > 2")?.needed().len(), 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn needed(&self) -> Vec<usize> {
        self.query.needed()
    }

    /// The name of the histogram.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads some entries and fills the histogram.
    ///
    /// # Errors
    ///
    /// Those of [`Query::read`].
    pub fn run(&self, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Histogram> {
        let entries: Selection = entries.try_into().map_err(Into::into)?;
        draw_many(std::slice::from_ref(self), &entries)?.pop().ok_or_else(|| Error::internal("nothing was drawn"))
    }

    /// Reads some entries and gives the values that the histogram would be filled with: `TTree::GetVal`. All are in
    /// memory at once.
    ///
    /// # Errors
    ///
    /// Those of [`Query::read`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Draw;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let points = Draw::new(&tree, "Jet_pt:Jet_eta", "Jet_pt > 30")?.points(0..tree.entries)?;
    /// assert_eq!(points.columns.len(), 2);
    /// assert!(points.columns[1].iter().all(|pt| *pt > 30.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn points(&self, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Points> {
        let entries: Selection = entries.try_into().map_err(Into::into)?;
        let mut all = Points { columns: vec![Vec::new(); self.query.values.len()], weights: None };
        let mut append = |points| {
            all.append(points);
            Ok(())
        };
        each_step(&[&self.query], &entries, &mut |_| Ok(()), &|step, take| self.each_part(step, take), &mut append)?;
        Ok(all)
    }

    /// `name(bins, min, max, ...)`: what stands behind `>>`.
    fn set_target(&mut self, words: &str, target: &str) -> Result<()> {
        let at = words.len() - target.len();
        let (name, numbers) = match target.split_once('(') {
            None => (target, None),
            Some((name, numbers)) => (name, Some(numbers)),
        };
        let name = name.trim();
        if !name.is_empty() {
            name.clone_into(&mut self.name);
        }
        let Some(numbers) = numbers else { return Ok(()) };
        let Some(numbers) = numbers.trim_end().strip_suffix(')') else {
            return Err(fault(words, at, "the brackets of the bins do not end"));
        };
        let parsed: Result<Vec<f64>, _> = numbers.split(',').map(str::trim).map(str::parse::<f64>).collect();
        let Ok(parsed) = parsed else {
            return Err(fault(words, at, "bins are numbers: (bins, min, max), for each axis from x on"));
        };
        let axes = parsed.chunks(3);
        if axes.len() > self.bins.len() {
            return Err(fault(words, at, format!("there are bins for more than {} axes", self.bins.len())));
        }
        for (bins, numbers) in self.bins.iter_mut().zip(axes) {
            let count = numbers.first().copied().unwrap_or(0.0);
            if count < 1.0 || count.fract() != 0.0 || count > 1e8 {
                return Err(fault(words, at, "the number of bins is a whole number from 1 to 100,000,000"));
            }
            *bins = match *numbers {
                [_, min, max] if min < max => {
                    let axis = Axis::regular(count as usize, min, max);
                    Bins::Fixed(Box::new(axis.map_err(|error| fault(words, at, error.message()))?))
                }
                [_, min, max] if min != max => {
                    return Err(fault(words, at, "an axis begins below where it ends"));
                }
                _ => Bins::Automatic(count as usize),
            };
        }
        Ok(())
    }

    /// Takes the values and weights of the entries of a step, part by part.
    fn each_part(&self, step: &Step<'_>, mut take: impl FnMut(Points) -> Result<()>) -> Result<()> {
        let cut = self.query.cut.as_ref();
        let bounds: Vec<&Bound> = self.query.values.iter().chain(cut).map(|value| &value.bound).collect();
        let compute =
            |rows: &Rows<'_>| self.points_of(rows, &bounds).map_err(|error| self.query.place(&self.title, error));
        self.query.each_part(step, &bounds, compute, |points| take(points.weighted(self.weight)))
    }

    /// What some rows are filled with. A cut on entries comes first, so that values are computed only where it passes.
    fn points_of(&self, rows: &Rows<'_>, bounds: &[&Bound]) -> Result<Points> {
        let cut = self.query.cut.as_ref();
        let values = &bounds[..self.query.values.len()];
        let Some(first) = cut.filter(|cut| cut.bound.depth == 0 && !cut.bound.in_loop) else {
            return passing(rows.together(bounds)?.1, cut);
        };
        let weights = rows.alone(&first.bound)?.spread()?;
        let Data::Numbers(numbers) = &weights.data else { return Err(super::fault::no_number()) };
        let passes = numbers.as_bool()?;
        let chosen: Vec<usize> = (0..passes.len()).filter(|&row| passes[row] && weights.is_there(row)).collect();
        // Where most rows pass, a copy of their columns costs more than values that are left out later. Rows that are
        // left out must not decide on whether a mask fits.
        if chosen.len() * 2 > passes.len() && !values.iter().any(|value| value.masks()) {
            let (_, mut values) = rows.together(values)?;
            values.push(weights);
            return passing(rows.align(values)?.1, cut);
        }
        let weights = index::rows(&weights, &chosen)?;
        let rows = rows.picked(chosen);
        let (_, mut values) = rows.together(values)?;
        if first.bound.is_condition() {
            return passing(values, None);
        }
        values.push(weights);
        passing(rows.align(values)?.1, cut)
    }

    /// The histogram without fills, with bins for these values.
    fn empty(&self, points: &[Points]) -> Result<Histogram> {
        let mut axes = Vec::with_capacity(self.bins.len());
        for (place, (bins, value)) in self.bins.iter().zip(&self.query.values).enumerate() {
            let axis = match bins {
                Bins::Fixed(axis) => (**axis).clone(),
                Bins::Automatic(count) => {
                    let columns = points.iter().filter_map(|points| points.columns.get(place));
                    let finite = columns.flatten().copied().filter(|value| value.is_finite());
                    let (least, largest) = finite.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
                    let (least, largest) = if least > largest { (0.0, 1.0) } else { (least, largest) };
                    let mut axis = Axis::automatic(*count, least, largest, value.bound.has_whole_bins())?;
                    axis.set_can_extend(true);
                    axis
                }
            };
            axes.push(axis.with_title(value.text.clone()));
        }
        let class = match (self.is_profile, axes.len()) {
            (false, 1) => "TH1D",
            (false, 2) => "TH2D",
            (false, _) => "TH3D",
            (true, 1) => "TProfile",
            (true, _) => "TProfile2D",
        };
        Ok(Histogram::new(class, axes)?.with_name(&self.name).with_title(&self.title))
    }
}

/// Fills many histograms of one source, which is read once.
///
/// # Errors
///
/// Those of [`Query::read`].
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{Draw, draw_many};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let draws = [Draw::new(&tree, "Jet_pt", "")?, Draw::new(&tree, "Jet_eta", "Jet_pt > 30")?];
/// assert_eq!(draw_many(&draws, &(0..tree.entries).try_into()?)?.len(), 2);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn draw_many(draws: &[Draw], entries: &Selection) -> Result<Vec<Histogram>> {
    draw_with(draws, entries, None, |_| Ok(()))
}

/// The same, and says how far the read of each step is; an error of `progress` ends it. Histograms that are given are
/// filled further, with another file for instance: `>>+h` of `TTree::Draw`.
///
/// # Errors
///
/// Those of [`Query::read`] and of `progress`, and [`Mismatch`](crate::ErrorKind::Mismatch) for histograms that do not
/// fit what is drawn.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{Draw, draw_with};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let draw = [Draw::new(&tree, "nJet", "")?];
/// let first = draw[0].run(0..4)?;
/// let both = draw_with(&draw, &(4..10).try_into()?, Some(vec![first]), |_progress| Ok(()))?;
/// assert_eq!(both[0].entries(), 10.0);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn draw_with(
    draws: &[Draw],
    entries: &Selection,
    histograms: Option<Vec<Histogram>>,
    mut progress: impl FnMut(Progress) -> Result<()>,
) -> Result<Vec<Histogram>> {
    let mut pending: Vec<Pending> = match histograms {
        None => draws.iter().map(|_| Pending::default()).collect(),
        Some(given) if given.len() == draws.len() => given.into_iter().map(Pending::of).collect(),
        Some(given) => {
            let words = "there are more histograms than what is drawn into them, or fewer";
            return Err(Error::mismatch(words).wanted(draws.len() as u64, given.len() as u64));
        }
    };
    let queries: Vec<&Query> = draws.iter().map(|draw| &draw.query).collect();
    let compute = |step: &Step<'_>, take: &mut dyn FnMut((usize, Points)) -> Result<()>| {
        let mut of_each = draws.iter().enumerate();
        of_each.try_for_each(|(place, draw)| draw.each_part(step, |points| take((place, points))))
    };
    let mut fill_one = |(place, points): (usize, Points)| {
        let (draw, pending) = (&draws[place], &mut pending[place]);
        match &mut pending.histogram {
            Some(histogram) => fill(histogram, &points),
            None => pending.wait(draw, points),
        }
    };
    each_step(&queries, entries, &mut progress, &compute, &mut fill_one)?;
    let done = draws.iter().zip(pending).map(|(draw, mut pending)| match pending.histogram {
        Some(histogram) => Ok(histogram),
        None => filled_with(draw, &mut pending.waiting),
    });
    done.collect()
}

/// A histogram while it is filled: first, values that decide on its bins.
#[derive(Default)]
struct Pending {
    histogram: Option<Histogram>,
    waiting: Vec<Points>,
    count: usize,
}

impl Pending {
    fn of(histogram: Histogram) -> Self {
        Self { histogram: Some(histogram), ..Self::default() }
    }

    /// Keeps values until there are enough, or fills them at once where the bins are given.
    fn wait(&mut self, draw: &Draw, mut points: Points) -> Result<()> {
        let is_automatic = draw.bins.iter().any(|bins| matches!(bins, Bins::Automatic(_)));
        // So many values decide, and no more of the part that they end in.
        let rest = points.split_off(if is_automatic { draw.estimate - self.count } else { points.len() });
        self.count += points.len();
        self.waiting.push(points);
        if self.count >= draw.estimate || !is_automatic {
            let mut histogram = filled_with(draw, &mut self.waiting)?;
            fill(&mut histogram, &rest)?;
            self.histogram = Some(histogram);
        }
        Ok(())
    }
}

/// A histogram of what has waited for its bins.
fn filled_with(draw: &Draw, waiting: &mut Vec<Points>) -> Result<Histogram> {
    let mut histogram = draw.empty(waiting)?;
    waiting.drain(..).try_for_each(|points| fill(&mut histogram, &points))?;
    Ok(histogram)
}

fn fill(histogram: &mut Histogram, points: &Points) -> Result<()> {
    let columns: Vec<&[f64]> = points.columns.iter().map(Vec::as_slice).collect();
    // Axes that can grow are filled row by row: they are told to only where a value is outside of them.
    let grows: Vec<bool> = histogram.axes().iter().map(Axis::can_extend).collect();
    for (place, column) in columns.iter().enumerate().take(grows.len()).filter(|(place, _)| grows[*place]) {
        let (min, max) = (histogram.axes()[place].min(), histogram.axes()[place].max());
        let is_inside = column.iter().all(|value| *value >= min && *value < max);
        if is_inside && let Some(axis) = histogram.axis_mut(place) {
            axis.set_can_extend(false);
        }
    }
    histogram.fill_many(&columns, points.weights.as_deref())?;
    for place in (0..grows.len()).filter(|place| grows[*place]) {
        if let Some(axis) = histogram.axis_mut(place) {
            axis.set_can_extend(true);
        }
    }
    Ok(())
}

/// The expressions, and what stands behind the last `>>`, if that is a name or bins.
fn split(words: &str) -> Result<(&str, Option<&str>)> {
    let found = tokens(words)?;
    let mut depth = 0_usize;
    let mut last = None;
    for (place, token) in found.iter().enumerate() {
        match token.token {
            Token::Sign("(" | "[") => depth += 1,
            Token::Sign(")" | "]") => depth = depth.saturating_sub(1),
            Token::Sign(">>") if depth == 0 => last = Some(place),
            _ => {}
        }
    }
    let Some(place) = last else { return Ok((words, None)) };
    let is_target = match found.get(place + 1).map(|next| &next.token) {
        Some(Token::Name(_)) => {
            // A name alone, or a name with bins, and nothing behind it.
            matches!(found.get(place + 2).map(|next| &next.token), Some(Token::End | Token::Sign("(")))
        }
        Some(Token::Sign("+")) => {
            let words_of = "'>>+' adds to a histogram: draw into it with draw_with, or over several files";
            return Err(fault(words, sign_at(&found, place), words_of));
        }
        Some(Token::Sign("(")) => true,
        _ => false,
    };
    let Some(sign) = found.get(place).filter(|_| is_target) else { return Ok((words, None)) };
    Ok((&words[..sign.span.start], Some(words[sign.span.end..].trim())))
}

/// Where a token begins.
fn sign_at(tokens: &[Placed], place: usize) -> usize {
    tokens.get(place).map_or(0, |token| token.span.start)
}
