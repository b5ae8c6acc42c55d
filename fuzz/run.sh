#!/usr/bin/env bash
# Fuzzes every target for so many seconds (600 unless told), from the seeds that the plain tests replay.
# Needs a nightly toolchain; installs cargo-fuzz by name where it is missing. New inputs go to fuzz/corpus, crashes to
# fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")"
seconds="${1:-600}"

command -v cargo-fuzz >/dev/null 2>&1 || cargo install cargo-fuzz --locked
for target in $(cargo +nightly fuzz list --fuzz-dir .); do
  mkdir -p "corpus/$target"
  echo "== $target, $seconds s"
  cargo +nightly fuzz run --fuzz-dir . "$target" "corpus/$target" "seeds/$target" -- \
    -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=30 -print_final_stats=1
done
