//! Answers to queries for the configuration: a line for each name.

use sapwood_store::xrootd_numbers::{MAX_PATHS, MAX_VECTOR, MAX_VECTOR_BYTES};

use super::exchange::Exchange;
use super::trouble::Trouble;

/// Names that are looked at.
const MAX_NAMES: usize = 64;

impl Exchange {
    pub(super) async fn config(&mut self, names: &str) -> Result<(), Trouble> {
        let text: String = names.split_ascii_whitespace().take(MAX_NAMES).map(line).collect();
        // Without a zero: clients compare the last line with a number.
        self.ok(text.into()).await
    }
}

/// The line of a name. A name without a value stands for itself, as in other servers.
fn line(name: &str) -> String {
    match name {
        "bind_max" => format!("{MAX_PATHS}\n"),
        "chksum" => "0:adler32,1:crc32c,2:md5\n".to_owned(),
        "readv_iov_max" => format!("{MAX_VECTOR}\n"),
        "readv_ior_max" => format!("{MAX_VECTOR_BYTES}\n"),
        "role" => "server\n".to_owned(),
        "version" => concat!("sapwood-", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
        name => format!("{name}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_values_or_stand_for_themselves() {
        let lines: String = "readv_iov_max readv_ior_max tpc".split(' ').map(line).collect();
        assert_eq!(lines, "1024\n2097136\ntpc\n");
    }
}
