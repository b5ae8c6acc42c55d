//! Objects to be written: a class, and members by name.

use std::borrow::Cow;
use std::sync::Arc;

use crate::column::Number;

/// An object to be written. A member that it does not have is written as zero, empty or null.
///
/// # Example
///
/// ```
/// use sapwood::schema::Draft;
/// let named = Draft::new("TNamed").with("fName", "answer").with("fTitle", "42");
/// assert_eq!(named.class(), "TNamed");
/// ```
#[derive(Clone, Debug)]
pub struct Draft {
    class: Arc<str>,
    members: Vec<(Cow<'static, str>, Datum)>,
}

/// The value of a member.
#[derive(Clone, Debug)]
pub enum Datum {
    /// A whole number, or a truth value.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(Arc<str>),
    /// Consecutive numbers, native-endian.
    Numbers(Number, Vec<u8>),
    /// The items of a collection.
    List(Vec<Datum>),
    /// An object by value.
    Value(Draft),
    /// An object behind a pointer. The same one is written once, and then referred to.
    Object(Arc<Draft>),
    /// A null pointer.
    Null,
}

impl Draft {
    /// An object without members.
    pub fn new(class: impl Into<Arc<str>>) -> Self {
        Self { class: class.into(), members: Vec::new() }
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
}

impl Datum {
    /// Consecutive whole numbers of a type.
    pub fn numbers<const N: usize>(number: Number, values: impl IntoIterator<Item = [u8; N]>) -> Self {
        Self::Numbers(number, values.into_iter().flatten().collect())
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
