//! Histograms and profiles: axes, bins, statistics, and how they are filled.

mod add;
mod axis;
mod axis_draft;
mod bin_error;
mod bins;
mod cells;
mod class;
mod efficiency;
mod fill;
mod gamma;
mod graph;
mod histogram;
mod histogram_draft;
mod label_axis;
mod labels;
mod limits;
mod options;
mod statistics;

pub(crate) use add::{Place, same_bin};
pub use axis::Axis;
pub use bin_error::{BinError, ProfileError};
pub use cells::Cells;
pub(crate) use class::shape_of;
pub(crate) use efficiency::HISTOGRAMS as EFFICIENCY_HISTOGRAMS;
pub use efficiency::{Efficiency, Interval};
pub use graph::Graph;
pub(crate) use graph::{MERGED_GRAPHS, append_points};
pub use histogram::Histogram;
