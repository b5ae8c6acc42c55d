//! `sapwood frame`: an analysis that is written down.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use sapwood::chain::Chain;
use sapwood::frame::{Cut, Diagram, Outcome as Value, Run, Varied, Wanted};
use sapwood::inspect::draw_frame;
use sapwood::write::{FileWriter, WriteOptions};
use sapwood::{Error, Session};

use crate::analysis::{Analysis, Sample, analysis};
use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::source::{Friends, LumiMaskOption};
use crate::targets::targets;

/// Compute an analysis in one pass: histograms with filters and variations, described in a file.
///
/// The file has `files` (or `samples`), `frames` and `histograms`, in TOML or JSON: see docs/frame.md. Histograms are
/// written by their names; those of variations as NAME_VARIATION_TAG, those of samples in a folder for each.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sapwood frame analysis.toml --out histograms.root
  sapwood frame analysis.toml --out histograms.root --graph steps.svg
  sapwood frame analysis.toml --out histograms.root --friend new=weights.root:tree")]
pub(crate) struct Arguments {
    /// The description of the analysis, `.toml` or `.json`.
    analysis: PathBuf,
    /// The new file for the histograms, a path or a URL.
    #[arg(short, long)]
    out: PathBuf,
    /// Replace an existing file.
    #[arg(short, long)]
    force: bool,
    /// Threads; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Draw the steps of the analysis into this SVG file, with entries and seconds of each.
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,
    #[command(flatten)]
    friends: Friends,
    #[command(flatten)]
    mask: LumiMaskOption,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let analysis = read(&arguments.analysis)?;
    if analysis.samples.len() > 1 && arguments.friends.are_by_place() {
        let words = "the entries of a friend are matched by their place, which begins anew in each sample: name an \
                     index of it with --friend-index";
        return Err(Error::mismatch(words).into());
    }
    output::check_output(&arguments.out)?;
    if let Some(path) = arguments.graph.as_ref().filter(|path| [&arguments.analysis, &arguments.out].contains(path)) {
        let words = format!("--graph {} is the file of something else: name another one", path.display());
        return Err(Error::mismatch(words).into());
    }
    let staged = output::staged(&arguments.out, arguments.force, &arguments.remote)?;
    let session = Session::with_threads(arguments.threads);
    let mut found = Vec::with_capacity(analysis.samples.len());
    let mut diagram: Option<Diagram> = None;
    for sample in &analysis.samples {
        let run = computed(arguments, &session, &analysis, sample)?;
        match &mut diagram {
            None => diagram = Some(run.diagram().clone()),
            Some(diagram) => diagram.add(run.diagram())?,
        }
        found.push(run.finish()?);
    }
    note_unused(arguments, &analysis, &found);
    check_paths(&analysis, &found)?;
    let mut file = FileWriter::staged(&staged, WriteOptions::default())?;
    let mut count = 0;
    for (sample, results) in analysis.samples.iter().zip(found) {
        if !sample.name.is_empty() {
            file.mkdir(&sample.name)?;
        }
        let mut results = results.into_iter();
        for (name, _) in &analysis.histograms {
            let Some(Varied { nominal, variations }) = results.next() else { break };
            for (variation, value) in std::iter::once((None, nominal)).chain(named(variations)) {
                let draft = match value {
                    Value::Histogram(histogram) => histogram.into_draft(),
                    Value::Sparse(sparse) => sparse.into_draft(),
                    _ => continue,
                };
                file.write(&path_of(sample, name, variation.as_deref()), draft)?;
                count += 1;
            }
        }
        for ((frame, _), result) in analysis.reports.iter().zip(results) {
            report(out, &sample.name, frame, result.nominal.report()?)?;
        }
    }
    file.close()?;
    staged.publish()?;
    if let (Some(path), Some(diagram)) = (&arguments.graph, &diagram) {
        let cannot = |error| Error::from(error).in_words(format!("{} cannot be written", path.display()));
        std::fs::write(path, draw_frame(diagram)).map_err(cannot)?;
    }
    writeln!(out, "{count} histograms in {}", output::shown(&arguments.out))?;
    Ok(())
}

/// The path of a histogram in the new file.
fn path_of(sample: &Sample, name: &str, variation: Option<&str>) -> String {
    let tail = variation.map_or_else(String::new, |name| format!("_{}", name.replace(':', "_")));
    match sample.name.as_str() {
        "" => format!("{name}{tail}"),
        sample => format!("{sample}/{name}{tail}"),
    }
}

/// Refuses two histograms of one path: the name of a histogram may be that of another one with a variation.
fn check_paths(analysis: &Analysis, found: &[Vec<Varied>]) -> Outcome {
    for (sample, results) in analysis.samples.iter().zip(found) {
        let mut known = HashSet::new();
        for ((name, _), result) in analysis.histograms.iter().zip(results) {
            let names = result.variations.iter().map(|(variation, _)| Some(variation.as_str()));
            for variation in std::iter::once(None).chain(names) {
                let path = path_of(sample, name, variation);
                if !known.insert(path.clone()) {
                    let words = format!("two histograms would be {path:?}: rename a histogram or a variation");
                    return Err(Error::mismatch(words).into());
                }
            }
        }
    }
    Ok(())
}

fn named(variations: Vec<(String, Value)>) -> impl Iterator<Item = (Option<String>, Value)> {
    variations.into_iter().map(|(name, value)| (Some(name), value))
}

/// Gives notice of variations that change no histogram and no report: their names may be wrong.
fn note_unused(arguments: &Arguments, analysis: &Analysis, found: &[Vec<Varied>]) {
    let wanted = analysis.histograms.iter().chain(&analysis.reports).map(|(_, wanted)| wanted);
    let mut unused: Vec<&str> = wanted.flat_map(Wanted::variations).collect();
    unused.sort_unstable();
    unused.dedup();
    let used = |name: &str| found.iter().flatten().any(|result| result.variations.iter().any(|(of, _)| of == name));
    unused.retain(|name| !used(name));
    if !unused.is_empty() {
        let words = format!("no result depends on the variation {}: all have nominal values alone", unused.join(", "));
        arguments.remote.notices.add(words);
    }
}

/// Computes the histograms and then the reports of a sample.
fn computed(arguments: &Arguments, session: &Session, analysis: &Analysis, sample: &Sample) -> Outcome<Run> {
    let mut places = Vec::new();
    for target in &sample.files {
        places.extend(targets(target, session, &arguments.remote)?.places);
    }
    let chain = arguments.friends.chain(places, session, &arguments.remote)?;
    let chain: Chain = arguments.mask.of(chain)?;
    let wanted = analysis.histograms.iter().chain(&analysis.reports).map(|(_, wanted)| wanted.clone());
    let mut run = Run::new(wanted);
    for member in chain.members() {
        let member = member?;
        let mut names = member.names(if analysis.counts_entries { &["Entries$"] } else { &[] })?;
        names.extend(sample.names.iter().cloned());
        let entries = member.all()?;
        let aliases = || names.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
        // Looking up the names decides whether stored friends are needed.
        let plan = member.with_friends(|source| run.plan(source, aliases()))?;
        run.read(&plan, entries, |_| Ok(()), |_| Ok(()))?;
    }
    Ok(run)
}

/// The table of the filters of a frame.
fn report(out: &mut dyn Write, sample: &str, frame: &str, cuts: &[Cut]) -> Outcome {
    let name = if sample.is_empty() { frame.to_owned() } else { format!("{sample}, {frame}") };
    writeln!(out, "{name}")?;
    let width = cuts.iter().map(|cut| cut.name.chars().count()).max().unwrap_or(0).max(6);
    let has_weights = cuts.iter().any(|cut| cut.weights.is_some());
    let more = if has_weights { format!(" {:>14} {:>14}", "weight met", "passed") } else { String::new() };
    writeln!(out, "  {:width$} {:>12} {:>12} {:>8}{more}", "filter", "met", "passed", "%")?;
    for cut in cuts {
        let share = if cut.all == 0 { f64::NAN } else { 100.0 * cut.passed as f64 / cut.all as f64 };
        let weights = cut.weights.map_or_else(String::new, |(met, passed)| format!(" {met:>14.6} {passed:>14.6}"));
        writeln!(out, "  {:width$} {:>12} {:>12} {share:>8.2}{weights}", cut.name, cut.all, cut.passed)?;
    }
    writeln!(out)?;
    Ok(())
}

/// The description of an analysis.
fn read(path: &Path) -> Outcome<Analysis> {
    let wrong = |error: &dyn std::fmt::Display| Error::mismatch(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::from(error).in_words(format!("{} cannot be read", path.display())))?;
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let document: serde_json::Value = if is_json {
        serde_json::from_str(&text).map_err(|error| wrong(&error))?
    } else {
        toml::from_str(&text).map_err(|error| wrong(&error))?
    };
    Ok(analysis(&document).map_err(|error| error.in_words(format!("{}: {}", path.display(), error.message())))?)
}
