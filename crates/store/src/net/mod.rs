//! The network below all remote stores: threads, connections, TLS.

mod engine;
mod tls;
mod wait;

pub(crate) use engine::{Link, PARALLEL, link};
pub(crate) use wait::wait;
