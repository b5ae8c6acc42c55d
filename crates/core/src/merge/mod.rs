//! MERGING: many files become one. Trees are concatenated basket by basket, without decoding the baskets.
//!
//! Inputs are opened ahead, each is checked before any of it is written, and a failing input does not affect the
//! others. Source: `TFileMerger`, `hadd`.

mod input;
mod list;
mod listed;
mod ntuples;
mod objects;
mod output;
mod pick;
mod prefetch_inputs;
mod report;
mod statistics;
mod sum;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use list::{inputs_of, names_of};
pub use listed::Listed;
pub use pick::Pick;
pub use report::{Level, Merged, MergedTree};
pub use statistics::{join_statistics, joined_statistics};
pub use sum::{Sum, can_add};

use crate::codec::Compression;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::io::{AtomicFile, Flow, LocalFile};
use crate::session::Session;
use crate::write::{Baskets, FileWriter, Remake, TreeOptions, WriteOptions};
use output::{Running, WiderBranches};

/// How files are merged.
///
/// # Example
///
/// ```
/// use sapwood::io::Flow;
/// use sapwood::merge::{Level, Merge};
/// # let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// # let output = std::env::temp_dir().join("sapwood-merge.root");
/// let how = Merge { replaces: true, ..Merge::default() };
/// let inputs = [input.to_owned(), input.to_owned()];
/// let merged = how.run(&output, &inputs, &|path| sapwood::File::open(path), &mut |_| Flow::Go)?;
/// assert_eq!((merged.inputs, merged.trees[0].level), (2, Level::Copy));
/// let (one, two) = (sapwood::File::open(input)?.tree("t")?, sapwood::File::open(&output)?.tree("t")?);
/// assert_eq!(two.entries, 2 * one.entries);
/// # std::fs::remove_file(output).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Merge {
    /// How baskets are compressed.
    pub packing: Packing,
    /// How newly written objects are compressed, records of trees among them; none for the setting of the baskets, or
    /// of the first input.
    pub objects: Option<Compression>,
    /// Whether the inputs are added to the existing output.
    pub append: bool,
    /// Whether an existing output may be replaced.
    pub replaces: bool,
    /// Whether inputs that cannot be merged are skipped.
    pub skips: bool,
    /// Whether trees are merged; otherwise they are skipped.
    pub trees: bool,
    /// Only some objects, or all but some.
    pub listed: Option<Listed>,
    /// New clusters and baskets, across the boundaries of inputs; none to keep the existing ones.
    pub recluster: Option<TreeOptions>,
    /// The directory of the intermediate file of `recluster`; none for that of the output.
    pub scratch: Option<PathBuf>,
    /// Inputs that are open at a time.
    pub open_files: usize,
    /// Threads that compress.
    pub session: Session,
    /// The same inputs give the same bytes: no date, and a UUID of zeros.
    pub reproducible: bool,
    /// Inflates baskets that are copied unchanged, so that a damaged one is an error. Otherwise they are not checked.
    pub verify: bool,
}

impl Default for Merge {
    fn default() -> Self {
        /// One input is merged while the next ones are opened.
        const OPEN_FILES: usize = 5;
        Self {
            packing: Packing::Keep,
            objects: None,
            append: false,
            replaces: false,
            skips: false,
            trees: true,
            listed: None,
            recluster: None,
            scratch: None,
            open_files: OPEN_FILES,
            session: Session::default(),
            reproducible: false,
            verify: false,
        }
    }
}

/// How the baskets of the output are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// As they are in the inputs (`hadd -fk`).
    #[default]
    Keep,
    /// As the first input says (`hadd -ff`).
    First,
    /// Like this (`hadd -f505`).
    As(Compression),
}

/// The progress of a merge. One that finds out that branches need wider types begins again, with the first input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Finished inputs.
    pub done: usize,
    /// All inputs.
    pub inputs: usize,
    /// Bytes of the finished inputs.
    pub bytes: u64,
}

/// The Adler-32 checksum of a file, as storage systems use it.
///
/// # Errors
///
/// What the system reports.
///
/// # Example
///
/// ```
/// # let path = std::env::temp_dir().join("sapwood-adler.txt");
/// std::fs::write(&path, "Wikipedia")?;
/// assert_eq!(sapwood::merge::adler32(&path)?, 0x11e6_0398);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn adler32(path: impl AsRef<Path>) -> Result<u32> {
    use std::io::Read;
    const STEP_BYTES: usize = 1 << 20;
    let named =
        |error: std::io::Error| Error::system("cannot read the file", error).in_file(path.as_ref().to_string_lossy());
    let mut file = std::fs::File::open(&path).map_err(named)?;
    let (mut sum, mut step) = (libdeflater::Adler32::new(), vec![0; STEP_BYTES]);
    loop {
        match file.read(&mut step) {
            Ok(0) => return Ok(sum.sum()),
            Ok(bytes) => sum.update(step.get(..bytes).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(named(error)),
        }
    }
}

/// Opens an input by its name.
pub type Open<'a> = dyn Fn(&str) -> Result<File> + Sync + 'a;

impl Merge {
    /// Merges inputs, in their order, into one file. `open` opens them, in other threads and ahead of time; `watch` is
    /// called for each finished one, and may stop the merge.
    ///
    /// The first tree of a path decides the branches and their types. Branches that only later trees have are skipped,
    /// and plain branches whose numbers have another type in others get one that holds all values, with a notice (in a
    /// file that is appended to, only narrower numbers are widened); an input without a branch, or with one of another
    /// type, cannot be merged.
    ///
    /// The output gets its name only once it is complete; an output that is appended to is unchanged until then.
    ///
    /// # Errors
    ///
    /// What opening, reading and writing report, with the name of the input; [`Mismatch`](ErrorKind::Mismatch) for
    /// trees that do not fit those of the first input, for an input that is the output, and if there is nothing to
    /// merge; [`Malformed`](ErrorKind::Malformed) for inputs that were not closed or were cut;
    /// [`Exists`](ErrorKind::Exists) for an output that must not be replaced; [`Cancelled`](ErrorKind::Cancelled) if
    /// `watch` stopped it.
    pub fn run(
        &self,
        output: impl AsRef<Path>,
        inputs: &[String],
        open: &Open<'_>,
        watch: &mut dyn FnMut(Progress) -> Flow,
    ) -> Result<Merged> {
        let (began, output) = (std::time::Instant::now(), output.as_ref());
        let named = |error: Error| error.in_file(output.to_string_lossy());
        self.check(inputs).map_err(named)?;
        if !(self.append && output.exists()) {
            let staged = AtomicFile::new(output, self.replaces)?;
            let merged = self.run_into(&staged, inputs, open, watch)?;
            staged.publish()?;
            return Ok(merged);
        }
        let target = Target::of(output);
        let writer = FileWriter::update(output, self.options(None))?;
        // Existing trees keep their types: the file is not begun again.
        let mut writer = Some(writer);
        let mut create = |_| writer.take().ok_or_else(|| Error::internal("the output was begun twice"));
        let none = WiderBranches::new();
        let merged = self.join_as(inputs, open, &target, watch, &mut create, &none, None)?;
        let mut merged = merged.ok_or_else(|| Error::internal("a merge has no outcome"))?;
        merged.output_bytes = output.metadata().map_err(|error| named(error.into()))?.len();
        Ok(self.finished(merged, inputs, began))
    }

    /// [`run`](Self::run) into a file that the caller publishes; `append` and `replaces` have no meaning here.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::{AtomicFile, Flow};
    /// use sapwood::merge::Merge;
    /// # let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// # let output = std::env::temp_dir().join(format!("sapwood-merge-into-{}.root", std::process::id()));
    /// let target = AtomicFile::new(&output, true)?;
    /// let inputs = [input.to_owned()];
    /// Merge::default().run_into(&target, &inputs, &|path| sapwood::File::open(path), &mut |_| Flow::Go)?;
    /// target.publish()?;
    /// assert_eq!(sapwood::File::open(&output)?.tree("t")?.entries, 60);
    /// # std::fs::remove_file(output)?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn run_into(
        &self,
        output: &AtomicFile,
        inputs: &[String],
        open: &Open<'_>,
        watch: &mut dyn FnMut(Progress) -> Flow,
    ) -> Result<Merged> {
        let began = std::time::Instant::now();
        self.check(inputs)?;
        let target = Target::of(output.target());
        let file_name = output.target().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let create = |path: &Path, compression| {
            FileWriter::to_sink(LocalFile::create(path)?, file_name.clone(), self.options(compression))
        };
        let mut merged = match &self.recluster {
            None => self.join(inputs, open, &target, watch, |first| create(output.path(), first)),
            Some(wish) => self.reclustered(inputs, open, &target, watch, output, wish, &create),
        }?;
        merged.output_bytes = output.path().metadata()?.len();
        Ok(self.finished(merged, inputs, began))
    }

    fn check(&self, inputs: &[String]) -> Result<()> {
        if inputs.is_empty() {
            return Err(Error::mismatch("there is nothing to merge"));
        }
        if self.append && self.recluster.is_some() {
            return Err(Error::mismatch("a file that is appended to keeps its clusters"));
        }
        Ok(())
    }

    fn finished(&self, mut merged: Merged, inputs: &[String], began: std::time::Instant) -> Merged {
        let mut times: HashMap<&String, u64> = HashMap::new();
        inputs.iter().for_each(|name| *times.entry(name).or_default() += 1);
        // Each is told of once.
        let often = inputs.iter().filter_map(|name| Some((name, times.remove(name).filter(|&times| times > 1)?)));
        merged.notices.extend(often.map(|(name, times)| format!("{name} was merged {times} times, as was asked for")));
        merged.verified = self.verify;
        merged.took = began.elapsed();
        merged
    }

    fn options(&self, compression: Option<Compression>) -> WriteOptions {
        WriteOptions {
            compression,
            session: self.session.clone(),
            reproducible: self.reproducible,
            verify: self.verify,
            ..WriteOptions::default()
        }
    }

    /// Merges into the file that `create` returns once the first input, and with it the compression, is known. Begins
    /// again with wider types if those of the first tree cannot hold all numbers.
    fn join(
        &self,
        inputs: &[String],
        open: &Open<'_>,
        target: &Target,
        watch: &mut dyn FnMut(Progress) -> Flow,
        mut create: impl FnMut(Option<Compression>) -> Result<FileWriter>,
    ) -> Result<Merged> {
        /// Files that change while they are merged could need more and more.
        const MAX_STARTS: usize = 4;
        let mut wider = WiderBranches::new();
        for _ in 1..MAX_STARTS {
            let mut needed = WiderBranches::new();
            if let Some(merged) = self.join_as(inputs, open, target, watch, &mut create, &wider, Some(&mut needed))? {
                return Ok(merged);
            }
            for (path, branches) in needed {
                branches.into_values().for_each(|branch| output::widen(&mut wider, &path, branch));
            }
        }
        let merged = self.join_as(inputs, open, target, watch, &mut create, &wider, None)?;
        merged.ok_or_else(|| Error::internal("a merge has no outcome"))
    }

    /// Merges into branches of which some get wider types. Returns nothing if others need them, too, and puts these
    /// into `needed`.
    #[expect(clippy::too_many_arguments, reason = "those of join, and its state")]
    fn join_as(
        &self,
        inputs: &[String],
        open: &Open<'_>,
        target: &Target,
        watch: &mut dyn FnMut(Progress) -> Flow,
        create: &mut dyn FnMut(Option<Compression>) -> Result<FileWriter>,
        wider: &WiderBranches,
        mut needed: Option<&mut WiderBranches>,
    ) -> Result<Option<Merged>> {
        let mut running: Option<Running> = None;
        let mut merged = Merged::default();
        let prepare = |index: usize| {
            let name = inputs.get(index).map_or("", String::as_str);
            let named = |error: Error| error.in_file(name);
            let file = open(name).map_err(named)?;
            target.refuse(&file).map_err(named)?;
            input::Input::look(file, self.trees, self.listed.as_ref()).map_err(named)
        };
        let take = |index: usize, input: Result<input::Input>| {
            let name = inputs.get(index).map_or("", String::as_str);
            let outcome = match input {
                Ok(input) => {
                    let running = match &mut running {
                        Some(running) => running,
                        None => {
                            let first = Compression::from_root(input.file.header().compress);
                            let wanted = match self.packing {
                                Packing::As(compression) => Some(compression),
                                Packing::Keep | Packing::First => first,
                            };
                            let again = if self.packing == Packing::Keep { None } else { wanted };
                            let writer = create(self.objects.or(wanted))?;
                            running.insert(Running::new(writer, again, wider.clone()))
                        }
                    };
                    running.add(input, self.skips, needed.as_deref_mut(), &mut merged)
                }
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => {}
                // An error of the output is not the input's.
                Err(error) if self.skips && error.place().file.as_deref() == Some(name) => {
                    merged.skipped.push((name.to_owned(), error));
                }
                Err(error) => return Err(error),
            }
            match watch(Progress { done: index + 1, inputs: inputs.len(), bytes: merged.input_bytes }) {
                Flow::Go => Ok(()),
                Flow::Stop => Err(Error::new(ErrorKind::Cancelled, "the merge was stopped")),
            }
        };
        let outcome = prefetch_inputs::each(inputs.len(), self.open_files.saturating_sub(1), prepare, take);
        let Some(running) = running else {
            outcome?;
            let (name, error) = merged.skipped.pop().unwrap_or_else(|| (String::new(), Error::mismatch("no inputs")));
            return Err(Error::mismatch("no input can be merged").in_file(name).because(error));
        };
        if outcome.is_ok() && needed.is_some_and(|needed| !needed.is_empty()) {
            running.abandon()?;
            return Ok(None);
        }
        let outcome = outcome.and_then(|()| match &self.listed {
            Some(listed) => listed.check(running.listed(), &mut merged.notices),
            None => Ok(()),
        });
        match outcome {
            Ok(()) => running.finish(&mut merged)?,
            Err(error) => {
                // Report the first error.
                let _ = running.abandon();
                return Err(error);
            }
        }
        Ok(Some(merged))
    }

    /// Merges into an intermediate file, then rewrites its trees into new clusters.
    #[expect(clippy::too_many_arguments, reason = "what run has found out")]
    fn reclustered(
        &self,
        inputs: &[String],
        open: &Open<'_>,
        target: &Target,
        watch: &mut dyn FnMut(Progress) -> Flow,
        staged: &AtomicFile,
        wish: &TreeOptions,
        create: &dyn Fn(&Path, Option<Compression>) -> Result<FileWriter>,
    ) -> Result<Merged> {
        let mut between = staged.path().as_os_str().to_owned();
        between.push(".merged");
        let between = match &self.scratch {
            Some(folder) => folder.join(Path::new(&between).file_name().unwrap_or_default()),
            None => PathBuf::from(between),
        };
        let between = AtomicFile::new(&between, false)?;
        // Baskets are compressed once, when they are created.
        let quick = Self { packing: Packing::Keep, ..self.clone() };
        let mut compression = None;
        let mut merged = quick.join(inputs, open, target, watch, |first| {
            compression = first;
            create(between.path(), first)
        })?;
        if let Packing::As(wanted) = self.packing {
            compression = Some(wanted);
        }
        let from = File::open(between.path())?;
        let own = if self.packing == Packing::Keep { None } else { compression };
        let wish = TreeOptions { compression: wish.compression.or(own), ..wish.clone() };
        let how = Remake { baskets: Baskets::New(wish), ..Remake::default() };
        let writer = create(staged.path(), compression)?;
        let remade = writer.remake(&from, || File::open(staged.path()), &how)?;
        for remade in remade {
            let Some(tree) = merged.trees.iter_mut().find(|tree| tree.path == remade.path) else { continue };
            tree.figures = remade.after;
            merged.notices.extend(remade.notes.iter().map(|note| format!("{}: {note}", tree.path)));
            match remade.kept {
                Some(reason) => merged.notices.push(format!("{} keeps its clusters: {reason}", tree.path)),
                None => {
                    // All of them are new, whatever the first step did.
                    (tree.copied, tree.recompressed, tree.embedded) = Default::default();
                    tree.reencoded = (remade.after.baskets, remade.after.zip_bytes);
                    tree.level = Level::Reencode;
                }
            }
        }
        Ok(merged)
    }
}

/// The identity of the output file, whatever its name.
struct Target {
    #[cfg(unix)]
    known: Option<(u64, u64)>,
}

impl Target {
    fn of(output: &Path) -> Self {
        Self {
            #[cfg(unix)]
            known: output.metadata().ok().as_ref().map(place),
        }
    }

    /// Refuses an input that is the output.
    fn refuse(&self, input: &File) -> Result<()> {
        #[cfg(unix)]
        if let (Some(known), Some(file)) = (self.known, input.store().as_file())
            && file.metadata().is_ok_and(|metadata| place(&metadata) == known)
        {
            return Err(Error::mismatch("the input is the output"));
        }
        Ok(())
    }
}

/// Device and number of a file.
#[cfg(unix)]
fn place(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}
