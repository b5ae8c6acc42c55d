//! What the bins of a histogram hold: arrays of six types of numbers, with ROOT's bounds.

use crate::column::Number;
use crate::schema::Datum;

/// Contents of bins, with underflow and overflow, in the type of their histogram.
///
/// # Example
///
/// ```
/// use sapwood::hist::Cells;
/// let cells = Cells::Short(vec![0, 7, 0]);
/// assert_eq!((cells.len(), cells.get(1)), (3, 7.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// `TArrayC`.
    Char(Vec<i8>),
    /// `TArrayS`.
    Short(Vec<i16>),
    /// `TArrayI`.
    Int(Vec<i32>),
    /// `TArrayL64`.
    Long(Vec<i64>),
    /// `TArrayF`.
    Float(Vec<f32>),
    /// `TArrayD`.
    Double(Vec<f64>),
}

macro_rules! each {
    ($cells:expr, $values:ident => $do:expr) => {
        match $cells {
            Cells::Char($values) => $do,
            Cells::Short($values) => $do,
            Cells::Int($values) => $do,
            Cells::Long($values) => $do,
            Cells::Float($values) => $do,
            Cells::Double($values) => $do,
        }
    };
}

impl Cells {
    /// Numbers of a type that bins can have, of their native bytes; none for other types.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::hist::Cells;
    /// assert_eq!(Cells::from_bytes(Number::I16, &7_i16.to_ne_bytes()), Some(Cells::Short(vec![7])));
    /// assert_eq!(Cells::from_bytes(Number::U16, &[7, 0]), None);
    /// ```
    pub fn from_bytes(number: Number, bytes: &[u8]) -> Option<Self> {
        macro_rules! take {
            ($type:ty) => {
                bytes.as_chunks().0.iter().map(|bytes| <$type>::from_ne_bytes(*bytes)).collect()
            };
        }
        Some(match number {
            Number::I8 => Self::Char(take!(i8)),
            Number::I16 => Self::Short(take!(i16)),
            Number::I32 => Self::Int(take!(i32)),
            Number::I64 => Self::Long(take!(i64)),
            Number::F32 => Self::Float(take!(f32)),
            Number::F64 => Self::Double(take!(f64)),
            _ => return None,
        })
    }

    /// Numbers of a member, where they are of a type that bins can have.
    pub(crate) fn read(datum: &Datum) -> Option<Self> {
        let Datum::Numbers(number, bytes) = datum else { return None };
        Self::from_bytes(*number, bytes)
    }

    /// Zeros of a type that bins can have.
    pub(super) fn zeros_of(number: Number, len: usize) -> Option<Self> {
        Some(match number {
            Number::I8 => Self::Char(vec![0; len]),
            Number::I16 => Self::Short(vec![0; len]),
            Number::I32 => Self::Int(vec![0; len]),
            Number::I64 => Self::Long(vec![0; len]),
            Number::F32 => Self::Float(vec![0.0; len]),
            Number::F64 => Self::Double(vec![0.0; len]),
            _ => return None,
        })
    }

    /// The type of its numbers.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::hist::Cells;
    /// assert_eq!(Cells::Short(vec![7]).number(), Number::I16);
    /// ```
    pub fn number(&self) -> Number {
        match self {
            Self::Char(_) => Number::I8,
            Self::Short(_) => Number::I16,
            Self::Int(_) => Number::I32,
            Self::Long(_) => Number::I64,
            Self::Float(_) => Number::F32,
            Self::Double(_) => Number::F64,
        }
    }

    /// The same numbers as a member.
    pub(crate) fn datum(&self) -> Datum {
        each!(self, values => Datum::numbers(self.number(), values.iter().map(|value| value.to_ne_bytes())))
    }

    /// How many there are.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Cells::Float(vec![1.0, 2.0]).len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether there are none.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(sapwood::hist::Cells::Float(vec![]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Zeros of the same type.
    pub(crate) fn zeros(&self, len: usize) -> Self {
        match self {
            Self::Char(_) => Self::Char(vec![0; len]),
            Self::Short(_) => Self::Short(vec![0; len]),
            Self::Int(_) => Self::Int(vec![0; len]),
            Self::Long(_) => Self::Long(vec![0; len]),
            Self::Float(_) => Self::Float(vec![0.0; len]),
            Self::Double(_) => Self::Double(vec![0.0; len]),
        }
    }

    /// Appends the first numbers of others of the same type; gives `false` where they are too few, or of another type.
    pub(crate) fn append(&mut self, more: &Self, count: usize) -> bool {
        macro_rules! append {
            ($values:ident, $more:ident) => {
                $more.get(..count).is_some_and(|more| {
                    $values.extend_from_slice(more);
                    true
                })
            };
        }
        match (self, more) {
            (Self::Char(values), Self::Char(more)) => append!(values, more),
            (Self::Short(values), Self::Short(more)) => append!(values, more),
            (Self::Int(values), Self::Int(more)) => append!(values, more),
            (Self::Long(values), Self::Long(more)) => append!(values, more),
            (Self::Float(values), Self::Float(more)) => append!(values, more),
            (Self::Double(values), Self::Double(more)) => append!(values, more),
            _ => false,
        }
    }

    /// What a bin holds; zero for one that is not there.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Cells::Char(vec![-1]).get(0), -1.0);
    /// ```
    pub fn get(&self, bin: usize) -> f64 {
        match self {
            Self::Char(values) => values.get(bin).copied().unwrap_or(0).into(),
            Self::Short(values) => values.get(bin).copied().unwrap_or(0).into(),
            Self::Int(values) => values.get(bin).copied().unwrap_or(0).into(),
            Self::Long(values) => values.get(bin).copied().unwrap_or(0) as f64,
            Self::Float(values) => values.get(bin).copied().unwrap_or(0.0).into(),
            Self::Double(values) => values.get(bin).copied().unwrap_or(0.0),
        }
    }

    /// Adds to a bin. Whole numbers stop short of their type's bounds, as they do when ROOT fills them: the lowest is
    /// never reached.
    pub(crate) fn add(&mut self, bin: usize, weight: f64) {
        macro_rules! bounded {
            ($values:ident, $type:ty) => {
                if let Some(value) = $values.get_mut(bin) {
                    let sum = i64::from(*value).saturating_add(weight as i64);
                    *value = sum.clamp(-i64::from(<$type>::MAX), i64::from(<$type>::MAX)) as $type;
                }
            };
        }
        match self {
            Self::Char(values) => bounded!(values, i8),
            Self::Short(values) => bounded!(values, i16),
            Self::Int(values) => bounded!(values, i32),
            Self::Long(values) => bounded!(values, i64),
            Self::Float(values) => values.get_mut(bin).into_iter().for_each(|value| *value += weight as f32),
            Self::Double(values) => values.get_mut(bin).into_iter().for_each(|value| *value += weight),
        }
    }
}
