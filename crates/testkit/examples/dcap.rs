//! A small dCache on loopback, as `tests/test_dcap.py` asks for it: `cargo run -p sapwood-testkit --example dcap --
//! FILE...`.
//!
//! It prints the port of its door, at which each file is found by its name: `dcap://127.0.0.1:PORT/NAME`. It ends with
//! its input.

use std::io::{self, Error};
use std::path::Path;

use sapwood_testkit::dcap_server::{DcapServer, ServerConfig};

fn main() -> io::Result<()> {
    let server = DcapServer::start("", ServerConfig::default());
    for given in std::env::args().skip(1) {
        let name = Path::new(&given).file_name().ok_or_else(|| Error::other("dcap FILE..."))?;
        server.put(&format!("/{}", name.to_string_lossy()), std::fs::read(&given)?);
    }
    println!("{}", server.address().port());
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}
