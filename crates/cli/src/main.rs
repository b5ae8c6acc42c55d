//! The `sapwood` command.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let code = sapwood_cli::run(std::env::args_os(), &mut out, &mut std::io::stderr().lock());
    // A closed pipe is no reason to complain.
    let _ = out.flush();
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
