//! Which codec, level and basket size suit a tree or an RNTuple: measured on some of its entries.
//!
//! Entries are sampled, written into baskets or pages of several sizes as a rewrite would, and each of these is
//! compressed and inflated with each setting, branch by branch. Sizes are those of the same writer, so that they depend
//! on the file alone; times are those of a core of this machine.

mod advice;
mod curve;
mod rules;
mod sample;
mod trial;

pub use advice::{Advice, Goal};
pub use curve::Curve;
pub use trial::Trial;

use sample::{AS_IT_IS, Sample};
use std::sync::Arc;
use trial::BlockTrial;

use crate::codec::{Compression, CompressionByName, RandomAccess};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::inspect::layout::Layout;
use crate::ntuple::NTuple;
use crate::session::Session;
use crate::tree::Tree;
use crate::write::{TreeOptions, entries_of_cluster};

/// What is tried.
///
/// # Example
///
/// ```
/// use sapwood::inspect::compression::StudyOptions;
/// let settings = vec!["zstd:5".parse()?, "lz4:4".parse()?];
/// let quick = StudyOptions { sample_bytes: 1 << 20, settings, ..Default::default() };
/// assert!(quick.basket_bytes.is_empty());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StudyOptions {
    /// So many bytes before compression are sampled; all entries where there are no more.
    pub sample_bytes: u64,
    /// Settings that are tried.
    pub settings: Vec<Compression>,
    /// Sizes of baskets, or of pages, that are tried; none for 64 KiB, the size that a rewrite makes, and four times
    /// that.
    pub basket_bytes: Vec<usize>,
    /// Blocks of entries that are tried for random access to trees.
    pub random_access: Vec<RandomAccess>,
}

impl Default for StudyOptions {
    fn default() -> Self {
        let settings = [0, 401, 404, 409, 101, 106, 109, 501, 503, 505, 507, 509, 201, 205, 209];
        Self {
            sample_bytes: 16 << 20,
            settings: settings.into_iter().filter_map(Compression::from_root).collect(),
            basket_bytes: Vec::new(),
            random_access: std::iter::once(RandomAccess::Auto)
                .chain([8, 64, 512].into_iter().filter_map(|entries| RandomAccess::entries(entries).ok()))
                .collect(),
        }
    }
}

/// What was measured of one branch, or of one field.
#[derive(Clone, Debug)]
pub struct BranchStudy {
    /// Its path.
    pub path: String,
    /// Its stored bytes now.
    pub stored_bytes: u64,
    /// Its bytes before compression.
    pub bytes: u64,
    name: Arc<str>,
    /// Length of the name of the top-level branch at the beginning of the path.
    top: usize,
    /// Baskets or pages of each size.
    pieces: Vec<f64>,
    /// One for each size of a basket and each setting.
    trials: Vec<Trial>,
    /// One for each kind of blocks and each setting for them.
    blocks: Vec<BlockTrial>,
}

impl BranchStudy {
    /// The names by which patterns know it: path, name, and that of the top-level branch.
    fn names(&self) -> [&str; 3] {
        [&self.path, &self.name, self.path.get(..self.top).unwrap_or(&self.path)]
    }
}

/// The study of a tree or an RNTuple.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::compression::{Goal, Study, StudyOptions};
/// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
/// let advice = study.advise(Goal::Archive)?;
/// println!("sapwood rewrite in.root out.root {}", advice.options().join(" "));
/// assert!(advice.single.is_some_and(|(_, trial)| advice.trial.bytes <= trial.bytes));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Study {
    /// Path of the tree.
    pub path: String,
    /// Whether it is an RNTuple.
    pub is_ntuple: bool,
    /// Its entries.
    pub entries: u64,
    /// How many of them were tried.
    pub sampled_entries: u64,
    /// Settings that were tried.
    pub settings: Vec<Compression>,
    /// Sizes of baskets or pages that were tried; a single 0 where baskets cannot be made anew.
    pub basket_bytes: Vec<usize>,
    /// Baskets that are in the tree's own record now, which the stored bytes of now leave out.
    pub embedded: usize,
    /// Why baskets cannot be made anew, if they cannot.
    pub kept: Option<String>,
    /// What there is to transform before compression, and what it brings.
    pub transformations: Transformations,
    /// Its branches or fields.
    pub branches: Vec<BranchStudy>,
    random_access: Vec<RandomAccess>,
    block_settings: Vec<Compression>,
    /// The size of a basket or a page that a rewrite makes, if it was tried.
    pub usual_basket_bytes: usize,
}

/// Rearrangements of bytes that readers undo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transformations {
    /// A `TTree` has none: its baskets hold values as they are streamed.
    None,
    /// The split, delta and zigzag encodings of RNTuple, which every rewrite into compressed pages uses.
    Split {
        /// Bytes with them, at the setting of `zstd:5` or the first that was tried.
        bytes: u64,
        /// Bytes of the same values as they are in memory.
        plain_bytes: u64,
    },
}

/// Settings that random access is tried with: those that inflate fast.
const BLOCK_SETTINGS: [i32; 3] = [404, 106, 505];

impl Study {
    /// Studies a tree or RNTuple of a file; the only one where no path is given.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where there is no such tree, [`Mismatch`](crate::ErrorKind::Mismatch)
    /// where there are several and none is named, or nothing is to be tried; what reading the sampled entries reports.
    pub fn of(file: &File, path: Option<&str>, options: &StudyOptions) -> Result<Self> {
        let (path, key) = find(file, path)?;
        if options.settings.is_empty() || options.sample_bytes == 0 || options.basket_bytes.contains(&0) {
            let words = "a study tries at least one setting on at least one byte, in baskets of at least one byte";
            return Err(file.name(Error::mismatch(words)));
        }
        match key.is_ntuple() {
            true => Self::of_ntuple(file, path, &key, &*file.ntuple_at(&key)?, options),
            false => Self::of_tree(file, path, &*file.tree_at(&key)?, options),
        }
    }

    fn of_tree(file: &File, path: String, tree: &Tree, options: &StudyOptions) -> Result<Self> {
        let usual = TreeOptions::default();
        let basket_bytes = sizes(options, usual.basket_bytes);
        let all = tree.branches().iter().fold(0_u64, |sum, branch| sum.saturating_add(branch.tot_bytes));
        let ranges = sample::ranges(tree.entries, all, entries_of_cluster(tree, &usual), options.sample_bytes);
        let new = |&bytes: &usize| Sample::of_tree(file, &path, tree, &ranges, bytes);
        let (samples, basket_bytes, kept) = match basket_bytes.iter().map(new).collect::<Result<Vec<_>>>() {
            Ok(samples) => (samples, basket_bytes, None),
            Err(reason) if sample::keeps_baskets(&reason) => {
                let each = options.sample_bytes / tree.branches().len().max(1) as u64;
                (vec![Sample::of_baskets(tree, each)?], vec![AS_IT_IS], Some(reason.message().to_owned()))
            }
            Err(error) => return Err(error),
        };
        let now = |path: &str| {
            let branch = tree.branches().iter().find(|branch| *branch.path == *path);
            branch.map_or((0, 0), |branch| (branch.zip_bytes, branch.tot_bytes))
        };
        // Baskets that stay have no blocks of entries.
        let blocks = if kept.is_some() { &[][..] } else { &options.random_access };
        let usual_basket_bytes = if kept.is_some() { AS_IT_IS } else { usual.basket_bytes };
        let mut study = Self {
            path,
            is_ntuple: false,
            embedded: Layout::of_tree(tree).branches.iter().map(|branch| branch.embedded).sum(),
            entries: tree.entries,
            sampled_entries: samples.first().map_or(0, |sample| sample.entries),
            settings: options.settings.clone(),
            basket_bytes,
            kept,
            transformations: Transformations::None,
            branches: Vec::new(),
            random_access: blocks.to_vec(),
            block_settings: BLOCK_SETTINGS.into_iter().filter_map(Compression::from_root).collect(),
            usual_basket_bytes,
        };
        study.measure(&samples, &now, &file.options().session)?;
        Ok(study)
    }

    fn of_ntuple(file: &File, path: String, key: &Key, ntuple: &NTuple, options: &StudyOptions) -> Result<Self> {
        let usual = crate::write::NTupleOptions::default().page_bytes;
        let basket_bytes = sizes(options, usual);
        let mut found: std::collections::HashMap<String, (u64, u64)> = std::collections::HashMap::new();
        let layout = Layout::of_ntuple(ntuple)?;
        let fields = ntuple.fields();
        for column in &layout.branches {
            let field = ntuple.column(column.id)?.field;
            let Some(field) = fields.get(field) else { continue };
            let sum = found.entry(field.path.to_string()).or_default();
            *sum = (sum.0.saturating_add(column.zip_bytes), sum.1.saturating_add(column.tot_bytes));
        }
        let all = found.values().fold(0_u64, |sum, bytes| sum.saturating_add(bytes.1));
        let ranges = sample::ranges(ntuple.entries, all, ntuple.entries, options.sample_bytes);
        let of = |bytes: usize, is_split: bool| Sample::of_ntuple(file, key, ntuple, &ranges, bytes, is_split);
        let samples = basket_bytes.iter().map(|&bytes| of(bytes, true)).collect::<Result<Vec<_>>>()?;
        let plain = of(usual, false)?;
        let mut study = Self {
            path,
            is_ntuple: true,
            embedded: 0,
            entries: ntuple.entries,
            sampled_entries: samples.first().map_or(0, |sample| sample.entries),
            settings: options.settings.clone(),
            basket_bytes,
            kept: None,
            transformations: Transformations::None,
            branches: Vec::new(),
            random_access: Vec::new(),
            block_settings: Vec::new(),
            usual_basket_bytes: usual,
        };
        let session = &file.options().session;
        study.measure(&samples, &|path| found.get(path).copied().unwrap_or_default(), session)?;
        study.transformations = study.compare_encodings(&plain, session)?;
        Ok(study)
    }

    /// Tries everything.
    fn measure(&mut self, samples: &[Sample], now: &dyn Fn(&str) -> (u64, u64), session: &Session) -> Result<()> {
        let Some(first) = samples.first() else { return Ok(()) };
        if samples.iter().any(|sample| sample.branches.len() != first.branches.len()) {
            return Err(Error::internal("samples of one tree differ in their branches"));
        }
        let (settings, sizes) = (&self.settings, samples.len());
        let each = sizes * settings.len();
        let trials = trial::each(session, first.branches.len() * each, |scratch, job| {
            let (branch, rest) = (job / each, job % each);
            let (size, setting) = (rest / settings.len(), rest % settings.len());
            trial::try_setting(&samples[size].branches[branch], settings[setting], scratch)
        })?;
        // Blocks are tried in baskets of the usual size.
        let usual = self.basket_bytes.iter().position(|bytes| *bytes == self.usual_basket_bytes).unwrap_or(0);
        let per_branch = self.random_access.len() * self.block_settings.len();
        let blocks = trial::each(session, first.branches.len() * per_branch, |scratch, job| {
            let (branch, rest) = (job / per_branch, job % per_branch);
            let (entries, setting) = (rest / self.block_settings.len(), rest % self.block_settings.len());
            let (entries, how) = (self.random_access[entries], self.block_settings[setting]);
            trial::try_blocks(&samples[usual].branches[branch], how, entries, scratch)
        })?;
        for (place, branch) in first.branches.iter().enumerate() {
            let (stored_bytes, bytes) = now(&branch.path);
            self.branches.push(BranchStudy {
                path: branch.path.clone(),
                name: Arc::clone(&branch.name),
                top: branch.path.find(if self.is_ntuple { '.' } else { '/' }).unwrap_or(branch.path.len()),
                pieces: samples
                    .iter()
                    .filter_map(|sample| sample.branches.get(place))
                    .map(|branch| branch.pieces.len() as f64 * branch.factor)
                    .collect(),
                stored_bytes,
                bytes,
                trials: trials[place * each..(place + 1) * each].to_vec(),
                blocks: blocks[place * per_branch..(place + 1) * per_branch].to_vec(),
            });
        }
        Ok(())
    }

    /// What the encodings of an RNTuple bring.
    fn compare_encodings(&self, plain: &Sample, session: &Session) -> Result<Transformations> {
        let is_usual = |how: &Compression| how.to_root() == 505;
        let setting = self.settings.iter().position(is_usual).unwrap_or(0);
        let size = self.basket_bytes.iter().position(|bytes| *bytes == self.usual_basket_bytes).unwrap_or(0);
        let how = self.settings.get(setting).copied().unwrap_or_default();
        let trials = trial::each(session, plain.branches.len(), |scratch, branch| {
            trial::try_setting(&plain.branches[branch], how, scratch)
        })?;
        let bytes = self.total(size, |_| setting).bytes;
        Ok(Transformations::Split { bytes, plain_bytes: trials.iter().map(|trial| trial.bytes).sum() })
    }

    /// What a branch comes to with a size of baskets and a setting, by their places.
    fn trial(&self, branch: usize, size: usize, setting: usize) -> Trial {
        let trials = self.branches.get(branch).map(|branch| &branch.trials);
        trials.and_then(|trials| trials.get(size * self.settings.len() + setting)).copied().unwrap_or_default()
    }

    /// What all branches come to, each with its setting.
    fn total(&self, size: usize, setting: impl Fn(usize) -> usize) -> Trial {
        let trial = |branch| self.trial(branch, size, setting(branch));
        (0..self.branches.len()).map(trial).fold(Trial::default(), Trial::plus)
    }

    /// What all branches come to with one setting and one size of baskets or pages; none where that was not tried.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::inspect::compression::{Study, StudyOptions};
    /// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
    /// let (raw, packed) = ("none".parse()?, "lzma:9".parse()?);
    /// let bytes = |setting| study.with(setting, 512 << 10).map(|trial| trial.bytes);
    /// assert!(bytes(packed) <= bytes(raw));
    /// assert!(study.with(raw, 12).is_none());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with(&self, setting: Compression, basket_bytes: usize) -> Option<Trial> {
        let setting = self.settings.iter().position(|known| *known == setting)?;
        let size = self.basket_bytes.iter().position(|known| *known == basket_bytes)?;
        Some(self.total(size, |_| setting))
    }

    /// What one branch comes to, as [`with`](Self::with).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::inspect::compression::{Study, StudyOptions};
    /// let study = Study::of(&sapwood::File::open(path)?, Some("t"), &StudyOptions::default())?;
    /// assert!(study.branch_with("x", "zlib:1".parse()?, 512 << 10).is_some());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn branch_with(&self, path: &str, setting: Compression, basket_bytes: usize) -> Option<Trial> {
        let branch = self.branches.iter().position(|branch| branch.path == path)?;
        let setting = self.settings.iter().position(|known| *known == setting)?;
        let size = self.basket_bytes.iter().position(|known| *known == basket_bytes)?;
        Some(self.trial(branch, size, setting))
    }

    /// Stored bytes of all branches now, without the baskets that are in the tree's own record.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::inspect::compression::{Study, StudyOptions};
    /// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
    /// assert!(study.stored_bytes() > 0 && study.embedded == 0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stored_bytes(&self) -> u64 {
        self.branches.iter().fold(0, |sum, branch| sum.saturating_add(branch.stored_bytes))
    }

    /// Bytes of all branches before compression.
    pub fn bytes(&self) -> u64 {
        self.branches.iter().fold(0, |sum, branch| sum.saturating_add(branch.bytes))
    }

    /// What all branches come to with settings by name.
    fn by_name(&self, size: usize, rules: &CompressionByName) -> Trial {
        let usual = rules.general().unwrap_or_default();
        let place = |how: Compression| self.settings.iter().position(|known| *known == how).unwrap_or(0);
        self.total(size, |branch| {
            let own = self.branches.get(branch).and_then(|branch| rules.of(&branch.names()));
            place(own.unwrap_or(usual))
        })
    }
}

/// Sizes of baskets that are tried.
fn sizes(options: &StudyOptions, usual: usize) -> Vec<usize> {
    if options.basket_bytes.is_empty() { vec![64 << 10, usual, 4 * usual] } else { options.basket_bytes.clone() }
}

/// A tree or RNTuple: of a path, or the only one of the file.
fn find(file: &File, path: Option<&str>) -> Result<(String, Key)> {
    if let Some(path) = path {
        let key = file.key(path)?;
        if !key.has_entries() {
            return Err(file.name(Error::mismatch(format!("{path:?} is a {}, not a tree or an RNTuple", key.class))));
        }
        return Ok((path.to_owned(), key));
    }
    let mut found: Vec<String> =
        file.keys(true)?.into_iter().filter(|found| found.key.has_entries()).map(|found| found.path).collect();
    found.sort();
    found.dedup();
    match &found[..] {
        [] => Err(file.name(Error::not_found("the file holds no tree and no RNTuple"))),
        [path] => Ok((path.clone(), file.key(path)?)),
        several => Err(file.name(Error::mismatch(format!("name one of the trees: {}", several.join(", "))))),
    }
}
