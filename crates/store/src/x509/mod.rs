//! Certificates of X.509: the user's own, with a key, and which hosts to trust.

mod authorities;
mod hosts;
mod identity;
mod name_hash;

pub(crate) use authorities::{authorities, private_key_file, read};
pub(crate) use hosts::check_host;
pub(crate) use identity::{Identity, now, valid_time};
