//! Histograms and profiles: axes, bins, statistics, and how they are filled.

mod axis;
mod cells;
mod fill;
mod histogram;
mod limits;

pub(crate) use axis::Axis;
pub(crate) use cells::Cells;
pub(crate) use histogram::{Histogram, shape_of};
