//! The engine through its public surface.
//!
//! Tests that change or measure their whole process are programs next to this folder.

mod adopt;
mod arrow;
mod cache;
mod chain;
mod collections;
mod compression_study;
mod crash;
mod entries;
mod frame;
mod hist;
mod hostile;
mod io;
mod merging;
mod mutations;
mod ntuple;
mod ntuple_entries;
mod ntuple_hostile;
mod ntuple_rewriting;
mod ntuple_verify;
mod ntuples;
mod objects;
mod parallel;
mod progress;
mod project;
mod query;
mod random_access;
mod reading;
mod rewriting;
mod same_bytes;
mod seeds;
mod selection;
mod sorting;
mod statistics;
mod steps;
mod sums;
mod threads;
mod verify;
mod writing;
