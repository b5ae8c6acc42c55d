//! The languages that classes are written in.

use std::str::FromStr;

use crate::error::{Error, Result};

/// What classes are written in.
///
/// # Example
///
/// ```
/// use sapwood::project::Language;
/// assert_eq!("python".parse::<Language>()?, Language::Python);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Structs with `#[derive(Entry)]`.
    Rust,
    /// Dataclasses, as the Python package writes them.
    Python,
    /// A header that ACLiC compiles.
    Cpp,
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "rust" => Ok(Self::Rust),
            "python" => Ok(Self::Python),
            "cpp" | "c++" => Ok(Self::Cpp),
            _ => Err(Error::mismatch(format!("{text:?} is none of rust, python and cpp"))),
        }
    }
}
