//! `sapwood draw`: a histogram of expressions.

use std::io::Write;

use sapwood::chain::Place;
use sapwood::hist::Histogram;
use sapwood::inspect::histogram as picture;
use sapwood::query::{Draw, draw_with};
use sapwood::write::{FileWriter, WriteOptions};
use sapwood::{Error, Session};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::source::{Friends, LumiMaskOption};
use crate::targets::targets;

/// Draw a histogram of expressions, as TTree::Draw.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sapwood draw events.root 'Muon_pt>>h(50, 0, 100)' 'nMuon > 1'
  sapwood draw events.root:Events 'Muon_eta:Muon_pt' --out eta.svg
  sapwood draw 'run*.root:Events' 'Muon_pt>>h(50, 0, 100)'
  sapwood draw events.root 'Sum$(Jet_pt)' --out ht.root
  sapwood draw events.root 'new.weight' --friend new=weights.root:tree")]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree or RNTuple; a pattern, folder or chain for several.
    target: String,
    /// One to three expressions with colons between them, the last one along x; `>>` and bins may follow.
    expression: String,
    /// An expression that is true for what is drawn, or its weight.
    #[arg(default_value = "")]
    cut: String,
    /// Draw means of the first expression in bins of the others.
    #[arg(long)]
    profile: bool,
    /// Leave out the weight of the tree (`TTree::SetWeight`).
    #[arg(long)]
    no_tree_weight: bool,
    /// Write to this file: `.svg`, `.pdf` or `.png` a picture, `.root` the histogram.
    #[arg(short, long)]
    out: Option<std::path::PathBuf>,
    /// Replace an existing file.
    #[arg(short, long)]
    force: bool,
    /// Threads; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    friends: Friends,
    #[command(flatten)]
    mask: LumiMaskOption,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let session = Session::with_threads(arguments.threads);
    let files = targets(&arguments.target, &session, &arguments.remote)?;
    let to = arguments.out.as_deref().map(|to| Output::new(to, arguments, &files.places)).transpose()?;
    let weight = if arguments.no_tree_weight { Some(1.0) } else { files.weight };
    let chain = arguments.mask.of(arguments.friends.chain(files.places, &session, &arguments.remote)?)?;
    let mut drawn = None;
    for member in chain.members() {
        let member = member?;
        let names = member.names(&[&arguments.expression, &arguments.cut])?;
        let draw = member.with_friends(|source| {
            let names = names.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
            let draw = Draw::with_aliases(source, &arguments.expression, &arguments.cut, names)?;
            let draw = if let Some(weight) = weight { draw.tree_weight(weight) } else { draw };
            if arguments.profile { draw.profile() } else { Ok(draw) }
        })?;
        if drawn.is_none() {
            draw.notices().into_iter().for_each(|words| arguments.remote.notices.add(words));
        }
        drawn = Some(draw_with(&[draw], &member.all()?, drawn, |_| Ok(()))?);
    }
    let histogram = drawn.and_then(|mut drawn| drawn.pop()).ok_or_else(|| Error::internal("nothing was drawn"))?;
    match to {
        None => write!(out, "{}", picture::text(&histogram)?)?,
        Some(Output::Svg(to)) => std::fs::write(to, picture::svg(&histogram)?)?,
        Some(Output::Png(to)) => std::fs::write(to, picture::png(&histogram)?)?,
        Some(Output::Pdf(to)) => std::fs::write(to, picture::pdf(&histogram)?)?,
        Some(Output::Root(to)) => write_root(to, histogram)?,
    }
    Ok(())
}

/// The output, checked before anything is read.
enum Output<'p> {
    Svg(&'p std::path::Path),
    Png(&'p std::path::Path),
    Pdf(&'p std::path::Path),
    Root(&'p std::path::Path),
}

impl<'p> Output<'p> {
    fn new(to: &'p std::path::Path, arguments: &Arguments, files: &[Place]) -> Outcome<Self> {
        let found = match to.extension().and_then(std::ffi::OsStr::to_str) {
            Some("svg") => Self::Svg(to),
            Some("png") => Self::Png(to),
            Some("pdf") => Self::Pdf(to),
            Some("root") => Self::Root(to),
            _ => {
                let words = format!("{}: a histogram is written as .svg, .png, .pdf or .root", to.display());
                return Err(Error::mismatch(words).into());
            }
        };
        if to.exists() && !arguments.force {
            let words = format!("{} is there already: --force replaces it", to.display());
            return Err(Error::new(sapwood::ErrorKind::Exists, words).into());
        }
        let place = to.canonicalize().ok();
        if place.is_some() && files.iter().any(|input| std::fs::canonicalize(&input.file).ok() == place) {
            let words = format!("{} is the file that is read: write to another one", to.display());
            return Err(Error::mismatch(words).into());
        }
        Ok(found)
    }
}

fn write_root(to: &std::path::Path, histogram: Histogram) -> Outcome {
    let name = histogram.name();
    output::check_output(to)?;
    let mut file = FileWriter::recreate(to, WriteOptions::default())?;
    file.write(&name, histogram.into_draft())?;
    file.close()?;
    Ok(())
}
