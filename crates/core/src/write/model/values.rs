//! Values to fill branches with.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::column::{Native, Number, ends};
use crate::error::{Error, Result};
use crate::write::model::branch::{BranchKind, BranchSpec, Item};
use crate::write::model::class::Type;
use crate::write::model::columns::Column;

/// Values of consecutive entries of one branch: borrowed slices, with the type of their numbers.
///
/// | branch | values |
/// |---|---|
/// | numbers, arrays of fixed extents | `Values::from(&numbers)`: arrays one after another |
/// | lists (counted, or vectors) | [`Values::lists`]: offsets, and the items of all lists |
/// | vectors of vectors | [`Values::nested`]: offsets of each level |
/// | strings | [`Values::strings`] |
/// | objects | [`Values::objects`] |
///
/// Offsets are those of Arrow and of [`read::Column`](crate::read::Column::offsets): they begin with 0, are one more
/// than the lists, and list `row` has the items `offsets[row]..offsets[row + 1]`.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("values.root");
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let specs = vec![
///     BranchSpec::number("weight", Number::F64),
///     BranchSpec::counter("njet"),
///     BranchSpec::jagged("jet_pt", Number::F32, "njet"),
///     BranchSpec::text("trigger"),
/// ];
/// let mut events = file.tree("events", specs, TreeOptions::default())?;
/// events.extend(&[
///     ("weight", Values::from(&[0.5, 1.5])),
///     ("jet_pt", Values::lists(&[0, 2, 3], &[50.0_f32, 20.0, 35.0])),
///     ("trigger", Values::strings(["mu", "e"])),
/// ])?;
/// // A `float` where the branch holds `double` is an error, and no row is added.
/// assert!(events.extend(&[("weight", Values::from(&[0.5_f32]))]).is_err());
/// events.close()?;
/// file.close()?;
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// For each level of lists, from the outermost on, the end of each list, in items of the level below.
    levels: Vec<Ends<'a>>,
    items: Items<'a>,
}

/// The ends of lists.
#[derive(Clone, Debug)]
enum Ends<'a> {
    /// After a leading 0.
    Offsets(Cow<'a, [i64]>),
    /// Alone.
    Plain(&'a [i64]),
}

#[derive(Clone, Debug)]
enum Items<'a> {
    /// Native-endian numbers.
    Numbers(Number, ValueMemory<'a>),
    /// Bytes of strings, whose ends are the innermost level.
    Text(ValueMemory<'a>),
    Objects(&'a Column),
}

/// ValueMemory of another language, for bindings: it may change while others run, so it is copied, part by part.
#[doc(hidden)]
pub trait Foreign: fmt::Debug {
    /// Its bytes.
    fn bytes(&self) -> usize;

    /// Hands over copies of the parts of a range, each a whole number of its numbers.
    ///
    /// # Errors
    ///
    /// What keeps it from being copied.
    fn read(&self, range: Range<usize>, into: &mut dyn FnMut(&[u8])) -> Result<()>;
}

/// Where values lie.
#[derive(Clone, Debug)]
pub(crate) enum ValueMemory<'a> {
    Slice(Cow<'a, [u8]>),
    Foreign(&'a dyn Foreign),
}

impl ValueMemory<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Slice(bytes) => bytes.len(),
            Self::Foreign(memory) => memory.bytes(),
        }
    }

    /// Hands over a range, part by part: each a whole number of numbers.
    pub(crate) fn read(&self, range: Range<usize>, mut into: impl FnMut(&[u8])) -> Result<()> {
        match self {
            Self::Slice(bytes) => {
                into(&bytes[range]);
                Ok(())
            }
            Self::Foreign(memory) => memory.read(range, &mut into),
        }
    }
}

impl<'a, T: Native> From<&'a [T]> for Values<'a> {
    /// Numbers: one an entry, or as many as the branch's extents say.
    fn from(numbers: &'a [T]) -> Self {
        Self::of(Vec::new(), numbers)
    }
}

impl<'a, T: Native, const N: usize> From<&'a [T; N]> for Values<'a> {
    fn from(numbers: &'a [T; N]) -> Self {
        Self::from(&numbers[..])
    }
}

impl<'a, T: Native> From<&'a Vec<T>> for Values<'a> {
    fn from(numbers: &'a Vec<T>) -> Self {
        Self::from(&numbers[..])
    }
}

impl<'a> Values<'a> {
    fn of<T: Native>(levels: Vec<Ends<'a>>, items: &'a [T]) -> Self {
        Self { levels, items: Items::Numbers(T::NUMBER, ValueMemory::Slice(Cow::Borrowed(T::memory(items)))) }
    }

    /// A list of numbers an entry, or of arrays as the branch's extents say: offsets, and the items of all lists.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::Values;
    /// let entries = Values::lists(&[0, 2, 2, 3], &[1_u16, 2, 3]); // [[1, 2], [], [3]]
    /// ```
    pub fn lists<T: Native>(offsets: &'a [i64], items: &'a [T]) -> Self {
        Self::nested(&[offsets], items)
    }

    /// Lists of lists: the offsets of each level, from the outermost on, and the innermost items of all entries.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::Values;
    /// let entries = Values::nested(&[&[0, 2, 3], &[0, 2, 2, 3]], &[1_i32, 2, 3]); // [[[1, 2], []], [[3]]]
    /// ```
    pub fn nested<T: Native>(levels: &[&'a [i64]], items: &'a [T]) -> Self {
        Self::of(levels.iter().map(|offsets| Ends::Offsets(Cow::Borrowed(offsets))).collect(), items)
    }

    /// A string an entry, copied one after another.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::Values;
    /// let names = Values::strings(["muon", "", "tau"]);
    /// let names = Values::strings(&vec![String::from("muon")]);
    /// ```
    pub fn strings<S: AsRef<str>>(strings: impl IntoIterator<Item = S>) -> Self {
        Self::string_lists(&[], strings)
    }

    /// Lists of strings: the offsets of each level, from the outermost on, and the strings of all entries.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::Values;
    /// let triggers = Values::string_lists(&[&[0, 2, 2]], ["mu", "e"]); // [["mu", "e"], []]
    /// ```
    pub fn string_lists<S: AsRef<str>>(levels: &[&'a [i64]], strings: impl IntoIterator<Item = S>) -> Self {
        let (mut offsets, mut text) = (vec![0], Vec::new());
        for string in strings {
            text.extend_from_slice(string.as_ref().as_bytes());
            offsets.push(text.len() as i64);
        }
        let lists = levels.iter().map(|offsets| Ends::Offsets(Cow::Borrowed(offsets)));
        let levels = lists.chain([Ends::Offsets(Cow::Owned(offsets))]).collect();
        Self { levels, items: Items::Text(ValueMemory::Slice(Cow::Owned(text))) }
    }

    /// An object an entry: a column for each member.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Column, Values};
    /// let points = Column::Record(2, vec![Column::from(&[0.5_f32, 1.5]), Column::from(&[1_i32, 2])]);
    /// let entries = Values::objects(&points);
    /// ```
    pub fn objects(column: &'a Column) -> Self {
        Self { levels: Vec::new(), items: Items::Objects(column) }
    }

    /// Values in the memory of another language, for bindings: for each level of lists, from the outermost on, where
    /// each list ends, without a leading 0; and the bytes of strings, whose ends are one level more, or native-endian
    /// numbers. Checked, as all values are, when a tree takes them.
    #[doc(hidden)]
    pub fn from_memory(number: Option<Number>, levels: &[&'a [i64]], memory: &'a [u8]) -> Self {
        let levels = levels.iter().map(|&ends| Ends::Plain(ends)).collect();
        let memory = ValueMemory::Slice(Cow::Borrowed(memory));
        let items = match number {
            Some(number) => Items::Numbers(number, memory),
            None => Items::Text(memory),
        };
        Self { levels, items }
    }

    /// The same, of numbers that are copied where they are taken.
    #[doc(hidden)]
    pub fn from_foreign(number: Number, levels: &[&'a [i64]], memory: &'a dyn Foreign) -> Self {
        let levels = levels.iter().map(|&ends| Ends::Plain(ends)).collect();
        Self { levels, items: Items::Numbers(number, ValueMemory::Foreign(memory)) }
    }

    /// Numbers in native-endian memory: the offsets of each level of lists, from the outermost on.
    pub(crate) fn from_numbers(number: Number, levels: Vec<Cow<'a, [i64]>>, memory: Cow<'a, [u8]>) -> Self {
        let items = Items::Numbers(number, ValueMemory::Slice(memory));
        Self { levels: levels.into_iter().map(Ends::Offsets).collect(), items }
    }

    /// Strings, whose offsets are the last level.
    pub(crate) fn from_text(levels: Vec<Cow<'a, [i64]>>, text: Cow<'a, [u8]>) -> Self {
        let items = Items::Text(ValueMemory::Slice(text));
        Self { levels: levels.into_iter().map(Ends::Offsets).collect(), items }
    }

    /// How deep its lists nest; strings count as lists of bytes.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The ends of the lists of a level.
    pub(crate) fn ends(&self, level: usize) -> &[i64] {
        match self.levels.get(level) {
            Some(Ends::Offsets(offsets)) => offsets.get(1..).unwrap_or_default(),
            Some(Ends::Plain(ends)) => ends,
            None => &[],
        }
    }

    /// Native-endian numbers, or the bytes of strings.
    pub(crate) fn memory(&self) -> &ValueMemory<'a> {
        const NONE: &ValueMemory<'static> = &ValueMemory::Slice(Cow::Borrowed(&[]));
        match &self.items {
            Items::Numbers(_, memory) | Items::Text(memory) => memory,
            Items::Objects(_) => NONE,
        }
    }

    /// Objects, if it has any.
    pub(crate) fn column(&self) -> Option<&'a Column> {
        match self.items {
            Items::Objects(column) => Some(column),
            _ => None,
        }
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let ends: usize = (0..self.depth()).map(|level| size_of_val(self.ends(level))).sum();
        ends + self.memory().len() + self.column().map_or(0, |column| column.bytes_of(&(0..column.len())))
    }

    /// Entries in it; checked against the branch that takes them.
    pub(crate) fn entries(&self, spec: &BranchSpec) -> Result<usize> {
        let error = |what: &str| Error::mismatch(format!("branch {:?} {what}", spec.name));
        let depth = match (&spec.kind, &self.items) {
            (BranchKind::Object(kind, _), Items::Objects(column)) => {
                column.check(kind).map_err(|error| error.in_object(&spec.name))?;
                return Ok(column.len());
            }
            (BranchKind::Leaves(class), Items::Objects(column)) => {
                column.check(&Type::Object(Arc::clone(class))).map_err(|error| error.in_object(&spec.name))?;
                return Ok(column.len());
            }
            (BranchKind::Numbers(_) | BranchKind::Counter(_), Items::Numbers(..)) => 0,
            (BranchKind::Jagged(..), Items::Numbers(..)) | (BranchKind::Text, Items::Text(_)) => 1,
            (BranchKind::Vector(Item::Number(_), depth), Items::Numbers(..)) => *depth as usize,
            (BranchKind::Vector(Item::Text, depth), Items::Text(_)) => *depth as usize + 1,
            _ => return Err(error(&format!("holds {}, and was given {}", describe_branch(spec), self.describe()))),
        };
        if self.depth() != depth {
            let (given, text) = (self.depth(), usize::from(matches!(self.items, Items::Text(_))));
            let (wanted, given) = (depth - text, given.saturating_sub(text));
            return Err(error(&format!("was given {given} levels of lists, and has {wanted}")));
        }
        if let Items::Numbers(number, _) = self.items
            && spec.number_type() != Some(number)
        {
            return Err(error(&format!(
                "holds {}, and was given {}: convert them first",
                describe_branch(spec),
                self.describe()
            )));
        }
        let (memory, width) = (self.memory(), spec.width());
        if memory.len() % width != 0 {
            let what = if depth == 0 { "an entry" } else { "an item" };
            return Err(error(&format!("was given {} bytes, and {what} has {width}", memory.len())));
        }
        let mut has_zero = false;
        if matches!(spec.kind, BranchKind::Text) {
            memory.read(0..memory.len(), |bytes| has_zero |= bytes.contains(&0))?;
        }
        if has_zero {
            return Err(error("was given a string with a zero in it, where C strings end"));
        }
        for level in 0..depth {
            let below = if level + 1 == depth { memory.len() / width } else { self.ends(level + 1).len() };
            let is_led = match &self.levels[level] {
                Ends::Offsets(offsets) => offsets.first() == Some(&0),
                Ends::Plain(_) => true,
            };
            if !is_led {
                return Err(error("was given offsets that do not begin with 0"));
            }
            check_ends(self.ends(level), below).map_err(error)?;
        }
        Ok(if depth == 0 { memory.len() / width } else { self.ends(0).len() })
    }

    /// What it holds, for messages.
    fn describe(&self) -> String {
        match self.items {
            Items::Numbers(number, _) if self.levels.is_empty() => number.to_string(),
            Items::Numbers(number, _) => format!("lists of {number}"),
            Items::Text(_) => "strings".to_owned(),
            Items::Objects(_) => "objects".to_owned(),
        }
    }
}

/// What a branch holds, for messages.
fn describe_branch(spec: &BranchSpec) -> String {
    match &spec.kind {
        BranchKind::Numbers(number) | BranchKind::Counter(number) => number.to_string(),
        BranchKind::Jagged(number, _) | BranchKind::Vector(Item::Number(number), _) => format!("lists of {number}"),
        BranchKind::Text | BranchKind::Vector(Item::Text, _) => "strings".to_owned(),
        BranchKind::Object(kind, _) => format!("objects of {}", kind.name()),
        BranchKind::Leaves(_) => format!("the leaves {}", spec.title()),
    }
}

fn check_ends(ends: &[i64], items: usize) -> Result<(), &'static str> {
    if !ends.is_sorted() || ends.first().is_some_and(|&first| first < 0) {
        return Err("was given lists that end before they begin");
    }
    if ends::total(ends) as u64 != items as u64 {
        return Err("was given lists that do not end with their items");
    }
    Ok(())
}
