//! `sapwood compression`: which codec, level and basket size suit a file.

use std::io::Write;
use std::path::PathBuf;

use sapwood::Error;
use sapwood::codec::Compression;
use sapwood::inspect::compression::{Curve, Goal, Study, StudyOptions};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::{compression, documents};

/// Try codecs, levels and basket sizes on a part of a tree or RNTuple, and recommend settings for a purpose.
///
/// Entries are sampled from all of the file, and each branch is compressed and inflated with each setting. Sizes are
/// those that a rewrite makes, scaled to all entries; times are those of one core of this machine. Settings of single
/// branches are recommended if they gain at least 0.1 %.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        sapwood compression events.root\n  \
                        sapwood compression events.root:Events --for archive --out trade-off.svg\n  \
                        sapwood compression events.root --size 0.8\n  \
                        sapwood compression events.root --read-time 2.5 --settings zstd:3,zstd:5,lz4:4")]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree or RNTuple.
    target: String,
    /// `archive` (fewest bytes), `analysis` (fastest to fetch at 100 MB/s and to inflate) or `random-access` (fastest
    /// single entries in at most 1.15 times the bytes); once for each; all three by default.
    #[arg(long = "for", value_name = "PURPOSE")]
    purposes: Vec<Goal>,
    /// Recommend the settings that inflate fastest within this size in bytes, or within this part of the present size.
    #[arg(long, value_name = "BYTES|PART")]
    size: Option<String>,
    /// Recommend the fewest bytes that one core inflates in this time.
    #[arg(long, value_name = "SECONDS")]
    read_time: Option<f64>,
    /// Recommend the fewest bytes that one core compresses in this time.
    #[arg(long, value_name = "SECONDS")]
    write_time: Option<f64>,
    /// Bytes before compression that are tried, at most.
    #[arg(long, value_name = "BYTES", default_value_t = StudyOptions::default().sample_bytes)]
    sample: u64,
    /// Settings that are tried, like zstd:5,lz4:4; by default fifteen of all codecs.
    #[arg(long, value_delimiter = ',')]
    settings: Vec<Compression>,
    /// Sizes of baskets or pages before compression that are tried, like 65536,524288.
    #[arg(long, value_delimiter = ',')]
    basket_bytes: Vec<usize>,
    /// How many branches to show, those with the most bytes.
    #[arg(long, default_value_t = 20)]
    branches: usize,
    /// Draw sizes and times as SVG to this file.
    #[arg(long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// Threads that compress; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Print JSON, with all that was tried.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl Arguments {
    fn options(&self) -> StudyOptions {
        let usual = StudyOptions::default();
        let settings = if self.settings.is_empty() { usual.settings.clone() } else { self.settings.clone() };
        StudyOptions { sample_bytes: self.sample, settings, basket_bytes: self.basket_bytes.clone(), ..usual }
    }

    /// The purposes and limits of the user.
    fn goals(&self, study: &Study) -> Outcome<Vec<Goal>> {
        let mut goals = self.purposes.clone();
        if goals.is_empty() && self.size.is_none() && self.read_time.is_none() && self.write_time.is_none() {
            goals = vec![Goal::Archive, Goal::Analysis, Goal::RandomAccess];
        }
        if let Some(size) = &self.size {
            goals.push(Goal::Size(size_of(size, study.stored_bytes())?));
        }
        goals.extend(self.read_time.map(Goal::ReadTime));
        goals.extend(self.write_time.map(Goal::WriteTime));
        Ok(goals)
    }
}

/// A number of bytes, or a part of those now.
fn size_of(text: &str, now: u64) -> sapwood::Result<u64> {
    if let Ok(bytes) = text.parse() {
        return Ok(bytes);
    }
    let part = text.parse::<f64>().ok().filter(|part| part.is_finite() && *part > 0.0);
    let part = part.ok_or_else(|| Error::mismatch(format!("{text:?} is no number of bytes and no part like 0.8")))?;
    Ok((now as f64 * part) as u64)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let file = output::open(path, arguments.threads, &arguments.remote)?;
    let study = Study::of(&file, name, &arguments.options())?;
    let advice =
        arguments.goals(&study)?.into_iter().map(|goal| study.advise(goal)).collect::<sapwood::Result<Vec<_>>>()?;
    match arguments.json {
        true => output::json(out, &documents::compression(path, &study, &advice)),
        false => compression::words(path, &study, &advice, arguments.branches, out),
    }?;
    // Last: what was measured is told also where the picture cannot be written.
    if let Some(picture) = &arguments.out {
        let written = std::fs::write(picture, Curve::of(&study).to_svg());
        written.map_err(|error| Error::from(error).in_file(picture.display().to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_parts() {
        assert_eq!(size_of("500", 80).unwrap(), 500);
        assert_eq!(size_of("0.5", 80).unwrap(), 40);
        assert_eq!(size_of("1.5", 80).unwrap(), 120);
        for wrong in ["-1", "0.0", "half", "nan", "inf", ""] {
            assert!(size_of(wrong, 80).is_err(), "{wrong}");
        }
    }
}
