//! Histograms, profiles, graphs and efficiencies: made, filled, added, and turned into the objects that ROOT stores, and back.

mod add;
mod axis;
mod axis_draft;
mod bin_error;
mod bins;
mod cells;
mod class;
mod efficiency;
mod fill;
mod fill_block;
mod gamma;
mod graph;
mod histogram;
mod histogram_draft;
mod label_axis;
mod labels;
mod limits;
mod objects;
mod options;
mod statistics;

pub(crate) use add::{Place, same_bin};
pub use axis::Axis;
pub use bin_error::{BinError, ProfileError};
pub use cells::Cells;
pub(crate) use class::shape_of;
pub use class::{axis_member, class_of, number_of, profile_class_of};
pub(crate) use efficiency::HISTOGRAMS as EFFICIENCY_HISTOGRAMS;
pub use efficiency::{Efficiency, Interval};
pub use graph::Graph;
pub(crate) use graph::{MERGED_GRAPHS, append_points};
pub use histogram::Histogram;
pub use objects::is_part;
