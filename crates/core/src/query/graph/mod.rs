//! GRAPHS: many values of one source, each below filters, computed in one pass.
//!
//! Equal expressions are one: what several values, filters or variations have in common is computed once (`intern`), of
//! the rows that any of them needs (`rowsets`). `build` binds what is asked for, `part` computes it for some thousand
//! rows, and `run` reads the source step by step. `looks` finds what is computed before more is read, `find_ranges`
//! rows by their position. `meter` counts rows and seconds.

mod build;
mod computed;
mod expression;
mod find_ranges;
mod in_step;
mod intern;
mod looks;
mod meter;
mod output;
mod part;
mod plan;
mod range;
mod rowsets;
mod run;

pub(crate) use build::{Builder, ValueId};
pub use computed::Compute;
pub(crate) use meter::{Measures, Spot};
pub(crate) use output::{Piece, Want};
pub use plan::Explained;
pub(crate) use plan::Graph;
pub(crate) use range::Positions;
