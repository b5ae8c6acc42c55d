//! The commands that inspect files, on an RNTuple.

use std::path::PathBuf;

use sapwood_testkit::ntuple::{Damaged, column, whole};

/// Runs a command: exit code, output, errors.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = sapwood_cli::run([&["sapwood"], arguments].concat(), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (code, text(out), text(err))
}

fn stored(name: &str, bytes: &[u8]) -> (sapwood_testkit::Scratch, PathBuf) {
    let scratch = sapwood_testkit::scratch(name);
    let path = scratch.to_path_buf();
    std::fs::write(&path, bytes).expect("a file");
    (scratch, path)
}

#[test]
fn commands_show_rntuples() {
    let (_scratch, path) = stored("commands.root", &whole("zstd:5"));
    let path = path.to_str().unwrap();
    let (code, out, _) = run(&["ls", "-l", path]);
    let row: Vec<&str> = out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((code, &row[..3]), (0, &["ROOT::RNTuple", "n;1", "80"][..]), "{out}");

    let (code, out, _) = run(&["show", path]);
    assert!(code == 0 && out.starts_with("n \"\", RNTuple of version 1."), "{out}");
    assert!(out.lines().next().unwrap().ends_with("80 entries, 2 clusters"), "{out}");
    for line in ["either  std::variant<std::int32_t,std::string>  ?union[int32, string]", "both.a  double"] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let found = out.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().starts_with(&words));
        assert!(found, "{line:?} in {out}");
    }
    let (code, out, _) = run(&["show", "--json", &format!("{path}:n")]);
    assert!(code == 0 && out.contains("\"ntuple\": \"n\"") && out.contains("\"path\": \"both.b\""), "{out}");

    let (code, out, _) = run(&["scan", path, "-n", "3", "x", "list", "maybe", "either"]);
    let rows: Vec<Vec<&str>> = out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let expected =
        [["0", "0", "[]", "0", "null"], ["1", "1", "[0.0]", "null", "1"], ["2", "2", "[0.0,1.0]", "2", "ee"]];
    assert_eq!((code, rows), (0, expected.map(|row| row.to_vec()).to_vec()), "{out}");
    let (code, out, _) = run(&["scan", path, "--json", "--start", "79", "fixed", "both"]);
    assert_eq!((code, out.trim()), (0, r#"{"entry":79,"fixed":[79,80,81],"both":{"a":79.0,"b":79}}"#));

    let (code, out, _) = run(&["map", path]);
    for part in ["n;1: header", "n;1: pages of cluster 0", "n;1: pages of cluster 1", "n;1: page list 0", "n;1: footer"]
    {
        assert!(code == 0 && out.contains(part), "{part} in {out}");
    }
    let (code, out, _) = run(&["layout", path]);
    assert!(code == 0 && out.starts_with("n;1: 80 entries, ") && out.contains(" pages of 14 columns"), "{out}");
    let (code, out, _) = run(&["doctor", path]);
    assert!(code == 0 && out.starts_with("n: 80 entries, ") && out.ends_with("nothing to fix\n"), "{out}");
    let (code, out, err) = run(&["perf", path, "x", "list"]);
    let figure = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(code == 0 && figure("N leaves").ends_with("= 3"), "x, ends and values of the list: {out}{err}");
    assert!(figure("ReadCalls").ends_with("= 1"), "one step holds both clusters: {out}");
    let (code, out, _) = run(&["perf", path, "--json", "-n", "5"]);
    assert!(code == 0 && out.contains("\"reads\""), "{out}");
    let (code, _, err) = run(&["perf", path, "nothing"]);
    assert!(code != 0 && err.contains("no field \"nothing\""), "{err}");
}

#[test]
fn verify_finds_a_bad_page() {
    let mut damaged = Damaged::new();
    let page = damaged.page(1, column::CHARS, 0);
    damaged.bytes[page.start] ^= 1;
    let (_scratch, path) = stored("verify.root", &damaged.bytes);
    let path = path.to_str().unwrap();
    let (code, out, _) = run(&["verify", path]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("n;1/text/cluster 1/column 4, page 0"), "{out}");
    assert!(out.contains(&format!("offset {}", page.start)), "{out}");
    assert!(out.lines().last().unwrap().contains("pages of 1 RNTuples"), "{out}");
}

#[test]
fn what_stands_behind_a_tree_or_rntuple_is_its_branch_or_field() {
    let (_scratch, path) = stored("parts.root", &whole("zstd:5"));
    let path = path.to_str().unwrap();
    let (code, out, err) = run(&["show", &format!("{path}:n/both")]);
    let names: Vec<&str> = out.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((code, &names[..]), (0, &["both", "both.a", "both.b"][..]), "{out}{err}");
    let (code, out, _) = run(&["scan", "-n", "1", &format!("{path}:n/x"), "list"]);
    assert_eq!((code, out.lines().next()), (0, Some("entry  x  list")), "{out}");
    let (code, _, err) = run(&["show", &format!("{path}:n/eithr")]);
    assert!(code == 1 && err.contains("no field \"eithr\"; nearest: \"either\""), "{err}");

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
    let (code, out, _) = run(&["show", &format!("{path}:t/x")]);
    let names: Vec<&str> = out.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((code, &names[..]), (0, &["x"][..]), "{out}");
    let (code, _, err) = run(&["scan", &format!("{path}:t/xx")]);
    assert!(code == 1 && err.contains("no branch \"xx\"; nearest: \"x\""), "{err}");
    let (code, _, err) = run(&["show", &format!("{path}:u/x")]);
    assert!(code == 1 && err.contains("no key \"u/x\"; nearest: \"t\""), "{err}");
}

#[test]
fn a_file_that_is_not_there_is_told_with_its_neighbours() {
    let (_scratch, path) = stored("neighbour-1.root", &whole("zstd:5"));
    let (code, _, err) = run(&["ls", path.with_file_name("neigbour-1.root").to_str().unwrap()]);
    assert!(code == 1 && err.contains("nearest: ") && err.contains("neighbour-1.root"), "{err}");
    assert!(!err.contains("os error"), "what the system says is the same: {err}");
    let (code, _, err) = run(&["rm", &format!("{}:nn", path.to_str().unwrap())]);
    assert!(code == 1 && err.contains("no key \"nn\"; nearest: \"n\""), "{err}");
}

#[test]
fn rntuples_are_rewritten_and_become_trees() {
    let (_scratch, path) = stored("rewritten.root", &whole("zstd:5"));
    let path = path.to_str().unwrap();
    let to = |name: &str| format!("{path}.{name}.root");
    let (few, kept, tree) = (to("few"), to("kept"), to("tree"));
    let (code, out, err) =
        run(&["rewrite", path, &few, "--cluster-entries", "30", "--keep", "x", "--keep", "list", "--entries", "10:"]);
    assert!(code == 0 && out.contains("after"), "{out}{err}");
    let (_, out, _) = run(&["scan", &few, "-n", "2", "x", "list"]);
    let rows: Vec<Vec<&str>> = out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((rows[0][..2].to_vec(), rows.len()), (vec!["0", "10"], 2), "{out}");
    let (code, _, err) = run(&["rewrite", path, &kept, "--keep", "lst*"]);
    assert!(code == 1 && err.contains("no top-level branch is like \"lst*\"; nearest: \"list\""), "{err}");
    let (code, out, err) = run(&["rewrite", path, &kept, "--baskets", "keep", "--drop", "either", "--verify"]);
    assert!(code == 0 && !out.contains("not looked into"), "{out}{err}");
    assert_eq!(run(&["verify", &kept]).0, 0);
    // Trees do not hold all of its types.
    let (code, _, err) = run(&["rewrite", path, &tree, "--to", "ttree"]);
    assert!(
        code != 0 && err.contains("a tree does not hold") && err.contains("n/either") && err.contains("--drop"),
        "{err}"
    );
    let (code, out, err) = run(&["rewrite", path, &tree, "--to", "ttree", "--unsupported", "drop"]);
    assert!(
        code == 0 && out.contains("field \"either\" is left out") && out.contains("branch \"maybe\" is not"),
        "{out}{err}"
    );
    let (code, out, _) = run(&["scan", &tree, "-n", "2", "x", "list", "both_b"]);
    assert!(code == 0 && out.lines().nth(2).is_some_and(|row| row.contains("[0.0]")), "{out}");
    let (code, _, err) = run(&["rewrite", path, &tree, "--to", "ttree", "--order", "entry"]);
    assert!(code != 0 && err.contains("--order"), "{err}");
}
