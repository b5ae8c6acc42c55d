//! Takes jsroot into the browser where its npm package was fetched (`npm run jsroot` in `page`); nothing is fetched
//! here.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=page/jsroot");
    println!("cargo:rerun-if-changed=build.rs");
    let out = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("jsroot.js");
    let source = Path::new("page/jsroot/jsroot.min.js");
    let text = if source.is_file() { fs::read(source)? } else { Vec::new() };
    if fs::read(&out).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::write(out, text)
}
