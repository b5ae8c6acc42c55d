//! Commands that are given several files, of which some cannot be read.

use sapwood_testkit::scratch;

/// Runs a command: exit code, output, errors.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = sapwood_cli::run([&["sapwood"], arguments].concat(), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (code, text(out), text(err))
}

#[test]
fn what_cannot_be_read_is_told_and_the_others_are_looked_at() {
    let whole = sapwood_testkit::example("nano.root");
    let whole = whole.to_str().expect("a path");
    let gone = scratch("several-gone.root");
    let gone = gone.to_str().expect("a path");

    let (code, out, err) = run(&["verify", gone, whole]);
    assert!(code == 1 && err.is_empty(), "{err}");
    let (first, last) = (out.lines().next().expect("a line"), out.lines().last().expect("a line"));
    assert!(first.starts_with(&format!("{gone}: not read: ")), "{out}");
    assert!(last.starts_with(&format!("{whole}: whole: ")), "{out}");

    let (code, out, _) = run(&["verify", "--json", whole, gone]);
    assert!(code == 1 && out.contains("\"damaged\": false") && out.contains("\"error\": "), "{out}");

    let (code, out, _) = run(&["recover", "--dry-run", gone, whole]);
    assert!(code == 1 && out.contains(&format!("{gone}: not recovered: ")), "{out}");
    assert!(out.contains(&format!("{whole}: was closed, nothing to do")), "{out}");

    let (code, out, err) = run(&["ls", gone, whole]);
    assert!(code == 1 && err.is_empty() && out.starts_with(&format!("{gone}:\nnot read: ")), "{out}{err}");
    assert!(out.contains(&format!("\n{whole}:\nclass")) && out.contains("Events;1"), "{out}");

    let (code, out, _) = run(&["ls", "--json", whole, gone]);
    assert!(code == 1 && out.contains("\"name\": \"Events\"") && out.contains("\"error\": "), "{out}");

    let (code, out, err) = run(&["verify", gone]);
    assert!(code == 1 && out.is_empty() && err.starts_with("sapwood: "), "{out}{err}");
}
