//! Cuts of the command line, evaluated by the program that the command runs in.

use std::ops::Range;

/// Says which entries pass a cut: ranges that rise, of the path of a file, that of a tree in it, and an expression.
pub type Select<'a> = dyn Fn(&str, &str, &str) -> sapwood::Result<Vec<Range<u64>>> + 'a;
