//! `sapwood checksum` and `sapwood verify --checksum`.

use std::fs;

use sapwood_testkit::{example, scratch};

/// Runs a command: exit code, output, errors.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut out = Vec::new();
    let mut err = Vec::new();
    let code = sapwood_cli::run([&["sapwood"], arguments].concat(), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (code, text(out), text(err))
}

#[test]
fn checksums_are_printed_and_compared() {
    let nano = example("nano.root");
    let nano = nano.to_str().unwrap();
    let (code, out, _) = run(&["checksum", "-a", "adler32", "-a", "crc32c", "-a", "md5", nano]);
    assert_eq!(code, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    for (line, kind) in lines.iter().zip(["adler32:", "crc32c:", "md5:"]) {
        let (sum, name) = line.split_once("  ").unwrap();
        assert!(sum.starts_with(kind) && name == nano, "{line}");
        assert_eq!(run(&["verify", "--quiet", "--checksum", sum, nano]), (0, String::new(), String::new()));
        let zeros = format!("{kind}0");
        let (code, out, _) = run(&["verify", "--checksum", &zeros, nano]);
        assert!(code == 1 && out.contains(&format!("another checksum: {sum} instead of {kind}0")), "{out}");
        assert!(out.contains(": damaged: "), "{out}");
        let (code, out, _) = run(&["verify", "--json", "--checksum", &zeros, nano]);
        assert!(code == 1 && out.contains(&format!("\"found\": \"{sum}\"")), "{out}");
    }
    let (code, _, err) = run(&["verify", "--checksum", "adler32:1", nano, nano]);
    assert!(code == 1 && err.contains("--checksum is that of one file"), "{err}");
    assert_eq!(run(&["verify", "--checksum", "sha0:1", nano]).0, 2);
}

#[test]
fn a_packed_file_with_replicas_is_summed_as_it_is_stored() {
    let packed = scratch("nano.root.zst");
    let packed = packed.to_str().unwrap();
    assert_eq!(run(&["pack", example("nano.root").to_str().unwrap(), "-o", packed]).0, 0);
    let (_, alone, _) = run(&["checksum", packed]);
    let (code, with_replica, err) = run(&["checksum", "--replica", "no-such-file.root.zst", packed]);
    assert_eq!((code, &with_replica), (0, &alone), "{err}");
    let (sum, _) = alone.split_once("  ").unwrap();
    assert_eq!(run(&["verify", "--quiet", "--checksum", sum, "--replica", "no-such-file.root.zst", packed]).0, 0);
}

#[test]
fn any_file_has_a_checksum_and_others_are_read_after_an_error() {
    let path = scratch("digits.txt");
    fs::write(&path, "123456789").unwrap();
    let path = path.to_str().unwrap();
    let (code, out, _) = run(&["checksum", path]);
    assert_eq!((code, out), (0, format!("adler32:091e01de  {path}\n")));
    let (code, out, _) = run(&["checksum", "no-such-file", path]);
    assert!(code == 1 && out.contains("no-such-file: not read: ") && out.contains("adler32:091e01de"), "{out}");
    let (code, out, _) = run(&["checksum", "--json", "-a", "md5", path]);
    assert!(code == 0 && out.contains("\"md5\": \"25f9e794323b453885f5181f1b624d0b\""), "{out}");
}
