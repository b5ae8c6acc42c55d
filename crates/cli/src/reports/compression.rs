//! A study of compression in words, and the commands that do what it recommends.

use std::io::Write;

use sapwood::inspect::compression::{Advice, Goal, Study, Transformations, Trial};

use crate::output::{self, Outcome};
use crate::reports::shell::{quoted, target};

/// The command that does what was recommended.
pub(crate) fn line(path: &str, study: &Study, advice: &Advice) -> String {
    let word = match advice.goal {
        Goal::Archive => "archive",
        Goal::Analysis => "analysis",
        Goal::RandomAccess => "random-access",
        Goal::Size(_) => "smaller",
        Goal::ReadTime(_) | Goal::WriteTime(_) => "faster",
    };
    // What proves who asks is for its user to add.
    let path = &*sapwood_store::redact(path);
    let mut options: Vec<String> = Vec::new();
    for option in advice.options() {
        match options.last_mut() {
            // A value that begins like an option is one only behind `=`.
            Some(name) if option.starts_with('-') && !option.starts_with("--") => {
                *name += &format!("={}", quoted(&option))
            }
            _ => options.push(quoted(&option)),
        }
    }
    let (from, to, tree) = (quoted(path), quoted(&target(path, word)), quoted(&study.path));
    format!("sapwood rewrite {from} {to} --tree {tree} {}", options.join(" "))
}

/// A study in plain words.
pub(crate) fn words(path: &str, study: &Study, advice: &[Advice], branches: usize, out: &mut dyn Write) -> Outcome {
    let now = study.stored_bytes();
    writeln!(
        out,
        "{}: {} entries, {now} bytes, {} before compression; {} entries tried",
        study.path,
        study.entries,
        study.bytes(),
        study.sampled_entries
    )?;
    if let Some(reason) = &study.kept {
        writeln!(out, "Its baskets stay as they are ({reason}): only their compression can change.")?;
    }
    if study.embedded > 0 {
        writeln!(out, "{} baskets are in the tree's own record: the bytes of now leave them out.", study.embedded)?;
    }
    match study.transformations {
        Transformations::None => writeln!(
            out,
            "Nothing rearranges bytes before compression in a TTree so that ROOT undoes it; RNTuples do (rewrite --to rntuple)."
        )?,
        Transformations::Split { bytes, plain_bytes } => writeln!(
            out,
            "RNTuple's split encodings make {bytes} bytes of what would be {plain_bytes}; a rewrite uses them."
        )?,
    }
    writeln!(out)?;
    let (piece, is_kept) = (if study.is_ntuple { "page" } else { "basket" }, study.kept.is_some());
    let mut head = vec!["setting".to_owned(), "bytes".into(), "of now".into(), "write, s".into(), "read, s".into()];
    let usual = study.basket_bytes.iter().copied().find(|bytes| *bytes == study.usual_basket_bytes);
    let usual = usual.or_else(|| study.basket_bytes.first().copied()).unwrap_or_default();
    let others: Vec<usize> = study.basket_bytes.iter().copied().filter(|bytes| *bytes != usual).collect();
    head.extend(others.iter().map(|bytes| format!("{piece}s of {bytes}")));
    let rows: Vec<Vec<String>> = study
        .settings
        .iter()
        .filter_map(|&setting| {
            let trial = study.with(setting, usual)?;
            let mut row = vec![setting.to_string(), trial.bytes.to_string(), part(trial.bytes, now)];
            row.extend([seconds(trial.write_seconds), seconds(trial.read_seconds)]);
            row.extend(others.iter().filter_map(|&bytes| Some(study.with(setting, bytes)?.bytes.to_string())));
            Some(row)
        })
        .collect();
    if !is_kept {
        writeln!(out, "One setting for all, in {piece}s of {usual} bytes; bytes in other {piece}s beside it:")?;
    }
    output::table(out, &head.iter().map(|name| &**name).collect::<Vec<_>>(), &rows)?;
    writeln!(out)?;
    of_branches(study, usual, branches, out)?;
    for advice in advice {
        recommendation(path, study, advice, now, out)?;
    }
    Ok(())
}

/// For the largest branches the setting with the fewest bytes, and the one that is fetched and inflated fastest.
fn of_branches(study: &Study, usual: usize, most: usize, out: &mut dyn Write) -> Outcome {
    let mut largest: Vec<_> = study.branches.iter().collect();
    largest.sort_by_key(|branch| std::cmp::Reverse(branch.stored_bytes));
    let row = |path: &str, sort: &dyn Fn(&Trial) -> f64| -> Vec<String> {
        let tried = study.settings.iter().filter_map(|&how| Some((how, study.branch_with(path, how, usual)?)));
        let best = tried.min_by(|a, b| sort(&a.1).total_cmp(&sort(&b.1)));
        best.map_or_else(Vec::new, |(setting, trial)| {
            let times = [seconds(trial.write_seconds), seconds(trial.read_seconds)];
            [vec![setting.to_string(), trial.bytes.to_string()], times.to_vec()].concat()
        })
    };
    let rows: Vec<Vec<String>> = largest
        .iter()
        .take(most)
        .map(|branch| {
            let now = vec![branch.path.clone(), branch.stored_bytes.to_string()];
            let smallest = row(&branch.path, &|trial| trial.bytes as f64);
            [now, smallest, row(&branch.path, &Trial::fetch_seconds)].concat()
        })
        .collect();
    let head =
        ["branch", "bytes now", "smallest", "bytes", "write, s", "read, s", "fastest", "bytes", "write, s", "read, s"];
    output::table(out, &head, &rows)?;
    if let Some(more) = study.branches.len().checked_sub(most).filter(|more| *more > 0) {
        writeln!(out, "and {more} branches more")?;
    }
    writeln!(out)?;
    Ok(())
}

fn recommendation(path: &str, study: &Study, advice: &Advice, now: u64, out: &mut dyn Write) -> Outcome {
    let Trial { bytes, write_seconds, read_seconds } = advice.trial;
    writeln!(
        out,
        "{}: {bytes} bytes ({} of now), {} s to compress, {} s to inflate",
        advice.goal,
        part(bytes, now),
        seconds(write_seconds),
        seconds(read_seconds)
    )?;
    if let Some(entry) = advice.entry_seconds {
        writeln!(out, "  an entry of all branches: {:.1} us to inflate", 1e6 * entry)?;
    }
    match advice.single {
        Some((setting, single)) if advice.compression.patterns().next().is_some() => {
            let (of, took) = (single.bytes, seconds(single.read_seconds));
            let (fewer, longer) = (percent(bytes, single.bytes), read_seconds - single.read_seconds);
            writeln!(
                out,
                "  the best one setting, {setting}: {of} bytes, {took} s; by branch {fewer} bytes, {longer:+.4} s"
            )?;
        }
        // For single entries only one setting is tried.
        Some(_) if advice.goal == Goal::RandomAccess => {}
        Some(_) => writeln!(out, "  settings of single branches gain less than 0.1 %")?,
        None => writeln!(out, "  no one setting for all branches keeps to it")?,
    }
    writeln!(out, "  {}", line(path, study, advice))?;
    Ok(())
}

/// A number of seconds.
fn seconds(count: f64) -> String {
    if count < 0.1 { format!("{count:.4}") } else { format!("{count:.2}") }
}

fn part(bytes: u64, now: u64) -> String {
    format!("{:.3}", bytes as f64 / now.max(1) as f64)
}

/// By how much a number differs from another.
fn percent(of: u64, from: u64) -> String {
    format!("{:+.1} %", 100.0 * (of as f64 / from.max(1) as f64 - 1.0))
}
