//! Branch specifications.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::codec::{Compression, RandomAccess};
use crate::column::{Number, Prim, is_range};
use crate::error::{Error, Result};
use crate::write::model::class::{Class, Member, Type};
use crate::write::model::number_codes::cpp_name;

/// A branch to be written.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::BranchSpec;
/// let jets = BranchSpec::jagged("jet_pt", Number::F32, "njet");
/// assert_eq!(jets.title(), "jet_pt[njet]/F");
/// ```
///
/// ```
/// use std::sync::Arc;
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, Class, Item, Type};
/// assert_eq!(BranchSpec::number("x", Number::F64).number_type(), Some(Number::F64));
/// assert_eq!(BranchSpec::number("m", Number::F32).with_dimensions([3, 3]).leaf_title(), "m[3][3]");
/// assert_eq!(BranchSpec::counter("n").title(), "n/I");
/// assert_eq!(BranchSpec::text("name").title(), "name/C");
/// assert_eq!(BranchSpec::vector("v", Item::Text, 2).class().as_deref(), Some("vector<vector<string> >"));
/// let hit = Arc::new(Class::new("Hit").member("charge", Type::Number(Number::F32)));
/// assert_eq!(BranchSpec::leaves("hit", Arc::clone(&hit)).title(), "charge/F");
/// assert_eq!(BranchSpec::object("hit", hit, 99).number_type(), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BranchSpec {
    /// Its name.
    pub name: Arc<str>,
    /// What it holds.
    pub kind: BranchKind,
    /// Extents of an array that each entry, or each item of a list, is.
    pub dimensions: Vec<u32>,
    /// The range of `Double32_t` (of doubles) or `Float16_t` (of floats), which its numbers are stored as; none for
    /// numbers as they are.
    pub packing: Option<Arc<str>>,
    /// Compression of its baskets, and of those of its sub-branches; none for the tree's.
    pub compression: Option<Compression>,
    /// Whether its single entries can be inflated alone; none for what its tree says.
    pub random_access: Option<RandomAccess>,
    /// Title for browsers; without one the names and types of its leaves. Objects keep their usual title.
    pub description: Option<Arc<str>>,
}

/// What a branch holds.
#[derive(Clone, Debug, PartialEq)]
pub enum BranchKind {
    /// Numbers: one per entry, or an array of fixed extents.
    Numbers(Number),
    /// A list of numbers per entry, whose length another branch holds.
    Jagged(Number, Arc<str>),
    /// Lengths of lists, as whole numbers. The branch is filled from the first list that it counts.
    Counter(Number),
    /// A string per entry.
    Text,
    /// A `std::vector` per entry, of vectors to this depth (1: of items).
    Vector(Item, u32),
    /// Several numbers, or arrays of them, per entry, one after another: a list of leaves, as `x/F:y/I:z[3]/D`. The
    /// class has them as its members.
    Leaves(Arc<Class>),
    /// An object per entry, split into branches down to this level: 0 keeps it whole, 99 splits everything that can be
    /// split.
    Object(Type, u32),
}

/// What the innermost vectors hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item {
    /// Numbers.
    Number(Number),
    /// Strings.
    Text,
}

impl BranchSpec {
    /// A branch, compressed as its tree is.
    pub fn new(name: impl Into<Arc<str>>, kind: BranchKind) -> Self {
        Self {
            name: name.into(),
            kind,
            dimensions: Vec::new(),
            packing: None,
            compression: None,
            random_access: None,
            description: None,
        }
    }

    /// One number per entry.
    pub fn number(name: impl Into<Arc<str>>, number: Number) -> Self {
        Self::new(name, BranchKind::Numbers(number))
    }

    /// A list of numbers per entry, counted by branch `counter`.
    pub fn jagged(name: impl Into<Arc<str>>, number: Number, counter: impl Into<Arc<str>>) -> Self {
        Self::new(name, BranchKind::Jagged(number, counter.into()))
    }

    /// The lengths of lists, as `int`.
    pub fn counter(name: impl Into<Arc<str>>) -> Self {
        Self::counter_of(name, Number::I32)
    }

    /// The lengths of lists, as other whole numbers.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::BranchSpec;
    /// assert_eq!(BranchSpec::counter_of("nMuon", Number::U32).title(), "nMuon/i");
    /// ```
    pub fn counter_of(name: impl Into<Arc<str>>, number: Number) -> Self {
        Self::new(name, BranchKind::Counter(number))
    }

    /// A string per entry.
    pub fn text(name: impl Into<Arc<str>>) -> Self {
        Self::new(name, BranchKind::Text)
    }

    /// A `std::vector` per entry: of items if `depth` is 1, of vectors of items if it is 2, and so on.
    pub fn vector(name: impl Into<Arc<str>>, item: Item, depth: u32) -> Self {
        Self::new(name, BranchKind::Vector(item, depth))
    }

    /// An object per entry, split down to a level: 99 to split everything, as ROOT does, 0 for nothing.
    pub fn object(name: impl Into<Arc<str>>, class: Arc<Class>, split_level: u32) -> Self {
        Self::new(name, BranchKind::Object(Type::Object(class), split_level))
    }

    /// Several numbers per entry: a leaf for each member of a class, whose members are numbers or arrays of them.
    /// Values are given as [objects](crate::write::Values::objects).
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::column::Number;
    /// use sapwood::write::{BranchSpec, Class, Type};
    /// let point = Class::new("Point")
    ///     .member("x", Type::Number(Number::F32))
    ///     .member("y", Type::Number(Number::I32))
    ///     .member("z", Type::Array(Number::F64, vec![3]));
    /// assert_eq!(BranchSpec::leaves("point", Arc::new(point)).title(), "x/F:y/I:z[3]/D");
    /// ```
    pub fn leaves(name: impl Into<Arc<str>>, class: Arc<Class>) -> Self {
        Self::new(name, BranchKind::Leaves(class))
    }

    /// The same, its numbers stored as `Double32_t` (of doubles) or `Float16_t` (of floats): in four bytes between
    /// `min` and `max` of a range `[min,max]` or `[min,max,bits]`, with fewer bits of a mantissa in three where both
    /// are 0, and without a range (an empty text) as `float`, or in three bytes with 12 bits. Values beyond a range
    /// become its ends.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::BranchSpec;
    /// assert_eq!(BranchSpec::number("phi", Number::F64).with_packing("[-pi,pi,16]").title(), "phi/d[-pi,pi,16]");
    /// assert_eq!(BranchSpec::jagged("pt", Number::F32, "n").with_packing("").title(), "pt[n]/f");
    /// ```
    #[must_use]
    pub fn with_packing(mut self, range: impl Into<Arc<str>>) -> Self {
        self.packing = Some(range.into());
        self
    }

    /// The same, each entry or item an array of these extents.
    #[must_use]
    pub fn with_dimensions(mut self, dimensions: impl Into<Vec<u32>>) -> Self {
        self.dimensions = dimensions.into();
        self
    }

    /// The same with its own compression.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::BranchSpec;
    /// let x = BranchSpec::number("x", Number::F64).with_compression("lzma:6".parse()?);
    /// assert_eq!(x.compression.map(|compression| compression.to_root()), Some(206));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// The same with its own blocks.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::RandomAccess;
    /// use sapwood::column::Number;
    /// use sapwood::write::BranchSpec;
    /// let x = BranchSpec::number("x", Number::F64).with_random_access(RandomAccess::Auto);
    /// assert_eq!(x.random_access, Some(RandomAccess::Auto));
    /// ```
    #[must_use]
    pub fn with_random_access(mut self, random_access: RandomAccess) -> Self {
        self.random_access = Some(random_access);
        self
    }

    /// Type of its numbers; none for strings.
    pub fn number_type(&self) -> Option<Number> {
        match self.kind {
            BranchKind::Numbers(number) | BranchKind::Jagged(number, _) | BranchKind::Counter(number) => Some(number),
            BranchKind::Vector(Item::Number(number), _) => Some(number),
            BranchKind::Text | BranchKind::Vector(Item::Text, _) | BranchKind::Object(..) | BranchKind::Leaves(_) => {
                None
            }
        }
    }

    /// How its numbers are stored: those of vectors as they are.
    pub(crate) fn prim(&self) -> Option<Prim> {
        let number = self.number_type()?;
        let packing = self.packing.as_ref().filter(|_| !matches!(self.kind, BranchKind::Vector(..)));
        Some(match (packing, number) {
            (Some(range), Number::F64) => Prim::double32(range),
            (Some(range), Number::F32) => Prim::float16(range),
            _ => Prim::Plain(number),
        })
    }

    /// Numbers per entry, or per item of a list.
    pub(crate) fn each(&self) -> usize {
        self.dimensions.iter().map(|&extent| extent as usize).product()
    }

    /// Bytes of an entry in memory, or of an item of a list.
    pub(crate) fn width(&self) -> usize {
        self.each() * self.number_type().map_or(1, Number::bytes)
    }

    /// Bytes of an entry in a basket, or of an item of a list.
    pub(crate) fn stored_width(&self) -> usize {
        self.each() * self.prim().map_or(1, Prim::bytes)
    }

    /// The name of its leaf. In titles of leaves some characters have a meaning, so that `total/energy` has a leaf
    /// `total_energy`.
    pub(crate) fn leaf_name(&self) -> Cow<'_, str> {
        as_leaf_name(&self.name)
    }

    /// `name[counter][extent]`, the title of its leaf; with its type and range where it has one.
    pub fn leaf_title(&self) -> String {
        let mut title = self.leaf_name().into_owned();
        if let BranchKind::Jagged(_, counter) = &self.kind {
            title += &format!("[{}]", as_leaf_name(counter));
        }
        self.dimensions.iter().for_each(|extent| title += &format!("[{extent}]"));
        match self.packing.as_deref() {
            None | Some("") => title,
            Some(range) => format!("{title}/{}{range}", self.letter()),
        }
    }

    /// The C++ class of a vector, as ROOT spells it: `vector<vector<float> >`.
    pub fn class(&self) -> Option<String> {
        let BranchKind::Vector(item, depth) = &self.kind else { return None };
        let item = match item {
            Item::Text => "string",
            Item::Number(number) => cpp_name(*number),
        };
        let inner = format!("vector<{item}>");
        Some((1..*depth).fold(inner, |inner, _| format!("vector<{inner} >")))
    }

    /// Sets the title.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::BranchSpec;
    /// let energy = BranchSpec::number("energy", Number::F32).with_description("in GeV");
    /// assert_eq!((energy.title(), energy.leaf_title()), ("in GeV".to_owned(), "energy".to_owned()));
    /// ```
    #[must_use]
    pub fn with_description(self, description: impl Into<Arc<str>>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    /// Its title: the description, or as `TTree::Branch` takes it: `jet_pt[njet]/F`. Of an object it is the name.
    pub fn title(&self) -> String {
        if let Some(description) = &self.description {
            return description.to_string();
        }
        if matches!(self.kind, BranchKind::Vector(..) | BranchKind::Object(..)) {
            return self.name.to_string();
        }
        if let BranchKind::Leaves(class) = &self.kind {
            return self.leaves_of(class).iter().map(Self::title).collect::<Vec<_>>().join(":");
        }
        let title = self.leaf_title();
        match title.contains('/') {
            true => title,
            false => format!("{title}/{}", self.letter()),
        }
    }

    /// The leaves of a list, each as a branch of its own would have it.
    pub(crate) fn leaves_of(&self, class: &Class) -> Vec<Self> {
        let one = |member: &Member| match &member.kind {
            Type::Number(number) => Self::number(&*member.name, *number),
            Type::Array(number, extents) => Self::number(&*member.name, *number).with_dimensions(extents.clone()),
            // Which is refused.
            _ => Self::text(&*member.name),
        };
        class.members.iter().map(one).collect()
    }

    /// The letter of its type in titles.
    fn letter(&self) -> char {
        match (self.number_type(), &self.packing) {
            (Some(Number::F32), Some(_)) => 'f',
            (Some(Number::F64), Some(_)) => 'd',
            (None, _) => 'C',
            (Some(number), _) => plain_leaf(number).1,
        }
    }

    /// Class of its leaf.
    pub(crate) fn leaf_class(&self) -> &'static str {
        if matches!(self.kind, BranchKind::Vector(..)) {
            return "TLeafElement";
        }
        match self.number_type() {
            None => "TLeafC",
            Some(Number::F32) if self.packing.is_some() => "TLeafF16",
            Some(Number::F64) if self.packing.is_some() => "TLeafD32",
            Some(number) => plain_leaf(number).0,
        }
    }

    /// Refuses what ROOT cannot hold.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::mismatch(format!("branch {:?} {what}", self.name)));
        if self.name.is_empty() || self.name.contains('\0') {
            return wrong("has a name that ROOT cannot hold: it is empty, or has a zero in it");
        }
        const DEEPEST: u32 = 16;
        if let BranchKind::Vector(_, depth) = self.kind
            && (depth == 0 || depth > DEEPEST || !self.dimensions.is_empty())
        {
            return wrong("is a vector of an impossible depth, or of arrays");
        }
        if let BranchKind::Counter(number) = self.kind
            && (most_items(number).is_none() || !self.dimensions.is_empty())
        {
            return wrong("cannot count: it does not hold one whole number an entry");
        }
        if let Some(range) = &self.packing {
            let is_kind = matches!(self.kind, BranchKind::Numbers(_) | BranchKind::Jagged(..));
            if !is_kind || !matches!(self.number_type(), Some(Number::F32 | Number::F64)) {
                return wrong("cannot be stored as Double32_t or Float16_t: it does not hold doubles or floats");
            }
            if !range.is_empty() && !is_range(range) {
                return wrong(&format!("has {range:?} as its range, and no [min,max] or [min,max,bits]"));
            }
        }
        if let BranchKind::Leaves(class) = &self.kind {
            let is_leaf = |kind: &Type| matches!(kind, Type::Number(_) | Type::Array(..));
            if class.members.is_empty() || !class.members.iter().all(|member| is_leaf(&member.kind)) {
                return wrong("is no list of leaves: they are numbers, and arrays of them");
            }
            let mut names = HashSet::new();
            if let Some(twice) = class.members.iter().find(|member| !names.insert(&member.name)) {
                return wrong(&format!("has two leaves {:?}: readers by name find the first alone", twice.name));
            }
            if !self.dimensions.is_empty() {
                return wrong("is an array of lists of leaves");
            }
            self.leaves_of(class).iter().try_for_each(|leaf| leaf.check().map_err(|e| e.in_object(&self.name)))?;
        }
        if self.dimensions.contains(&0) {
            return wrong("has an extent of 0");
        }
        let numbers = self.dimensions.iter().try_fold(1_u32, |product, &extent| product.checked_mul(extent));
        if numbers.is_none_or(|numbers| numbers > i32::MAX as u32 / 8) {
            return wrong("has too many numbers an entry");
        }
        Ok(())
    }
}

/// A name of a branch as its leaf may have it.
fn as_leaf_name(name: &str) -> Cow<'_, str> {
    const MEANINGFUL: [char; 4] = ['[', ']', '/', ':'];
    if name.contains(MEANINGFUL) { Cow::Owned(name.replace(MEANINGFUL, "_")) } else { Cow::Borrowed(name) }
}

/// The most items that a counter of a type can count; none for types that cannot count.
pub(crate) fn most_items(number: Number) -> Option<u64> {
    Some(match number {
        Number::Bool | Number::F32 | Number::F64 => return None,
        Number::I8 => i8::MAX as u64,
        Number::U8 => u8::MAX.into(),
        Number::I16 => i16::MAX as u64,
        Number::U16 => u16::MAX.into(),
        // No branch allows more per entry.
        Number::I32 | Number::U32 | Number::I64 | Number::U64 => i32::MAX as u64,
    })
}

/// The class of a leaf of numbers that are not packed, and the letter of their type in titles.
pub(crate) fn plain_leaf(number: Number) -> (&'static str, char) {
    match number {
        Number::Bool => ("TLeafO", 'O'),
        Number::I8 => ("TLeafB", 'B'),
        Number::U8 => ("TLeafB", 'b'),
        Number::I16 => ("TLeafS", 'S'),
        Number::U16 => ("TLeafS", 's'),
        Number::I32 => ("TLeafI", 'I'),
        Number::U32 => ("TLeafI", 'i'),
        Number::I64 => ("TLeafL", 'L'),
        Number::U64 => ("TLeafL", 'l'),
        Number::F32 => ("TLeafF", 'F'),
        Number::F64 => ("TLeafD", 'D'),
    }
}
