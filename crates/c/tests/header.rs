//! `include/sapwood.h` is what cbindgen makes of the sources. With `SAPWOOD_WRITE=1` it is written.

use std::path::Path;

/// In the order in which a reader needs them.
const SOURCES: [&str; 10] =
    ["error", "options", "file", "listing", "table", "stream", "histogram", "writer", "values", "parallel"];

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(root.join(format!("src/{source}.rs")));
    }
    let mut made = Vec::new();
    builder.generate().expect("bindings").write(&mut made);
    let made = String::from_utf8(made).expect("text");
    let path = root.join("include/sapwood.h");
    if std::env::var_os("SAPWOOD_WRITE").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == made, "include/sapwood.h is out of date: SAPWOOD_WRITE=1 cargo test -p sapwood-c --test header");
}
