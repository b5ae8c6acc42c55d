//! What goes over the wire, without a wire: requests to bytes, bytes to answers. Nothing here trusts a number that it
//! reads.

mod answer;
pub mod numbers;
mod pages;
mod request;
mod vector;

pub(crate) use answer::{
    Forward, HEAD_BYTES, Head, Later, Offer, OpenFile, Protocol, Refusal, Stat, Status, Welcome, limits, names,
    wait_seconds,
};
pub(crate) use numbers::HELLO;
pub(crate) use pages::{Pages, Part, Wrong};
pub(crate) use request::{Handle, Request, SessionId};
pub(crate) use vector::Vector;

/// Bytes that violate the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) &'static str);

/// The first bytes as an array, and what follows.
fn take<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Broken> {
    bytes.split_first_chunk::<N>().ok_or(Broken("an answer ends too early"))
}
