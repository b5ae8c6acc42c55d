//! INSPECTION: how a file is laid out, what that costs its readers, and whether it is whole.
//!
//! Everything here reads metadata and plans; only [`verify`](verify::verify) reads what the file holds.

pub mod verify;
pub mod walk;
