//! Sapwood for C and C++: the functions of `include/sapwood.h`, over Arrow's C data and stream interfaces.
//!
//! # Safety
//!
//! One contract holds for all functions here, so that it is not repeated at each:
//!
//! - A pointer to an object is one that a function of this library returned and that was not freed since. NULL is
//!   refused with an error, or has no effect where a function returns none.
//! - A text is NULL or ends with a zero byte. A pointer with a count leads to as many values; NULL is allowed for 0.
//! - `out` is NULL, which is refused, or may be written to.
//! - Objects may be used by several threads at once, but not while one of them frees the object.
//!
//! No panic crosses the border, and nothing is global.

// C cannot be spoken to without it; no other crate of the project has any.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the contract above is that of all functions")]
#![deny(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

mod argument;
mod error;
mod file;
mod histogram;
mod listing;
mod options;
mod parallel;
mod stream;
mod table;
mod values;
mod writer;
