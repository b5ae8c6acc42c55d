//! The network below all remote stores: threads, connections, TLS; what is measured, what goes wrong, and what arrives.

mod assembly;
mod ends;
mod engine;
mod gauge;
mod pace;
mod plan;
mod tls;
mod trouble;
mod trust;
mod turns;
mod wait;

pub(crate) use assembly::{Assembly, stopped};
pub(crate) use ends::ends_of;
pub(crate) use engine::{Link, PARALLEL, link};
pub use gauge::Gauge;
pub(crate) use pace::Pace;
pub(crate) use plan::{Ask, REQUEST_BYTES, requests};
pub(crate) use tls::config as tls_config;
pub(crate) use trouble::{Again, LONGEST_ASKED, Patience, Trouble, reworded};
pub(crate) use turns::Turns;
pub(crate) use wait::{unless_stopped, wait};
