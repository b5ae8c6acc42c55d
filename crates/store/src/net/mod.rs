//! The network below all remote stores: threads, connections, TLS, measurements, retries, and the assembly of what
//! arrives.

mod assembly;
mod block_on;
mod head_tail;
mod link_stats;
mod own_certificate;
mod pace;
mod request_split;
mod retry;
mod runtime;
mod single_flight;
mod tls;
mod trust;

pub(crate) use assembly::Assembly;
pub(crate) use block_on::{block_on, unless_stopped};
pub(crate) use head_tail::ends_of;
pub use link_stats::LinkStats;
pub(crate) use pace::Pace;
pub(crate) use request_split::{Ask, REQUEST_BYTES, requests};
pub(crate) use retry::{LONGEST_ASKED, RequestError, Retry, RetryWhen, reworded};
pub(crate) use runtime::{Link, PARALLEL, link};
pub(crate) use single_flight::SingleFlight;
pub(crate) use tls::config as tls_config;
