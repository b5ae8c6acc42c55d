//! Summaries of the values of some entries.

use crate::column::Number;

/// The least and the largest of some numbers, NaN left out.
///
/// # Example
///
/// ```
/// use sapwood::statistics::Extremes;
/// assert_eq!(Extremes::Signed(-1, 3).and(Extremes::Signed(0, 7)), Extremes::Signed(-1, 7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extremes {
    /// Of whole numbers with a sign.
    Signed(i64, i64),
    /// Of whole numbers without a sign and of truth values.
    Unsigned(u64, u64),
    /// Of fractions, infinities included.
    Real(f64, f64),
}

impl Extremes {
    /// The extremes of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Signed(a, b), Self::Signed(c, d)) => Self::Signed(a.min(c), b.max(d)),
            (Self::Unsigned(a, b), Self::Unsigned(c, d)) => Self::Unsigned(a.min(c), b.max(d)),
            (Self::Real(a, b), Self::Real(c, d)) => Self::Real(a.min(c), b.max(d)),
            // Numbers of one column are of one kind.
            _ => Self::Real(f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// How far they are apart.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::statistics::Extremes::Unsigned(3, 7).width(), 4.0);
    /// ```
    pub fn width(self) -> f64 {
        match self {
            Self::Signed(least, largest) => largest as f64 - least as f64,
            Self::Unsigned(least, largest) => largest as f64 - least as f64,
            Self::Real(least, largest) => largest - least,
        }
    }

    /// Whether a number of this type can have them, and they are in order.
    pub(super) fn fit(self, number: Number) -> bool {
        let bits = 8 * number.bytes() as u32;
        match self {
            Self::Signed(least, largest) => {
                let is_signed = !number.is_unsigned() && !matches!(number, Number::Bool | Number::F32 | Number::F64);
                let limit = i64::MAX >> (64 - bits);
                is_signed && least <= largest && least >= -limit - 1 && largest <= limit
            }
            Self::Unsigned(least, largest) => {
                let limit = match number {
                    Number::Bool => 1,
                    _ if number.is_unsigned() => u64::MAX >> (64 - bits),
                    _ => return false,
                };
                least <= largest && largest <= limit
            }
            Self::Real(least, largest) => matches!(number, Number::F32 | Number::F64) && least <= largest,
        }
    }
}

/// The values of a run of entries.
///
/// # Example
///
/// ```
/// use sapwood::statistics::{Extremes, Summary};
/// let one = Summary { entries: 1, items: 1, extremes: Some(Extremes::Unsigned(2, 2)), ..Summary::default() };
/// let more = Summary { entries: 2, items: 0, ..Summary::default() };
/// assert_eq!(one.and(more).entries, 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Entries of the run.
    pub entries: u64,
    /// Least and largest number; none without numbers, or with NaN only.
    pub extremes: Option<Extremes>,
    /// Innermost items of all entries: one per entry for single values.
    pub items: u64,
    /// Items that are NaN.
    pub nans: u64,
    /// Items that have no value.
    pub absent: u64,
    /// Entries without items.
    pub empty: u64,
    /// Items of the entry with the fewest.
    pub shortest: u64,
    /// Items of the entry with the most.
    pub longest: u64,
}

impl Default for Summary {
    /// The summary of no entry.
    fn default() -> Self {
        Self { entries: 0, extremes: None, items: 0, nans: 0, absent: 0, empty: 0, shortest: u64::MAX, longest: 0 }
    }
}

impl Summary {
    /// The summary of two runs together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            entries: self.entries.saturating_add(other.entries),
            extremes: match (self.extremes, other.extremes) {
                (Some(a), Some(b)) => Some(a.and(b)),
                (a, b) => a.or(b),
            },
            items: self.items.saturating_add(other.items),
            nans: self.nans.saturating_add(other.nans),
            absent: self.absent.saturating_add(other.absent),
            empty: self.empty.saturating_add(other.empty),
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
        }
    }

    /// Whether its numbers agree with each other and with the type of the column.
    pub(super) fn is_possible(&self, number: Number, depth: usize) -> bool {
        let Some(values) = self.nans.checked_add(self.absent).and_then(|rest| self.items.checked_sub(rest)) else {
            return false;
        };
        let lists = if depth == 0 {
            (self.items, self.shortest, self.longest, self.empty) == (self.entries, 1, 1, 0)
        } else {
            let least = u128::from(self.entries) * u128::from(self.shortest);
            let most = u128::from(self.entries) * u128::from(self.longest);
            (least..=most).contains(&u128::from(self.items)) && (self.empty > 0) == (self.shortest == 0)
        };
        let nans = self.nans == 0 || matches!(number, Number::F32 | Number::F64);
        self.entries > 0
            && self.empty <= self.entries
            && lists
            && nans
            && self.extremes.is_some() == (values > 0)
            && self.extremes.is_none_or(|extremes| extremes.fit(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_are_noticed_where_numbers_disagree() {
        let good = Summary {
            entries: 3,
            extremes: Some(Extremes::Real(-1.0, 2.0)),
            items: 5,
            nans: 1,
            absent: 1,
            empty: 1,
            shortest: 0,
            longest: 4,
        };
        assert!(good.is_possible(Number::F32, 1));
        assert!(!good.is_possible(Number::F32, 0) && !good.is_possible(Number::I32, 1));
        for bad in [
            Summary { entries: 0, ..good },
            Summary { items: 13, ..good },
            Summary { nans: 5, ..good },
            Summary { nans: u64::MAX, ..good },
            Summary { extremes: None, ..good },
            Summary { extremes: Some(Extremes::Real(2.0, -1.0)), ..good },
            Summary { extremes: Some(Extremes::Real(f64::NAN, 1.0)), ..good },
            Summary { shortest: 1, ..good },
            Summary { empty: 4, ..good },
        ] {
            assert!(!bad.is_possible(Number::F32, 1), "{bad:?}");
        }
        assert!(Extremes::Signed(-128, 127).fit(Number::I8) && !Extremes::Signed(-129, 0).fit(Number::I8));
        assert!(Extremes::Unsigned(0, u64::MAX).fit(Number::U64) && !Extremes::Unsigned(0, 2).fit(Number::Bool));
        assert!(Extremes::Signed(i64::MIN, i64::MAX).fit(Number::I64) && !Extremes::Signed(0, 1).fit(Number::U8));
    }
}
