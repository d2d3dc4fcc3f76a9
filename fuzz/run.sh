#!/usr/bin/env bash
# Runs each fuzz target for SECONDS (600 unless told otherwise) on stable Rust.
# Usage: fuzz/run.sh [SECONDS] [TARGET...]
# Needs cargo-fuzz (cargo install cargo-fuzz) and a C++ compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(pm4 spirv spirv_text scenario)
for target in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$target"
    # No sanitizer: those need a nightly compiler. Panics, overflows (checked in
    # this build), hangs and runaway memory are what is looked for.
    cargo fuzz run -s none "$target" -- -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1
done
