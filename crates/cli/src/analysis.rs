//! Analyses that are written down: files, frames and histograms, in TOML or JSON.

use std::collections::BTreeMap;

use sapwood::frame::{Frame, Variation, Wanted};
use sapwood::hist::Axis;
use sapwood::{Error, Result};
use serde_json::{Map, Value};

/// A part of the document, with its path there.
#[derive(Clone)]
pub(crate) struct Part<'d> {
    value: &'d Value,
    path: String,
}

/// An analysis.
pub(crate) struct Analysis {
    /// Whether an expression asks for the entries of all files.
    pub(crate) counts_entries: bool,
    pub(crate) samples: Vec<Sample>,
    pub(crate) histograms: Vec<(String, Wanted)>,
    /// Frames with filters, by name: each is reported.
    pub(crate) reports: Vec<(String, Wanted)>,
}

/// Files with what is known of them.
pub(crate) struct Sample {
    /// Empty without samples.
    pub(crate) name: String,
    /// Files, patterns or folders, with the path of the tree after a colon.
    pub(crate) files: Vec<String>,
    /// Expressions by name.
    pub(crate) names: Vec<(String, String)>,
}

impl<'d> Part<'d> {
    fn fault(&self, wanted: &str) -> Error {
        let path = if self.path.is_empty() { "the document" } else { &self.path };
        Error::mismatch(format!("{path}: expected {wanted}"))
    }

    fn child(&self, name: &str, value: &'d Value) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { value, path }
    }

    fn table(&self) -> Result<&'d Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.fault("a table"))
    }

    /// The entries of a table, in their order.
    fn entries(&self) -> Result<Vec<(&'d str, Part<'d>)>> {
        Ok(self.table()?.iter().map(|(name, value)| (name.as_str(), self.child(name, value))).collect())
    }

    fn get(&self, name: &str) -> Result<Option<Part<'d>>> {
        Ok(self.table()?.get(name).map(|value| self.child(name, value)))
    }

    fn text(&self) -> Result<&'d str> {
        self.value.as_str().ok_or_else(|| self.fault("a text"))
    }

    fn texts(&self) -> Result<Vec<&'d str>> {
        match self.value {
            Value::String(one) => Ok(vec![one]),
            Value::Array(all) => {
                let texts = all.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
                texts.ok_or_else(|| self.fault("a list of texts"))
            }
            _ => Err(self.fault("a text, or a list of texts")),
        }
    }

    fn numbers(&self) -> Result<Vec<f64>> {
        let all = self.value.as_array().and_then(|all| all.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
        all.ok_or_else(|| self.fault("a list of numbers"))
    }

    /// Refuses names that mean nothing here.
    fn only(&self, known: &[&str]) -> Result<()> {
        match self.table()?.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let place = if self.path.is_empty() { String::new() } else { format!(" in {}", self.path) };
                Err(Error::mismatch(format!("{name:?}{place} is not known: there are {}", known.join(", "))))
            }
        }
    }
}

/// Reads an analysis.
pub(crate) fn analysis(document: &Value) -> Result<Analysis> {
    let whole = Part { value: document, path: String::new() };
    whole.only(&["files", "samples", "frames", "histograms"])?;
    let samples = match (whole.get("files")?, whole.get("samples")?) {
        (Some(files), None) => {
            let files = files.texts()?.into_iter().map(str::to_owned).collect();
            vec![Sample { name: String::new(), files, names: Vec::new() }]
        }
        (None, Some(samples)) => {
            samples.entries()?.into_iter().map(|(name, part)| sample(name, &part)).collect::<Result<_>>()?
        }
        _ => return Err(whole.fault("either files or samples")),
    };
    let counts_entries = document.to_string().contains("Entries$");
    let mut frames = Frames { parts: BTreeMap::new(), made: BTreeMap::new() };
    if let Some(all) = whole.get("frames")? {
        frames.parts = all.entries()?.into_iter().collect();
    }
    let names: Vec<&str> = frames.parts.keys().copied().collect();
    let mut reports = Vec::new();
    for name in names {
        let frame = frames.named(name, 0)?;
        let Some(part) = frames.parts.get(name).filter(|part| part.value.get("filter").is_some()) else { continue };
        let weight = part.get("weight")?.map(|weight| weight.text()).transpose()?;
        reports.push((name.to_owned(), frame.report(weight)?));
    }
    let mut histograms = Vec::new();
    for (name, part) in whole.get("histograms")?.map_or_else(|| Ok(Vec::new()), |all| all.entries())? {
        histograms.push((name.to_owned(), histogram(name, &part, &mut frames)?));
    }
    Ok(Analysis { counts_entries, samples, histograms, reports })
}

/// A sample; the words of RDataFrame's dataset specification are understood, too.
fn sample(name: &str, part: &Part<'_>) -> Result<Sample> {
    let files = part.get("files")?.ok_or_else(|| part.fault("files"))?.texts()?;
    let trees = part.get("trees")?.map_or_else(|| Ok(Vec::new()), |trees| trees.texts())?;
    if files.is_empty() {
        return Err(part.fault("at least one file"));
    }
    let files = match &trees[..] {
        [] => files.into_iter().map(str::to_owned).collect(),
        [tree] => files.into_iter().map(|file| format!("{file}:{tree}")).collect(),
        trees if trees.len() == files.len() => {
            files.iter().zip(trees).map(|(file, tree)| format!("{file}:{tree}")).collect()
        }
        _ => return Err(part.fault("one tree, or one for each file")),
    };
    let mut names = Vec::new();
    let metadata = part.get("metadata")?.map_or_else(|| Ok(Vec::new()), |all| all.entries())?;
    let beside = part.entries()?.into_iter().filter(|(name, _)| !["files", "trees", "metadata"].contains(name));
    for (name, part) in metadata.into_iter().chain(beside) {
        let text = match part.value {
            Value::Bool(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            Value::String(value) => serde_json::to_string(value).map_err(|_| part.fault("a text"))?,
            _ => return Err(part.fault("a number or a text")),
        };
        names.push((name.to_owned(), text));
    }
    Ok(Sample { name: name.to_owned(), files, names })
}

/// The frames of a document by name.
struct Frames<'d> {
    parts: BTreeMap<&'d str, Part<'d>>,
    made: BTreeMap<String, Frame>,
}

/// The most frames on top of each other.
const MAX_DEPTH: usize = 100;

impl Frames<'_> {
    fn named(&mut self, name: &str, depth: usize) -> Result<Frame> {
        if let Some(known) = self.made.get(name) {
            return Ok(known.clone());
        }
        let Some(part) = self.parts.get(name).cloned() else {
            let known: Vec<&str> = self.parts.keys().copied().collect();
            return Err(Error::not_found(format!("the frame {name:?} is missing; known are {}", known.join(", "))));
        };
        if depth > MAX_DEPTH {
            return Err(Error::mismatch(format!(
                "frames.{name} is built on itself, or on more than {MAX_DEPTH} others"
            )));
        }
        part.only(&["from", "define", "redefine", "filter", "range", "vary", "weight"])?;
        let mut frame = match part.get("from")? {
            Some(from) => self.named(from.text()?, depth + 1)?,
            None => Frame::new(),
        };
        let placed = |part: &Part<'_>, error: Error| error.in_words(format!("{}: {}", part.path, error.message()));
        for (what, part) in part.entries()?.into_iter().filter(|(what, _)| !["from", "weight"].contains(what)) {
            if what == "vary" {
                for (name, tags) in part.entries()? {
                    frame = frame.vary(variations(name, &tags)?).map_err(|error| placed(&tags, error))?;
                }
                continue;
            }
            if what == "range" {
                let (start, stop, step) = range(&part)?;
                frame = frame.range(start, stop, step).map_err(|error| placed(&part, error))?;
                continue;
            }
            if what == "filter" && !part.value.is_object() {
                for text in part.texts()? {
                    frame = frame.filter(text, "").map_err(|error| placed(&part, error))?;
                }
                continue;
            }
            for (name, text) in part.entries()? {
                let words = text.text()?;
                let next = match what {
                    "define" => frame.define(name, words),
                    "redefine" => frame.redefine(name, words),
                    _ => frame.filter(words, name),
                };
                frame = next.map_err(|error| placed(&text, error))?;
            }
        }
        self.made.insert(name.to_owned(), frame.clone());
        Ok(frame)
    }
}

/// `range = 1000`, `[start, stop]`, or `[start, stop, step]`.
fn range(part: &Part<'_>) -> Result<(u64, Option<u64>, u64)> {
    let wrong = || part.fault("a whole number, or [start, stop], or [start, stop, step]");
    if let Some(stop) = part.value.as_u64() {
        return Ok((0, Some(stop), 1));
    }
    let all = part.value.as_array().ok_or_else(wrong)?;
    let all: Vec<u64> = all.iter().map(|one| one.as_u64().ok_or_else(wrong)).collect::<Result<_>>()?;
    match all[..] {
        [start, stop] => Ok((start, Some(stop), 1)),
        [start, stop, step] => Ok((start, Some(stop), step)),
        _ => Err(wrong()),
    }
}

fn variations(name: &str, tags: &Part<'_>) -> Result<Vec<Variation>> {
    let one = |(tag, of): (&str, Part<'_>)| {
        let of = of.entries()?.into_iter().map(|(column, text)| Ok((column.to_owned(), text.text()?.to_owned())));
        Ok(Variation { name: format!("{name}:{tag}"), of: of.collect::<Result<_>>()? })
    };
    tags.entries()?.into_iter().map(one).collect()
}

fn histogram(name: &str, part: &Part<'_>, frames: &mut Frames<'_>) -> Result<Wanted> {
    part.only(&["frame", "of", "bins", "edges", "weight", "profile", "sparse", "title"])?;
    let frame = match part.get("frame")? {
        Some(frame) => frames.named(frame.text()?, 0)?,
        None => Frame::new(),
    };
    let of = part.get("of")?.ok_or_else(|| part.fault("of, an expression for each axis"))?.texts()?;
    let title = part.get("title")?.map_or_else(|| Ok(of.join(", ")), |title| title.text().map(str::to_owned))?;
    let is = |name| -> Result<bool> {
        let Some(part) = part.get(name)? else { return Ok(false) };
        part.value.as_bool().ok_or_else(|| part.fault("true or false"))
    };
    let made = || {
        let of = of.iter().copied();
        let mut wanted = if is("sparse")? { frame.sparse(of)? } else { frame.histogram(of)? }.named(name, &title)?;
        if is("profile")? {
            wanted = wanted.profile()?;
        }
        if let Some(axes) = axes(part)? {
            wanted = wanted.axes(axes)?;
        }
        match part.get("weight")? {
            Some(weight) => wanted.weight(weight.text()?),
            None => Ok(wanted),
        }
    };
    made().map_err(|error| error.in_words(format!("histograms.{name}: {}", error.message())))
}

/// The axes of a histogram: `bins = [number, low, high]`, or `edges`; lists of these for several axes.
fn axes(part: &Part<'_>) -> Result<Option<Vec<Axis>>> {
    let (given, has_edges) = match (part.get("bins")?, part.get("edges")?) {
        (Some(bins), None) => (bins, false),
        (None, Some(edges)) => (edges, true),
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(part.fault("bins or edges, not both")),
    };
    let is_nested = given.value.as_array().is_some_and(|all| all.iter().any(Value::is_array));
    let all: Vec<Part<'_>> = match given.value.as_array().filter(|_| is_nested) {
        Some(all) => all.iter().enumerate().map(|(place, one)| given.child(&place.to_string(), one)).collect(),
        None => vec![given],
    };
    let one = |part: &Part<'_>| {
        let numbers = part.numbers()?;
        match (has_edges, &numbers[..]) {
            (true, edges) => Axis::variable(edges),
            (false, [count, low, high]) if *count >= 1.0 && count.fract() == 0.0 && *count <= 1e8 => {
                Axis::regular(*count as usize, *low, *high)
            }
            _ => Err(part.fault("[number of bins, low, high]")),
        }
    };
    all.iter().map(one).collect::<Result<Vec<_>>>().map(Some)
}
