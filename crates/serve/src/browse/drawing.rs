//! Histograms of expressions for the page.

use std::sync::Arc;

use sapwood::hist::Histogram;
use sapwood::inspect::perf::PerfStats;
use sapwood::io::MemorySink;
use sapwood::query::{Draw, Source, draw_with};
use sapwood::read::Progress;
use sapwood::table::Table;
use sapwood::write::{FileWriter, WriteOptions};
use sapwood::{Error, Result};
use serde_json::{Value, json};

use super::layout_data;
use super::open_files::OpenFiles;
use super::opened::Opened;
use super::page_query::PageQuery;
use super::picture;
use super::reply::{Done, Work};

/// The most bins of a histogram that is filled for a page.
const MOST_CELLS: f64 = 4e6;
/// As many bins as an axis has at most where nothing is said of it.
const AUTOMATIC_BINS: f64 = 100.0;
/// The most stored bytes of an object that is saved.
const MOST_SAVED: u64 = 256 << 20;

/// The histogram that a query describes, as data that the page draws. With `record` also how it was read.
pub(super) fn draw(open_files: &OpenFiles, query: &PageQuery, work: &Work) -> Result<Done> {
    let opened = open_files.open(query.text("file"))?;
    let table = table(open_files, &opened, query)?;
    let mut answer = json!({ "state": opened.state });
    if query.flag("record") {
        table.file().perf().start();
    }
    let histogram = filled(&table, query, work)?;
    if query.flag("record") {
        table.file().perf().stop();
        answer["run"] = layout_data::run_json(&PerfStats::of(&table)?);
    }
    answer["object"] = picture::histogram(&histogram)?;
    Ok(Done::Json(answer))
}

/// The histogram that a query describes.
pub(super) fn histogram(open_files: &OpenFiles, query: &PageQuery, work: &Work) -> Result<Histogram> {
    let opened = open_files.open(query.text("file"))?;
    filled(&table(open_files, &opened, query)?, query, work)
}

/// The same histogram as a ROOT file; without expressions the object of a path.
pub(super) fn save(open_files: &OpenFiles, query: &PageQuery, work: &Work) -> Result<Done> {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "histogram.root", WriteOptions::default())?;
    if query.text("x").is_empty() {
        let opened = open_files.open(query.text("file"))?;
        let (path, key) = (query.text("path"), opened.file.key(query.text("path"))?);
        if key.has_entries() || key.is_directory() {
            let words = format!("a {} is not saved by a page: `sapwood cp` copies it", key.class);
            return Err(Error::mismatch(words).in_object(&key.name));
        }
        // It is in memory twice.
        if u64::from(key.nbytes) > MOST_SAVED {
            let words = "the object is too large for a page: `sapwood cp` copies it";
            return Err(Error::limit(words, MOST_SAVED, key.nbytes.into()).in_object(&key.name));
        }
        file.copy(&opened.file, path, &key.name)?;
    } else {
        let histogram = histogram(open_files, query, work)?;
        let name = histogram.name();
        file.write(&name, histogram.into_draft())?;
    }
    file.close()?;
    Ok(Done::Bytes(sink.to_bytes(), "application/octet-stream"))
}

/// What has the entries: opened apart where its reads are to be recorded.
fn table(open_files: &OpenFiles, opened: &Opened, query: &PageQuery) -> Result<Table> {
    let path = query.text("path");
    match query.flag("record") {
        true => {
            let file = open_files.apart(opened)?;
            let table = file.table(path)?;
            // Read page lists before the run, which is about the values.
            table.clusters()?;
            Ok(table)
        }
        false => opened.table_of(path),
    }
}

fn filled(table: &Table, query: &PageQuery, work: &Work) -> Result<Histogram> {
    let axes = [query.text("z"), query.text("y"), query.text("x")].map(str::trim);
    let axes: Vec<&str> = axes.into_iter().skip_while(|words| words.is_empty()).collect();
    if axes.is_empty() || axes.contains(&"") {
        return Err(Error::mismatch("say what is drawn along x, then along y, then along z"));
    }
    let is_profile = query.flag("profile");
    let bins = bins(query.text("bins"), axes.len() - usize::from(is_profile))?;
    let name = match query.text("name") {
        "" => "h",
        name => name,
    };
    if name.contains(['(', ')', '>', ';', '/']) {
        return Err(Error::mismatch(format!("{name:?} is no name of a histogram")));
    }
    let words = format!("{}>>{name}{bins}", axes.join(":"));
    let draw = Draw::new(Source::from(table), &words, &selection(query))?;
    let draw = if is_profile { draw.profile()? } else { draw };
    let all = table.entries();
    let from = query.number("from", 0_u64)?.min(all);
    let to = query.number("to", all)?.clamp(from, all);
    let mut told = Told { total: stored_bytes(table, &draw.needed(), to - from), ..Told::default() };
    let progress = |progress: Progress| work.is_at(told.part(progress));
    let found = draw_with(std::slice::from_ref(&draw), &(from..to).try_into()?, None, progress)?;
    found.into_iter().next().ok_or_else(|| Error::internal("nothing was drawn"))
}

/// The cut, times the weight.
fn selection(query: &PageQuery) -> String {
    let (cut, weight) = (query.text("cut").trim(), query.text("weight").trim());
    match (cut.is_empty(), weight.is_empty()) {
        (_, true) => cut.to_owned(),
        (true, false) => weight.to_owned(),
        (false, false) => format!("({weight}) * ({cut})"),
    }
}

/// `100,0,50,40,,` for each axis from x on: how many, from where to where. Nothing means bins around the values.
fn bins(text: &str, axes: usize) -> Result<String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let number = |word: &str| match word.trim() {
        "" => Ok(0.0),
        word => word.parse::<f64>().map_err(|_| Error::mismatch(format!("bins are numbers, and {word:?} is none"))),
    };
    let numbers: Vec<f64> = text.split(',').map(number).collect::<Result<_>>()?;
    let mut counts = vec![AUTOMATIC_BINS; axes];
    for (count, given) in counts.iter_mut().zip(numbers.iter().step_by(3)) {
        *count = *given;
    }
    let cells = counts.iter().product::<f64>();
    // What is no number is refused as well.
    if !counts.iter().all(|count| *count >= 1.0) || cells > MOST_CELLS {
        return Err(Error::limit("too many bins for a page, or none", MOST_CELLS as u64, cells as u64));
    }
    let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
    Ok(format!("({})", words.join(",")))
}

/// Bytes of what is read for some of the entries, about.
fn stored_bytes(table: &Table, ids: &[usize], entries: u64) -> f64 {
    let all: u64 = match table {
        Table::Tree(tree) => ids.iter().filter_map(|&id| tree.branches().get(id)).map(|branch| branch.zip_bytes).sum(),
        Table::NTuple(ntuple) => ids.iter().filter_map(|&id| ntuple.field_bytes(id).ok()).map(|of| of.stored).sum(),
    };
    all as f64 * (entries as f64 / table.entries().max(1) as f64)
}

/// How far all steps of a read are, of each of which the reader says how far it is.
#[derive(Default)]
struct Told {
    total: f64,
    /// Bytes of the steps before.
    before: u64,
    last: u64,
}

impl Told {
    fn part(&mut self, progress: Progress) -> f64 {
        if progress.done_bytes < self.last {
            self.before += self.last;
        }
        self.last = progress.done_bytes;
        (self.before + self.last) as f64 / self.total.max(1.0)
    }
}

/// An object of a file, as data that the page draws; null where it cannot.
pub(super) fn object(open_files: &OpenFiles, query: &PageQuery) -> Result<Value> {
    let opened = open_files.open(query.text("file"))?;
    let key = opened.file.key(query.text("path"))?;
    let object = opened.object(&key)?;
    Ok(json!({
        "state": opened.state, "class": &*key.class, "title": &*key.title, "name": &*key.name, "seek": key.seek_key,
        "object": picture::object(&object)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_numbers_and_not_too_many() {
        assert_eq!(bins("", 1).unwrap(), "");
        assert_eq!(bins("100,0,50.5,40,,", 2).unwrap(), "(100,0,50.5,40,0,0)");
        assert!(bins("4000000,0,1", 1).is_ok());
        for (words, axes) in [
            ("100,zero,1", 1),
            ("3000,0,1,3000,0,1", 2),
            // Bins around the values count, too.
            ("4000000,0,1", 2),
            ("3000,0,1,40,0,1", 3),
            ("4000000,0,1,,,", 2),
            ("nan,0,1", 1),
            ("-4000000,0,1,-4000000,0,1", 2),
        ] {
            assert!(bins(words, axes).is_err(), "{words}");
        }
    }

    #[test]
    fn progress_adds_up_the_steps() {
        let mut told = Told { total: 100.0, ..Told::default() };
        let parts = [10, 40, 5, 60].map(|done_bytes| told.part(Progress { done_bytes, total_bytes: 60 }));
        assert_eq!(parts, [0.1, 0.4, 0.45, 1.0]);
    }
}
