//! Histograms of expressions: `TTree::Draw`.

use super::align::Lengths;
use super::bound::Bound;
use super::defined::Scope;
use super::evaluate::Rows;
use super::fault::fault;
use super::filling::{Along, Bins, Filling, Target};
use super::graph::{Builder, Piece, Want};
use super::index;
use super::parse::parse_list;
use super::points::{Points, passing};
use super::queries::Queries;
use super::select::Query;
use super::source::Source;
use super::step::Step;
use super::steps::each_step;
use super::token::{Placed, Token, tokens};
use super::value::Data;
use crate::error::{Error, Result};
use crate::hist::{Axis, Histogram};
use crate::read::{Progress, Selection};

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
    target: Target,
    /// The weight of each entry, besides the cut.
    weight: f64,
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
        let estimate = source.estimate().unwrap_or(Filling::ESTIMATE);
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
        let mut made = Target {
            title: match cut.is_empty() {
                true => values.trim().to_owned(),
                false => format!("{} {{{cut}}}", values.trim()),
            },
            bins: vec![Bins::Automatic(count); dimension],
            along: query.values.iter().map(|value| Along::of(&value.text, &value.bound)).collect(),
            name: "htemp".to_owned(),
            is_profile: false,
            is_weighted: false,
            estimate,
        };
        if let Some(target) = target {
            set_target(&mut made, words, target)?;
        }
        Ok(Self { query, target: made, weight })
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
        let target = &mut self.target;
        target.is_profile = true;
        target.bins.pop();
        if let [Bins::Automatic(40)] = target.bins[..] {
            target.bins[0] = Bins::Automatic(100);
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
        if axes.len() != self.target.bins.len() {
            let words = "a histogram has an axis for each expression";
            return Err(Error::mismatch(words).wanted(self.target.bins.len() as u64, axes.len() as u64));
        }
        self.target.bins = axes.into_iter().map(Box::new).map(Bins::Fixed).collect();
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
        &self.target.name
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
        let compute = |step: &Step<'_>, take: &mut dyn FnMut(Points) -> Result<()>| self.each_part(step, take);
        each_step(&Queries::new(&[&self.query])?, &entries, &mut |_| Ok(()), &compute, &mut append)?;
        Ok(all)
    }

    /// Takes the values and weights of the entries of a step, part by part.
    fn each_part(&self, step: &Step<'_>, mut take: impl FnMut(Points) -> Result<()>) -> Result<()> {
        let cut = self.query.cut.as_ref();
        let bounds: Vec<&Bound> = self.query.values.iter().chain(cut).map(|value| &value.bound).collect();
        let compute = |rows: &Rows<'_>| {
            self.points_of(rows, &bounds).map_err(|error| self.query.place(&self.target.title, error))
        };
        self.query.each_part(step, &bounds, compute, |points| take(points.weighted(self.weight)))
    }

    /// What some rows are filled with. A cut on entries comes first, so that values are computed only where it passes.
    fn points_of(&self, rows: &Rows<'_>, bounds: &[&Bound]) -> Result<Points> {
        let cut = self.query.cut.as_ref().map(|cut| &cut.bound);
        let values = &bounds[..self.query.values.len()];
        let Some(first) = cut.filter(|cut| cut.depth == 0 && !cut.in_loop) else {
            return passing(rows.together(bounds)?.1, cut);
        };
        let weights = rows.alone(first)?.spread()?;
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
        if first.is_condition() {
            return passing(values, None);
        }
        values.push(weights);
        passing(rows.align(values)?.1, cut)
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
    let mut fillings: Vec<Filling> = match histograms {
        None => draws.iter().map(|_| Filling::default()).collect(),
        Some(given) if given.len() == draws.len() => given.into_iter().map(Filling::of).collect(),
        Some(given) => {
            let words = "there are more histograms than what is drawn into them, or fewer";
            return Err(Error::mismatch(words).wanted(draws.len() as u64, given.len() as u64));
        }
    };
    if let [first, rest @ ..] = draws
        && !rest.is_empty()
        && rest.iter().all(|draw| means_the_same(&draw.query, &first.query))
    {
        return drawn_together(first, draws, entries, fillings, &mut progress);
    }
    let queries: Vec<&Query> = draws.iter().map(|draw| &draw.query).collect();
    let compute = |step: &Step<'_>, take: &mut dyn FnMut((usize, Points)) -> Result<()>| {
        let mut of_each = draws.iter().enumerate();
        of_each.try_for_each(|(place, draw)| draw.each_part(step, |points| take((place, points))))
    };
    let mut fill_one = |(place, points): (usize, Points)| fillings[place].take(&draws[place].target, points);
    if !draws.is_empty() {
        each_step(&Queries::new(&queries)?, entries, &mut progress, &compute, &mut fill_one)?;
    }
    draws.iter().zip(fillings).map(|(draw, filling)| filling.finish(&draw.target)).collect()
}

/// `name(bins, min, max, ...)`: the target after `>>`.
fn set_target(made: &mut Target, words: &str, target: &str) -> Result<()> {
    let at = words.len() - target.len();
    let (name, numbers) = match target.split_once('(') {
        None => (target, None),
        Some((name, numbers)) => (name, Some(numbers)),
    };
    let name = name.trim();
    if !name.is_empty() {
        name.clone_into(&mut made.name);
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
    if axes.len() > made.bins.len() {
        return Err(fault(words, at, format!("there are bins for more than {} axes", made.bins.len())));
    }
    for (bins, numbers) in made.bins.iter_mut().zip(axes) {
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

/// Fills histograms of one source whose expressions mean the same: what these have in common is computed once.
fn drawn_together(
    first: &Draw,
    draws: &[Draw],
    entries: &Selection,
    mut fillings: Vec<Filling>,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<Vec<Histogram>> {
    let mut builder = Builder::new(&first.query.source, &first.query.aliases);
    let outputs = draws.iter().map(|draw| output(&draw.query, &mut builder)).collect::<Result<Vec<_>>>()?;
    let graph = builder.finish(Lengths::Shortest);
    graph.run(entries, progress, &mut |output, piece| {
        let Piece::Points(points) = piece else { return Ok(()) };
        let of_output = draws.iter().zip(&mut fillings).zip(&outputs).filter(|(_, own)| **own == output);
        for ((draw, filling), _) in of_output {
            filling.take(&draw.target, points.clone().weighted(draw.weight))?;
        }
        Ok(())
    })?;
    draws.iter().zip(fillings).map(|(draw, filling)| filling.finish(&draw.target)).collect()
}

/// Whether names mean the same in two queries.
fn means_the_same(one: &Query, other: &Query) -> bool {
    one.source.is(&other.source) && one.aliases == other.aliases
}

/// The output of a graph that is what the values and the cut of a query are drawn with.
fn output(query: &Query, builder: &mut Builder<'_>) -> Result<usize> {
    let scope = Scope::default();
    let values = query.values.iter().map(|value| builder.value(&scope, &value.text)).collect::<Result<Vec<_>>>()?;
    let Some(cut) = &query.cut else { return builder.output(0, Want::Points, &values, None) };
    let weight = Some(builder.value(&scope, &cut.text)?);
    if cut.bound.depth > 0 || cut.bound.in_loop {
        return builder.output(0, Want::Passing, &values, weight);
    }
    let place = builder.filter(0, &scope, &cut.text)?;
    builder.output(place, Want::Points, &values, weight.filter(|_| !cut.bound.is_condition()))
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
