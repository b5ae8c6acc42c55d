//! Stores against servers on loopback.

mod at_once;
mod cache;
#[cfg(feature = "clouds")]
mod clouds;
mod common;
mod contract;
mod dcap;
mod faults;
mod gsi;
mod packed;
mod packed_damage;
mod reading;
mod replicas;
mod uploads;
mod xrootd;
mod xrootd_faults;
