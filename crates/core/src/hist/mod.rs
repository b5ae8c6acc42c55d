//! Histograms, profiles, graphs and efficiencies: made, filled, added, and turned into the objects that ROOT stores,
//! and back.
//!
//! | type | what ROOT stores of it |
//! |---|---|
//! | [`Histogram`] | `TH1`, `TH2`, `TH3` in all types, `TProfile`, `TProfile2D`, `TProfile3D` |
//! | [`Axis`] | `TAxis`: bins of one width or of any, labels, times, ranges |
//! | [`Graph`] | `TGraph`, `TGraphErrors`, `TGraphAsymmErrors` and others; `TGraph2D` |
//! | [`Efficiency`] | `TEfficiency` |
//! | [`SparseHistogram`], [`SparseFill`] | `THnSparse`: of all types to read, of doubles to fill |
//!
//! Each is made of a [`Draft`](crate::schema::Draft), which [`File::draft`](crate::File::draft) reads, and becomes one,
//! which [`FileWriter::write`](crate::write::FileWriter::write) takes; members that it does not know stay as they are.
//! Fills, statistics and errors are those of ROOT 6.40 to the last bin.

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
mod sparse;
mod sparse_fill;
mod statistics;

pub(crate) use add::Place;
pub use axis::Axis;
pub use bin_error::{BinError, ProfileError};
pub use cells::Cells;
pub(crate) use class::shape_of;
pub use class::{axis_member, class_of, number_of, profile_class_of};
pub(crate) use efficiency::HISTOGRAMS as EFFICIENCY_HISTOGRAMS;
pub use efficiency::{Efficiency, Interval, efficiency_members};
pub use graph::Graph;
pub(crate) use graph::{MERGED_GRAPHS, append_points};
pub use histogram::Histogram;
pub use objects::is_part;
pub use sparse::SparseHistogram;
pub(crate) use sparse::{SparseChunks, chunk_list};
pub use sparse_fill::SparseFill;
