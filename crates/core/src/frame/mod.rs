//! FRAMES: a whole analysis in one pass.
//!
//! A [`Frame`] names values, filters entries and varies columns. Each step makes a new frame on top of the old one, so
//! that frames are a tree. What is wanted of them ([`Wanted`]: histograms, counts, statistics, columns) is
//! handed to a [`Run`], which computes all of it over one file after another: each column is read once, and equal
//! expressions are computed once.

mod accumulator;
mod compile;
mod diagram;
mod node;
mod run;
mod statistics;
mod wanted;

pub use accumulator::{Cut, Outcome, Varied};
pub use diagram::{Diagram, DiagramStep, StepKind};
pub use node::{Frame, Variation};
pub use run::{Plan, Run, StepColumns};
pub use statistics::{Statistics, StatisticsParts};
pub use wanted::Wanted;
