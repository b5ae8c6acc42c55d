//! What the tests of several crates share.

pub mod dcap_server;
pub mod fuzz;
pub mod http_server;
mod link_shaper;
pub mod ntuple;
mod requests;
mod scratch;
pub mod store_contract;
mod store_faults;

pub use scratch::{Scratch, example, scratch};
pub use store_faults::{Fault, Faulty, Throttled};
pub mod tcp_proxy;
pub mod xrootd_server;
