//! What a study recommends for a purpose, as options of a rewrite.

use super::rules::Costs;
use super::sample::AS_IT_IS;
use super::{Study, Trial};
use crate::codec::{Compression, CompressionByName, RandomAccess};
use crate::error::{Error, Result};
use crate::file::File;
use crate::write::{Baskets, NTupleOptions, Remake, TreeOptions};

/// What a file is for.
///
/// # Example
///
/// ```
/// use sapwood::inspect::compression::Goal;
/// assert_eq!("archive".parse::<Goal>()?, Goal::Archive);
/// assert_eq!(Goal::RandomAccess.to_string(), "random access");
/// assert!("quick".parse::<Goal>().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The fewest bytes.
    Archive,
    /// The shortest time to fetch at 100 MB/s and to inflate with one core.
    Analysis,
    /// The shortest time to inflate what a single entry needs, in at most 1.15 times the bytes of the same setting
    /// without blocks, and of the file as it is, where any setting keeps to that.
    RandomAccess,
    /// At most so many bytes, and the shortest time to inflate them.
    Size(u64),
    /// At most so many seconds of one core to inflate everything, and the fewest bytes.
    ReadTime(f64),
    /// At most so many seconds of one core to compress everything, and the fewest bytes.
    WriteTime(f64),
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Archive => f.write_str("archive"),
            Self::Analysis => f.write_str("analysis"),
            Self::RandomAccess => f.write_str("random access"),
            Self::Size(bytes) => write!(f, "at most {bytes} bytes"),
            Self::ReadTime(seconds) => write!(f, "at most {seconds} s to inflate"),
            Self::WriteTime(seconds) => write!(f, "at most {seconds} s to compress"),
        }
    }
}

impl std::str::FromStr for Goal {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "archive" => Ok(Self::Archive),
            "analysis" => Ok(Self::Analysis),
            "random access" | "random-access" => Ok(Self::RandomAccess),
            _ => Err(Error::mismatch(format!("a file is for archive, analysis or random-access, not {name:?}"))),
        }
    }
}

/// A recommendation.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::compression::{Goal, Study, StudyOptions};
/// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
/// let advice = study.advise(Goal::Archive)?;
/// assert_eq!(advice.options()[0], "--compression");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What it is for.
    pub goal: Goal,
    /// Settings, by name where that gains.
    pub compression: CompressionByName,
    /// Bytes of a basket or page; none for what a rewrite makes.
    pub basket_bytes: Option<usize>,
    /// Blocks of entries that baskets are compressed in, for random access.
    pub random_access: Option<RandomAccess>,
    /// What all branches come to.
    pub trial: Trial,
    /// Seconds that one core takes to inflate what a single entry needs of all branches, for random access.
    pub entry_seconds: Option<f64>,
    /// The best that one setting for all branches can do, if it can at all.
    pub single: Option<(Compression, Trial)>,
}

impl Advice {
    /// The options of `sapwood rewrite` that do it.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::inspect::compression::{Advice, Goal, Trial};
    /// let advice = Advice {
    ///     goal: Goal::Archive,
    ///     compression: sapwood::codec::CompressionByName::parse(["lzma:9", "noise=none"])?,
    ///     basket_bytes: Some(2 << 20),
    ///     random_access: None,
    ///     trial: Trial::default(),
    ///     entry_seconds: None,
    ///     single: None,
    /// };
    /// let options = advice.options().join(" ");
    /// assert_eq!(options, "--compression lzma:9 --compression noise=zlib:0 --basket-bytes 2097152");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn options(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.compression.to_texts().into_iter().flat_map(|text| ["--compression".to_owned(), text]).collect();
        if let Some(bytes) = self.basket_bytes {
            words.extend(["--basket-bytes".to_owned(), bytes.to_string()]);
        }
        if let Some(entries) = self.random_access {
            words.extend(["--random-access".to_owned(), entries.to_string()]);
        }
        words
    }
}

impl Study {
    /// The rewrite that does what was recommended, of the tree that was studied; all else is copied.
    ///
    /// # Errors
    ///
    /// Those of [`Remake::compress`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::inspect::compression::{Goal, Study, StudyOptions};
    /// let from = sapwood::File::open(path)?;
    /// let study = Study::of(&from, None, &StudyOptions::default())?;
    /// let how = study.remake(&from, &study.advise(Goal::Archive)?)?;
    /// assert_eq!(how.trees, Some(vec!["t".to_owned()]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn remake(&self, from: &File, advice: &Advice) -> Result<Remake> {
        let (mut tree, mut pages) = (TreeOptions::default(), NTupleOptions::default());
        if let Some(bytes) = advice.basket_bytes {
            (tree.basket_bytes, pages.page_bytes) = (bytes, bytes);
        }
        tree.random_access = advice.random_access;
        let baskets = Baskets::New(tree);
        let mut how = Remake { trees: Some(vec![self.path.clone()]), baskets, pages, ..Remake::default() };
        how.compress(from, &advice.compression)?;
        Ok(how)
    }
}

/// Random access may take this much more than the same setting without it.
const MOST_GROWTH: f64 = 1.15;
/// Other baskets than the usual ones must gain this share.
const LEAST_GAIN: f64 = 0.005;
/// Steps towards the price at which a budget is just met.
const STEPS: usize = 30;

/// A number that a trial has.
type Figure = fn(&Trial) -> f64;

/// A way to random access: what it comes to, seconds an entry, bytes without it, the place of the size of its baskets,
/// and its blocks.
type Tried = (Compression, Trial, f64, u64, usize, Option<RandomAccess>);

/// What is minimised, and what is bounded.
struct Aim {
    least: Figure,
    bounded: Figure,
    most: f64,
}

impl Study {
    /// Recommends settings for a purpose.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a budget that no setting which was tried keeps to, or that is no
    /// positive number.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::inspect::compression::{Goal, Study, StudyOptions};
    /// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
    /// assert!(study.advise(Goal::Size(1_000_000))?.trial.bytes <= 1_000_000);
    /// let error = study.advise(Goal::Size(1)).unwrap_err();
    /// assert!(error.message().contains("no setting that was tried"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn advise(&self, goal: Goal) -> Result<Advice> {
        let bytes: Figure = |trial| trial.bytes as f64;
        let (read, write): (Figure, Figure) = (|trial| trial.read_seconds, |trial| trial.write_seconds);
        match goal {
            Goal::RandomAccess => Ok(self.advise_random_access()),
            Goal::Archive => self.within(goal, &Aim { least: bytes, bounded: |_| 0.0, most: 0.0 }),
            Goal::Analysis => self.within(goal, &Aim { least: Trial::fetch_seconds, bounded: |_| 0.0, most: 0.0 }),
            Goal::Size(most) => self.within(goal, &Aim { least: read, bounded: bytes, most: most as f64 }),
            Goal::ReadTime(most) => self.within(goal, &Aim { least: bytes, bounded: read, most }),
            Goal::WriteTime(most) => self.within(goal, &Aim { least: bytes, bounded: write, most }),
        }
    }

    /// The rules that cost least with baskets of a size, and what they come to.
    pub(super) fn cheapest(&self, size: usize, cost: &dyn Fn(&Trial) -> f64) -> (CompressionByName, Trial) {
        let settings = self.settings.len();
        let costs = (0..self.branches.len() * settings).map(|at| cost(&self.trial(at / settings, size, at % settings)));
        let paths = self.branches.iter().map(|branch| &*branch.path).collect();
        let rules = Costs { paths, settings: &self.settings, costs: costs.collect() }.rules();
        let trial = self.by_name(size, &rules);
        (rules, trial)
    }

    /// The best rules within a bound, of all sizes of baskets.
    fn within(&self, goal: Goal, aim: &Aim) -> Result<Advice> {
        let is_bounded = !matches!(goal, Goal::Archive | Goal::Analysis | Goal::RandomAccess);
        if !aim.most.is_finite() || is_bounded && aim.most <= 0.0 {
            return Err(Error::mismatch(format!("{goal}: a budget is a number above 0")));
        }
        let mut best: Option<(usize, CompressionByName, Trial)> = None;
        for size in self.sizes_usual_first() {
            let Some((rules, trial)) = self.within_size(size, aim) else { continue };
            let gains = |known: &Trial| (aim.least)(&trial) < (aim.least)(known) * (1.0 - LEAST_GAIN);
            if best.as_ref().is_none_or(|(_, _, known)| gains(known)) {
                best = Some((size, rules, trial));
            }
        }
        let Some((size, mut compression, mut trial)) = best else {
            let all = 0..self.basket_bytes.len() * self.settings.len();
            let trials = all.map(|at| self.total(at / self.settings.len(), |_| at % self.settings.len()));
            let least = trials.map(|trial| (aim.bounded)(&trial)).fold(f64::INFINITY, f64::min);
            let words =
                format!("{goal}: no setting that was tried keeps to it; one setting for all comes to {least:.3}");
            return Err(Error::mismatch(words));
        };
        let single = (0..self.basket_bytes.len() * self.settings.len())
            .filter_map(|at| {
                let (size, setting) = (at / self.settings.len(), at % self.settings.len());
                let trial = self.total(size, |_| setting);
                Some((*self.settings.get(setting)?, trial, size))
            })
            .filter(|(_, trial, _)| (aim.bounded)(trial) <= aim.most)
            .min_by(|a, b| (aim.least)(&a.1).total_cmp(&(aim.least)(&b.1)));
        let mut basket_bytes = self.basket_bytes.get(size).copied();
        // Few rules may do worse than one setting.
        if let Some((setting, of_single, size)) = single
            && (aim.least)(&of_single) < (aim.least)(&trial) * (1.0 - LEAST_GAIN)
        {
            compression = CompressionByName::default();
            compression.insert("*", setting);
            (trial, basket_bytes) = (of_single, self.basket_bytes.get(size).copied());
        }
        Ok(Advice {
            goal,
            compression,
            basket_bytes: basket_bytes.filter(|bytes| self.is_unusual(*bytes)),
            random_access: None,
            trial,
            entry_seconds: None,
            single: single.map(|(setting, trial, _)| (setting, trial)),
        })
    }

    /// The best rules within a bound: the price of what is bounded rises until it is kept to.
    fn within_size(&self, size: usize, aim: &Aim) -> Option<(CompressionByName, Trial)> {
        let keeps = |trial: &Trial| (aim.bounded)(trial) <= aim.most;
        let free = self.cheapest(size, &|trial| (aim.least)(trial));
        if keeps(&free.1) {
            return Some(free);
        }
        let strict = self.cheapest(size, &|trial| (aim.bounded)(trial));
        if !keeps(&strict.1) {
            return None;
        }
        // The price lies between nothing and what makes all else unimportant: halved on a scale of powers.
        let scale = (aim.least)(&strict.1).max(f64::MIN_POSITIVE) / (aim.bounded)(&free.1).max(f64::MIN_POSITIVE);
        let mut found = strict;
        let (mut low, mut high) = (-30.0_f64, 30.0_f64);
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            let price = scale * middle.exp2();
            let tried = self.cheapest(size, &|trial| (aim.least)(trial) + price * (aim.bounded)(trial));
            if keeps(&tried.1) {
                high = middle;
                if (aim.least)(&tried.1) <= (aim.least)(&found.1) {
                    found = tried;
                }
            } else {
                low = middle;
            }
        }
        Some(found)
    }

    /// Places of the sizes that were tried, that of a plain rewrite first.
    fn sizes_usual_first(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = (0..self.basket_bytes.len()).collect();
        sizes.sort_by_key(|&size| self.is_unusual(self.basket_bytes[size]));
        sizes
    }

    fn is_unusual(&self, basket_bytes: usize) -> bool {
        basket_bytes != AS_IT_IS && basket_bytes != self.usual_basket_bytes
    }

    fn advise_random_access(&self) -> Advice {
        let usual = self.basket_bytes.iter().position(|bytes| *bytes == self.usual_basket_bytes).unwrap_or(0);
        let mut tried: Vec<Tried> = Vec::new();
        for (place, &setting) in self.block_settings.iter().enumerate() {
            let plain = self.settings.iter().position(|known| *known == setting);
            let Some(plain) = plain.map(|setting| self.total(usual, |_| setting)) else { continue };
            for (row, &entries) in self.random_access.iter().enumerate() {
                let at = row * self.block_settings.len() + place;
                let blocks = self.branches.iter().filter_map(|branch| branch.blocks.get(at));
                let (bytes, seconds) =
                    blocks.fold((0, 0.0), |sum, block| (sum.0 + block.bytes, sum.1 + block.entry_seconds));
                tried.push((setting, Trial { bytes, ..plain }, seconds, plain.bytes, usual, Some(entries)));
            }
        }
        if tried.is_empty() {
            // Pages, and baskets that stay, are read whole: smaller ones are read faster.
            for size in 0..self.basket_bytes.len() {
                for (place, &setting) in self.settings.iter().enumerate() {
                    let (trial, plain) = (self.total(size, |_| place), self.total(usual, |_| place));
                    let pieces =
                        |branch: usize| self.branches[branch].pieces.get(size).copied().unwrap_or(1.0).max(1.0);
                    let of = |branch| self.trial(branch, size, place).read_seconds / pieces(branch);
                    let seconds = (0..self.branches.len()).map(of).sum();
                    tried.push((setting, trial, seconds, plain.bytes, size, None));
                }
            }
            // Without compression nothing is inflated, which is no answer.
            tried.retain(|(setting, ..)| setting.level > 0 || self.settings.len() == 1);
        }
        let growth = |trial: &Trial, plain: u64| trial.bytes as f64 / plain.max(1) as f64;
        // Of the same setting, and of the file, if any setting keeps to both.
        let fits = |(_, trial, _, plain, ..): &&Tried| growth(trial, *plain) <= MOST_GROWTH;
        let stays = |(_, trial, ..): &&Tried| growth(trial, self.stored_bytes()) <= MOST_GROWTH;
        let fastest = |among: &dyn Fn(&&Tried) -> bool| {
            tried.iter().filter(fits).filter(among).min_by(|a, b| a.2.total_cmp(&b.2))
        };
        let fastest = fastest(&stays).or_else(|| fastest(&|_| true));
        let smallest = || tried.iter().min_by(|a, b| growth(&a.1, a.3).total_cmp(&growth(&b.1, b.3)));
        let mut compression = CompressionByName::default();
        let Some((setting, trial, seconds, _, size, entries)) = fastest.or_else(smallest).copied() else {
            compression.insert("*", Compression::default());
            let (trial, goal) = (Trial::default(), Goal::RandomAccess);
            let (basket_bytes, random_access, entry_seconds, single) = (None, None, None, None);
            return Advice { goal, compression, basket_bytes, random_access, trial, entry_seconds, single };
        };
        compression.insert("*", setting);
        Advice {
            goal: Goal::RandomAccess,
            compression,
            basket_bytes: self.basket_bytes.get(size).copied().filter(|bytes| self.is_unusual(*bytes)),
            random_access: entries,
            trial,
            entry_seconds: Some(seconds),
            single: Some((setting, trial)),
        }
    }
}
