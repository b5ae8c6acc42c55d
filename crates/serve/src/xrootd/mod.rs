//! XRootD's protocol (`root://`) for clients, in front of the same files as http.
//!
//! [`speaker`] speaks with one client: [`greeting`] is what comes before there is a session, [`connection`] takes
//! requests in their order, and [`exchange`] answers each of them; [`service`] is what all of them share.

mod about;
mod auth;
mod bound;
mod checksum;
mod config;
mod connection;
mod exchange;
mod frame;
mod greeting;
mod open_files;
mod reading;
mod request;
mod service;
mod session;
mod speaker;
mod trouble;
mod vector;
mod writer;

pub(crate) use auth::Gate;
pub(crate) use service::Service;
pub(crate) use speaker::Xrootd;
