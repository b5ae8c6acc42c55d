//! Trees that become RNTuples, and RNTuples that become trees.

pub(crate) mod branches_of_fields;
pub(crate) mod class_in_tree;
pub(crate) mod to_ntuple;
pub(crate) mod to_tree;
pub(crate) mod whole_object;

use crate::error::{Error, Result};

/// How to treat values that the other format cannot hold, if a tree becomes an RNTuple or the other way round.
///
/// # Example
///
/// ```
/// use sapwood::write::Unsupported;
/// assert_eq!(Unsupported::default(), Unsupported::Refuse);
/// assert_eq!("drop".parse::<Unsupported>()?, Unsupported::Drop);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsupported {
    /// They are an error, which names the field and its type.
    #[default]
    Refuse,
    /// Their fields or branches are left out, which is reported.
    Drop,
}

impl std::str::FromStr for Unsupported {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "refuse" => Ok(Self::Refuse),
            "drop" => Ok(Self::Drop),
            _ => Err(Error::mismatch(format!("what a format does not hold is to refuse or to drop, not {name:?}"))),
        }
    }
}
