//! `sapwood pack`, `unpack`, and other commands on packed files.

use std::path::Path;

use sapwood_testkit::{example, scratch};

fn run(arguments: &[&str]) -> (i32, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = sapwood_cli::run(std::iter::once(&"sapwood").chain(arguments), &mut out, &mut err);
    (code, String::from_utf8(out).expect("text"), String::from_utf8(err).expect("text"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name")
}

#[test]
fn a_file_is_packed_read_and_unpacked() {
    let folder = scratch("pack");
    std::fs::create_dir_all(&*folder).unwrap();
    let (nano, plain) = (example("nano.root"), folder.join("plain.root"));
    let (code, _, err) = run(&["rewrite", text(&nano), text(&plain), "--compression", "zlib:0"]);
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = run(&["pack", text(&plain), "--block", "4kiB", "--level", "9", "--threads", "2"]);
    assert!(code == 0 && err.is_empty(), "{err}");
    let packed = folder.join("plain.root.zst");
    assert!(out.starts_with(text(&packed)) && out.contains("times shorter"), "{out}");

    // All that reads takes it, with an object behind it.
    let same = |command: &str, object: &str| {
        let plain = run(&[command, &format!("{}{object}", plain.display())]);
        let packed = run(&[command, &format!("{}{object}", packed.display())]);
        assert_eq!((packed.0, &packed.2), (0, &String::new()), "{command}");
        assert_eq!(plain.1.replace("plain.root", "x"), packed.1.replace("plain.root.zst", "x"), "{command}");
    };
    for command in ["ls", "verify", "doctor"] {
        same(command, "");
    }
    for command in ["show", "scan"] {
        same(command, ":Events");
    }

    let (code, _, err) = run(&["unpack", text(&packed)]);
    assert!(code == 1 && err.contains("exists"), "{err}");
    let back = folder.join("back.root");
    let (code, _, err) = run(&["unpack", text(&packed), "-o", text(&back)]);
    assert_eq!(code, 0, "{err}");
    assert!(std::fs::read(&back).unwrap() == std::fs::read(&plain).unwrap());
    let (code, _, err) = run(&["unpack", text(&plain)]);
    assert!(code == 1 && err.contains("image.sqfs:path/x.root"), "{err}");
}

#[test]
fn a_file_that_is_compressed_inside_gains_little_and_is_told_so() {
    let packed = scratch("nano.zst");
    let nano = example("nano.root");
    let (code, out, err) = run(&["pack", text(&nano), "-o", text(&packed), "--json"]);
    assert_eq!(code, 0, "{err}");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let advice = found["advice"].as_str().unwrap();
    assert!(
        advice.contains(&format!("sapwood rewrite {} plain.root --compression zlib:0", nano.display())),
        "{advice}"
    );
    let (code, _, err) = run(&["pack", text(&nano), "-o", text(&packed), "--force"]);
    assert!(code == 0 && err.contains(advice), "{err}");
}

#[test]
fn members_of_archives_have_objects() {
    let folder = scratch("archive");
    std::fs::create_dir_all(folder.join("run1")).unwrap();
    std::fs::copy(example("nano.root"), folder.join("run1/nano.root")).unwrap();
    let image = scratch("image.sqfs");
    let made =
        std::process::Command::new("mksquashfs").arg(&*folder).arg(&*image).args(["-quiet", "-no-progress"]).status();
    if made.is_err() && std::env::var_os("CI").is_none() {
        eprintln!("skipped: there is no mksquashfs (squashfs-tools)");
        return;
    }
    assert!(made.unwrap().success());
    let place = |end: &str| format!("{}:run1/nano.root{end}", image.display());
    let (code, out, err) = run(&["ls", &place("")]);
    assert!(code == 0 && out.contains("Events"), "{err}");
    let (code, out, err) = run(&["scan", &place(":Events"), "nJet", "-n", "3"]);
    assert!(code == 0 && out.lines().count() == 4, "{out}{err}");
    let back = scratch("nano.root");
    let (code, _, err) = run(&["unpack", &place(""), "-o", text(&back)]);
    assert_eq!(code, 0, "{err}");
    assert!(std::fs::read(&back).unwrap() == std::fs::read(example("nano.root")).unwrap());
    let (code, _, err) = run(&["ls", &format!("{}:run2/nano.root", image.display())]);
    assert!(code == 1 && err.contains("there is no \"run2\" in its directory; it begins with \"run1\""), "{err}");
    let (code, _, err) = run(&["ls", text(&image)]);
    assert!(code == 1 && err.contains("no file in it"), "{err}");
}
