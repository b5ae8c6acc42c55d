//! Objects to be written: a class, and members by name.

use std::borrow::Cow;
use std::sync::Arc;

use super::framing_trace::Trace;
use super::program::Target;
use super::registry::Registry;
use crate::column::{Native, Number};

/// An object to be written. A member that it does not have is written as zero, empty or null.
///
/// Created here, it is of a class that [ROOT itself has](super::StreamerInfo::of_root), at the version of ROOT 6.40.
/// Made [of an object that was read](Self::read), it is of the class and version of its file.
///
/// # Example
///
/// ```
/// use sapwood::schema::Draft;
/// let named = Draft::new("TNamed").with("fName", "answer").with("fTitle", "42");
/// assert_eq!(named.class(), "TNamed");
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("histograms.root");
/// use sapwood::schema::Datum;
/// let mut histogram = sapwood::File::open(path)?.draft("h1d")?;
/// assert!(histogram.mark().is_some(), "it was read");
/// assert!(histogram.members().any(|(name, _)| name == "fXaxis"));
/// let axis = histogram.member_mut("fXaxis").and_then(Datum::as_draft_mut).expect("an axis");
/// axis.set("fTitle", "momentum");
/// let axis = histogram.member("fXaxis").and_then(Datum::as_draft).expect("an axis");
/// assert!(matches!(axis.member("fTitle"), Some(Datum::Text(title)) if &**title == "momentum"));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) class: Arc<str>,
    pub(super) members: Vec<(Cow<'static, str>, Datum)>,
    pub(super) origin: Option<Origin>,
}

/// Where a draft was read.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) registry: Arc<Registry>,
    pub(super) target: Target,
    pub(super) trace: Option<Arc<Trace>>,
    pub(super) mark: Mark,
}

/// Which object of those that were read together: what further pointers to it name.
#[derive(Clone, Debug)]
pub struct Mark(pub(super) Arc<str>);

/// The value of a member.
///
/// # Example
///
/// ```
/// use sapwood::schema::{Datum, Draft};
/// let edges = Datum::from(&[0.0, 1.0, 4.0]);
/// let mut list = Datum::List(vec![Datum::from("first")]);
/// list.as_list_mut().expect("a list").push(Datum::from("second"));
/// assert_eq!(list.as_list().map(|items| items.len()), Some(2));
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("histograms.root");
/// use sapwood::schema::Datum;
/// let mut histogram = sapwood::File::open(path)?.draft("h1d")?;
/// assert_eq!(histogram.member("fXaxis").and_then(Datum::as_draft).map(|axis| axis.class()), Some("TAxis"));
/// if let Some(axis) = histogram.member_mut("fXaxis").and_then(|axis| axis.as_draft_mut()) {
///     axis.set("fTitle", "momentum");
/// }
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Datum {
    /// A whole number, or a truth value.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(Arc<str>),
    /// A string in no known encoding, or bytes of unknown layout.
    Bytes(Arc<[u8]>),
    /// Consecutive numbers, native-endian.
    Numbers(Number, Vec<u8>),
    /// The items of a collection.
    List(Vec<Datum>),
    /// An object by value.
    Value(Draft),
    /// An object behind a pointer. The same one is written once, and then referred to.
    Object(Arc<Draft>),
    /// A further pointer to an object that was read.
    Same(Mark),
    /// A null pointer.
    Null,
}

impl Draft {
    /// An object without members.
    pub fn new(class: impl Into<Arc<str>>) -> Self {
        Self { class: class.into(), members: Vec::new(), origin: None }
    }

    /// The same with one member more.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Datum>) -> Self {
        self.members.push((name.into(), value.into()));
        self
    }

    /// Its class.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// A member by name.
    pub fn member(&self, name: &str) -> Option<&Datum> {
        self.members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A member by name, to be changed.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::schema::{Datum, Draft};
    /// let mut leaf = Draft::new("TLeafI").with("fMaximum", 3);
    /// if let Some(most) = leaf.member_mut("fMaximum") {
    ///     *most = Datum::from(4);
    /// }
    /// assert!(matches!(leaf.member("fMaximum"), Some(Datum::Int(4))));
    /// ```
    pub fn member_mut(&mut self, name: &str) -> Option<&mut Datum> {
        self.members.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Sets a member; adds it if it is missing.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::schema::{Datum, Draft};
    /// let mut named = Draft::new("TNamed").with("fName", "old");
    /// named.set("fName", "new");
    /// assert!(matches!(named.member("fName"), Some(Datum::Text(name)) if &**name == "new"));
    /// ```
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Datum>) {
        let name = name.into();
        match self.member_mut(&name) {
            Some(member) => *member = value.into(),
            None => self.members.push((name, value.into())),
        }
    }

    /// Calls `each` with this object, and with all objects in it and behind its pointers. Those of an object that was
    /// read come once each; where drafts made here share one behind two pointers, each pointer has its own afterwards.
    ///
    /// # Example
    ///
    /// Where the baskets of a tree are, whatever branches are in branches:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::schema::{Datum, Draft, Encoder};
    /// let branch = Draft::new("TBranch").with("fMaxBaskets", 1).with("fBasketSeek", vec![100_i64]);
    /// let branches = Draft::new("TObjArray").with("items", vec![Datum::from(Arc::new(branch))]);
    /// let mut tree = Draft::new("TTree").with("fName", "t").with("fBranches", branches);
    /// tree.visit_mut(&mut |object| {
    ///     if object.member("fBasketSeek").is_some() {
    ///         object.set("fMaxBaskets", 2);
    ///         object.set("fBasketSeek", vec![100_i64, 900]);
    ///     }
    /// });
    /// let (payload, classes) = Encoder::record(60, &Arc::new(tree))?;
    /// # assert!(!payload.is_empty() && !classes.is_empty());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn visit_mut(&mut self, each: &mut impl FnMut(&mut Self)) {
        fn datum(value: &mut Datum, each: &mut impl FnMut(&mut Draft)) {
            match value {
                Datum::List(items) => items.iter_mut().for_each(|item| datum(item, each)),
                Datum::Value(draft) => draft.visit_mut(each),
                Datum::Object(draft) => Arc::make_mut(draft).visit_mut(each),
                _ => {}
            }
        }
        each(self);
        self.members.iter_mut().for_each(|(_, value)| datum(value, each));
    }

    /// The same members in a new object of another class, as ROOT 6.40 has it.
    pub(crate) fn into_class(self, class: &str) -> Self {
        Self { class: class.into(), members: self.members, origin: None }
    }

    /// The same members in an object of its own, which no pointer to this one names.
    pub(crate) fn another(&self) -> Self {
        let mut draft = self.clone();
        draft.visit_mut(&mut |object| {
            if let Some(origin) = &mut object.origin {
                origin.mark = Mark(Arc::from("another"));
            }
        });
        draft
    }

    /// Names and values of all members, those of bases first.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Datum)> {
        self.members.iter().map(|(name, value)| (&**name, value))
    }

    /// The mark by which a [`Datum::Same`] refers to this object; none for one created here.
    pub fn mark(&self) -> Option<&Mark> {
        self.origin.as_ref().map(|origin| &origin.mark)
    }

    /// A member by name. The search begins where the last one ended: members most often come in the order of their
    /// class, and those of one name in two bases always.
    pub(super) fn next_member(&self, name: &str, from: &mut usize) -> Option<&Datum> {
        let (before, behind) = self.members.split_at((*from).min(self.members.len()));
        let place = behind.iter().position(|(known, _)| known == name).map(|place| place + before.len());
        let place = place.or_else(|| before.iter().position(|(known, _)| known == name))?;
        *from = place + 1;
        self.members.get(place).map(|(_, value)| value)
    }
}

impl Mark {
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<u8>() as usize
    }
}

impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Mark {}

impl<T: Native> From<&[T]> for Datum {
    fn from(numbers: &[T]) -> Self {
        Self::Numbers(T::NUMBER, T::memory(numbers).to_vec())
    }
}

impl<T: Native, const N: usize> From<&[T; N]> for Datum {
    fn from(numbers: &[T; N]) -> Self {
        Self::from(&numbers[..])
    }
}

impl Datum {
    /// Consecutive native-endian numbers of a type.
    pub(crate) fn numbers<const N: usize>(number: Number, values: impl IntoIterator<Item = [u8; N]>) -> Self {
        Self::Numbers(number, values.into_iter().flatten().collect())
    }

    /// The object that it is or points at.
    pub fn as_draft(&self) -> Option<&Draft> {
        match self {
            Self::Value(draft) => Some(draft),
            Self::Object(draft) => Some(draft),
            _ => None,
        }
    }

    /// The object that it is or points at, to be changed. An object that others share is copied first; those of an
    /// object that was read are shared by [`Same`](Self::Same), so that the change applies to all pointers to it.
    pub fn as_draft_mut(&mut self) -> Option<&mut Draft> {
        match self {
            Self::Value(draft) => Some(draft),
            Self::Object(draft) => Some(Arc::make_mut(draft)),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The items of a list, to be changed.
    pub fn as_list_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($type:ty => $make:expr),* $(,)?) => {$(
        impl From<$type> for Datum {
            fn from(value: $type) -> Self {
                let make: fn($type) -> Self = $make;
                make(value)
            }
        }
    )*};
}

from! {
    bool => |value| Self::Int(i64::from(value)),
    i32 => |value| Self::Int(i64::from(value)),
    u32 => |value| Self::Int(i64::from(value)),
    i64 => Self::Int,
    f64 => Self::Float,
    &str => |value| Self::Text(value.into()),
    Arc<str> => Self::Text,
    Draft => Self::Value,
    Arc<Draft> => Self::Object,
    Vec<Datum> => Self::List,
    Vec<f64> => |values| Self::numbers(Number::F64, values.into_iter().map(f64::to_ne_bytes)),
    Vec<i64> => |values| Self::numbers(Number::I64, values.into_iter().map(i64::to_ne_bytes)),
    Vec<i32> => |values| Self::numbers(Number::I32, values.into_iter().map(i32::to_ne_bytes)),
}
