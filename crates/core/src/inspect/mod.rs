//! INSPECTION: how a file is laid out, what that costs its readers, and whether it is whole.
//!
//! Everything here reads metadata and plans; only [`verify`](verify::verify) and [`compression`] read what the file
//! holds. [`perf`] says what others' reading cost, and keeps that in files.

pub mod compression;
mod counters;
mod cuts;
pub mod doctor;
mod frame_picture;
pub mod histogram;
pub mod index;
pub mod io_cost;
mod issue;
pub mod layout;
pub mod optimize;
mod page;
pub mod perf;
pub mod picture;
mod plot;
pub mod png;
mod reading;
pub mod rewritten;
mod rules;
mod simulate;
mod svg;
pub mod verify;

pub use crate::file::walk;
pub use cuts::CutAdvice;
pub use frame_picture::draw_frame;
pub use issue::{Issue, IssueKind};
