#!/usr/bin/env bash
# Fuzzes every target for so many seconds (600 unless told), from the seeds that the plain tests replay; as many targets at
# once as there are cores. Installs cargo-fuzz by name where it is missing. New inputs go to fuzz/corpus, crashes to
# fuzz/artifacts, what each run printed to fuzz/logs.
set -euo pipefail
cd "$(dirname "$0")"
seconds="${1:-600}"

command -v cargo-fuzz >/dev/null 2>&1 || cargo install cargo-fuzz --locked
# Sanitizers are unstable options: a nightly compiler has them, a stable one when told so.
if ! cargo +nightly --version >/dev/null 2>&1; then
  export RUSTC_BOOTSTRAP=1
else
  export RUSTUP_TOOLCHAIN=nightly
fi
mkdir -p logs
cargo fuzz build --fuzz-dir .
one() {
  mkdir -p "corpus/$1"
  local verdict="no crash"
  cargo fuzz run --fuzz-dir . "$1" "corpus/$1" "seeds/$1" -- \
    -max_total_time="$2" -rss_limit_mb=4096 -timeout=30 -print_final_stats=1 >"logs/$1" 2>&1 || verdict="CRASH, see fuzz/logs/$1"
  echo "$1: $2 s, $(grep -o 'number_of_executed_units: [0-9]*' "logs/$1" | tail -n 1 || true), $verdict"
  [ "$verdict" = "no crash" ]
}
export -f one
cargo fuzz list --fuzz-dir . | xargs -P "$(nproc)" -I{} bash -c "one {} $seconds"
