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
        println!("pool={}", Session::with_threads(64).pool().map_or(0, rayon::ThreadPool::current_num_threads));
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
    assert!(said.contains("threads=1\n") && said.contains("pool=0\n"), "{said}");
    assert!(Session::with_threads(0).threads() >= 1);
}

/// A control group that lets a process use one processor, removed when this is dropped; none where the system lets this
/// user make none.
struct OneProcessor(std::path::PathBuf);

impl OneProcessor {
    fn new() -> Option<Self> {
        let name = format!("sapwood-{}", std::process::id());
        // The second version of control groups, and the first.
        let quotas =
            [("/sys/fs/cgroup", "cpu.max", "100000 100000"), ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000")];
        quotas.iter().find_map(|(root, file, quota)| {
            let group = Self(std::path::Path::new(root).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            let is_group = group.0.join("cgroup.procs").exists() && group.0.join(file).exists();
            (is_group && std::fs::write(group.0.join(file), quota).is_ok()).then_some(group)
        })
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn threads_follow_the_quota_of_a_control_group() {
    // Not every machine of CI lets a test make one.
    let Some(group) = OneProcessor::new() else { return eprintln!("skipped: no control group can be made here") };
    let mut asked = Command::new("sh");
    asked.args(["-c", "echo $$ > \"$1/cgroup.procs\" && exec \"$2\" --exact \"$3\" --nocapture", "sh"]);
    asked.arg(&group.0).arg(std::env::current_exe().unwrap()).arg("threads_follow_the_processors_that_are_allowed");
    let done = asked.env(ASKED, "1").output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("threads=1\n"), "{said}{}", String::from_utf8_lossy(&done.stderr));
}
