//! STATISTICS of columns: least and largest values of runs of entries, which are the baskets of a branch or the pages
//! of a field. A cut that no value of a run can pass need not read the run.
//!
//! [`Summary`] describes the values of some entries, [`ColumnStatistics`] holds one for each run of a column, with
//! coarser groups above them. A [`SideFile`] stores the statistics of a file next to it, in
//! `events.root.sapwood-index`. Each column has a stamp there, which [`Table`](crate::table::Table) computes again from
//! the file: statistics of another state of the file are not used.
//!
//! Format page: `docs/statistics.md`.
//!
//! # Example
//!
//! ```
//! # let path = sapwood_testkit::scratch("statistics.root");
//! # std::fs::copy(sapwood_testkit::example("nano.root"), &path)?;
//! use sapwood::statistics::{Extremes, SideFile};
//! let made = sapwood::inspect::index::make(&sapwood::File::open(&path)?, &Default::default())?;
//! made.side_file.write(&SideFile::path_of(&path))?;
//! let side = SideFile::read(&SideFile::path_of(&path))?;
//! let pt = side.column("Events", "Jet_pt", &[])?.expect("it was made");
//! let Some(Extremes::Real(least, largest)) = pt.all().extremes else { panic!("it holds fractions") };
//! assert!(0.0 < least && least < largest);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod column;
mod planes;
mod runs;
mod side_file;
mod summary;

pub use column::ColumnStatistics;
pub(crate) use runs::{Part, parts_of, summaries};
pub use side_file::{EXTENSION, SideFile, Stored};
pub use summary::{Extremes, Summary};
