//! Sessions have as many threads as this process may use processors, not as many as the machine has.

use std::process::Command;

use sapwood::Session;

const ASKED: &str = "SAPWOOD_SAYS_THREADS";

/// Says why nothing was tested; in CI that is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("skipped: {why}");
}

#[test]
fn threads_follow_the_processors_that_are_allowed() {
    if std::env::var_os(ASKED).is_some() {
        println!("threads={}", Session::with_threads(0).threads());
        return;
    }
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let Some(list) = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")) else {
        return skip("the system does not say which processors are allowed");
    };
    let first: String = list.trim().chars().take_while(char::is_ascii_digit).collect();
    let name = "threads_follow_the_processors_that_are_allowed";
    let me = std::env::current_exe().unwrap();
    let mut asked = Command::new("taskset");
    asked.args(["-c", &first]).arg(me).args(["--exact", name, "--nocapture"]);
    let Ok(done) = asked.env(ASKED, "1").output() else { return skip("there is no taskset to bind a process with") };
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("threads=1\n"), "{said}");
    assert!(Session::with_threads(0).threads() >= 1);
}
