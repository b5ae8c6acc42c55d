//! Histograms and profiles: axes, bins, statistics, and how they are filled.

mod add;
mod axis;
mod axis_draft;
mod bin_error;
mod bins;
mod cells;
mod class;
mod fill;
mod gamma;
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
pub use histogram::Histogram;
