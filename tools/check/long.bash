# shellcheck shell=bash
# The steps of `./check long`: tools that take long or come from elsewhere, and tests that take long. `check` reads this file.
# A step whose tool is absent is skipped with the reason.

# Tests whose names begin with lengthy_ or root_lengthy_: they take longer than the rest, and show no more about an ordinary change.
lengthy() {
  local code=0
  tests --test-threads=1 lengthy_ || code=$?
  note_tests "$tests_passed"
  return "$code"
}

# The tests of unit, those of filters against the kernel's, and random requests to the OTG server, with more random cases of each.
properties() {
  local -x PROPTEST_CASES=${CAPBENCH_CASES:-2000}
  tests_in_rows rows_of_unit --skip root_ --skip lengthy_
  local passed=$tests_passed
  tests filter:: random_requests:: --skip lengthy_
  note_tests $((passed + tests_passed))
}

# Built apart from the rest: no other step has the feature, so that without it everything is checked too.
dpdk() {
  if ! pkg-config --exists libdpdk 2>/dev/null; then
    echo "libdpdk-dev is not installed: tools/setup dpdk" >"$work/note"
    exit 77
  fi
  cargo clippy -p capbench-sys -p capbench-capture -p capbench-traffic --all-targets --features dpdk --locked -- -D warnings
  judged "$work/run" -p capbench-sys -p capbench-capture -p capbench-traffic --features dpdk --locked --lib -- dpdk --show-output
  local passed=$tests_passed
  judged "$work/run" -p capbench-capture --features dpdk --locked --test all -- dpdk:: --test-threads=1 --show-output
  passed=$((passed + tests_passed))
  judged "$work/run" -p capbench-traffic --features dpdk --locked --test dpdk_tx -- --test-threads=1 --show-output
  note_tests $((passed + tests_passed))
  cargo build -p capbench --features dpdk --locked --quiet
  # A small ring: its driver locks it in memory, which users may do with little only.
  expect "0 4" "$capbench" bench --quick --method dpdk --placement other --rate 5000 \
    --duration 50ms --ring 1MiB --out "$work/dpdk"
  shows '^  method: dpdk$'
  accounted "$work/dpdk"
  # Both directions in one process.
  expect "0 4" "$capbench" bench --quick --method dpdk --transmit dpdk-tx --placement other --rate 5000 \
    --duration 50ms --ring 1MiB --out "$work/dpdk-both"
  accounted "$work/dpdk-both"
}

peers() {
  local test code=0 tests=(pandas_and_duckdb engines_read search::tests::reference)
  interpreter notebooks CAPBENCH_NOTEBOOKS_PYTHON || code=$?
  interpreter search CAPBENCH_MLRSEARCH_PYTHON || code=$?
  judged "$work/run" -p capbench-report -p capbench-plan -p capbench-dataset --locked --no-fail-fast --lib --test reports --test all \
    -- --show-output "${tests[@]}"
  grep -E ' frames by | paths: ' "$work/run"
  for test in "${tests[@]}"; do
    grep -q "^test .*$test.* \.\.\. ok$" "$work/run" || complain "no test $test ran"
  done
  [ "$code" -eq 0 ] || return "$code"
  note_tests "$tests_passed"
  {
    cat "$work/note"
    sed -n 's/^[a-z_0-9]*: [0-9]* frames by .*(\(.*\))$/\1/p' "$work/run" | sort -u
    awk '/^[a-z_0-9]*: [0-9]+ frames by / { frames += $2; runs += 1 } END { print frames " frames of " runs " runs" }' "$work/run"
    sed -n 's/^\([0-9]* paths: [0-9]* trials of ours, [0-9]* of theirs\).*/MLRsearch 1.2.1: \1/p' "$work/run"
  } | paste -sd ';' | sed 's/;/; /g' >"$work/out"
  mv "$work/out" "$work/note"
}

# interpreter TOOL VARIABLE: sets it to the Python that one of tools/compare runs; 77 or 78 with the reason where there is none.
interpreter() {
  local found code=0
  found=$("tools/compare/$1" --interpreter 2>"$work/err") || code=$?
  case $code in
    0) ;;
    77 | 78) sed -n 's/^skipped: //p' "$work/err" >>"$work/note" ;;
    *) cat "$work/err" >&2 ;;
  esac
  [ "$code" -eq 0 ] || return "$code"
  export "$2=$found"
}

# What Prometheus, Alertmanager and Grafana read of capbench.
monitoring() {
  local code=0
  packaging/prometheus/check >"$work/run" 2>"$work/err" || code=$?
  case $code in
    0) sed -n 's/^monitoring: rules: //p' "$work/run" >"$work/note" ;;
    5) no_host "$(tail -n 1 "$work/err")" ;;
    *) cat "$work/err" >&2 ;;
  esac
  return "$code"
}

# The Python package and the examples in Python.
python() { others_run python/check; }

# Scripts of others against the OTG server.
otg() { others_run tools/otg-conformance; }

# others_run COMMAND: tests that pytest runs, with the program that the other steps build.
others_run() {
  local code=0
  cargo build --package capbench --locked --quiet
  CAPBENCH=$capbench "$1" >"$work/run" 2>"$work/err" || code=$?
  cat "$work/run"
  case $code in
    0) grep -oE '\b[0-9]+ passed\b.*[^ =]' "$work/run" >"$work/note" ;;
    77 | 78) sed -n 's/^skipped: //p' "$work/err" >"$work/note" ;;
    *) cat "$work/err" >&2 ;;
  esac
  return "$code"
}

# What `make bench` builds and packages have.
release() {
  make --no-print-directory build
  capbench=$target/release/capbench
  every_command_runs
}

# Instructions per packet against the committed table. Flags of the user would be those of another program.
instructions() {
  local code=0 table=crates/capbench-instructions/instructions.tsv counts=$target/release/capbench-instructions
  if ! command -v valgrind >/dev/null; then
    echo "valgrind is not installed: tools/setup audit" >"$work/note"
    exit 77
  fi
  env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS cargo build --release --locked --quiet -p capbench-instructions --features callgrind
  if [ -n "${CAPBENCH_WRITE_INSTRUCTIONS:-}" ]; then
    "$counts" write "$table" "$CAPBENCH_WRITE_INSTRUCTIONS"
    return
  fi
  "$counts" compare "$table" 2>"$work/err" || code=$?
  case $code in
    0) ;;
    77) sed -n 's/^skipped: //p' "$work/err" >"$work/note" ;;
    *) cat "$work/err" >&2 ;;
  esac
  return "$code"
}

# Random trials, each of which has to account for every frame: CAPBENCH_TRIALS of them. And runs between two hosts in which something
# fails at a random moment: CAPBENCH_LOSSES of them. And mixes of losses for why: CAPBENCH_MIXES of them.
trials() {
  [ "$(id -u)" -eq 0 ] || no_host "needs root"
  CAPBENCH_TRIALS=${CAPBENCH_TRIALS:-500} CAPBENCH_LOSSES=${CAPBENCH_LOSSES:-1000} CAPBENCH_MIXES=${CAPBENCH_MIXES:-200} \
    judged "$work/run" --workspace --locked --test all -- random_trials:: agents_random:: why_random:: --test-threads=1 --show-output
  note_tests "$tests_passed"
}

# Each number of the tables of thresholds, times 1.5 and divided by 1.5, has to make a test fail.
thresholds() {
  local code=0
  CARGO_TARGET_DIR=$target/mutated tools/thresholds-mutated -j "$(nproc)" -o "$work/run" >"$work/out" 2>"$work/err" || code=$?
  # The compiler warns of brackets in the copy of the source.
  [ "$code" -eq 0 ] || cat "$work/err" "$work/out" >&2
  tail -n 1 "$work/out" >"$work/note"
  return "$code"
}

# A trial during which the clock is set. The host cannot know whether others use its clock: whoever runs this says so.
clock() {
  [ "$(id -u)" -eq 0 ] || no_host "needs root"
  [ -n "${CAPBENCH_TEST_MAY_SET_CLOCK:-}" ] ||
    no_host "it sets the host's clock: CAPBENCH_TEST_MAY_SET_CLOCK=1 on a virtual machine that nobody else uses"
  judged "$work/run" --workspace --locked --test all -- --exact guards::root_alone_a_clock_that_is_set_during_a_trial_spoils_it --show-output
  [ "$tests_passed" -eq 1 ] || complain "the test of the clock did not run"
  note_tests "$tests_passed"
}

# Miri runs the rings on heap memory, with the test as the kernel, and shows accesses that the memory model does not allow, on
# other orders of threads than this CPU has. It starts no program and opens no socket: only these tests run there.
miri() {
  cargo +nightly miri --version >/dev/null 2>&1 ||
    no_host "cargo +nightly miri does not run: rustup toolchain install nightly --component miri,rust-src"
  local seed seeds=${CAPBENCH_MIRI_SEEDS:-4}
  for ((seed = 0; seed < seeds; seed++)); do
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-seed=$seed" PROPTEST_CASES=4 \
      judged_by +nightly miri test -p capbench-sys --lib --locked -- packet::block_ring packet::frame_ring packet::geometry \
      memory::tests::addresses_outside packet::run packet::transmit_ring xdp:: --skip xdp::socket --show-output
  done
  note_tests "$tests_passed"
  echo "$(cat "$work/note"), each in $seeds orders of threads" >"$work/note"
}

# ThreadSanitizer over the workers and the writer. The standard library is built with it, too: else its own locks and channels
# look like races.
threads() {
  local host
  cargo +nightly --version >/dev/null 2>&1 || no_host "there is no nightly toolchain: rustup toolchain install nightly"
  [ -e "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ] ||
    no_host "there is no source of the standard library: rustup component add rust-src --toolchain nightly"
  host=$(rustc +nightly -vV | sed -n 's/^host: //p')
  RUSTFLAGS="-Zsanitizer=thread" TSAN_OPTIONS="halt_on_error=0:exitcode=66" PROPTEST_CASES=16 \
    judged_by +nightly test -Zbuild-std --target "$host" -p capbench-capture -p capbench-record --lib --locked -- \
    worker_pool:: recording::workers writing:: capture::owned:: --show-output
  note_tests "$tests_passed"
}

# judged_by CARGO-ARGUMENT...: as judged, by another toolchain or command of cargo, in another build folder.
judged_by() {
  local cargo_test=(cargo)
  CARGO_TARGET_DIR=$target/nightly judged "$work/run" "$@"
}

# Licences, sources and known weaknesses of the crates that capbench depends on, by deny.toml.
deny() {
  local said
  cargo deny --version >/dev/null 2>&1 || no_host "cargo deny is not installed: tools/setup audit"
  # It looks at the crates of every system, also of those that nobody builds for here.
  cargo fetch --locked
  cargo deny --offline check --hide-inclusion-graph licenses bans sources
  if ! said=$(timeout 60 cargo deny fetch db 2>&1); then
    echo "licences and sources; advisories not looked at, their database cannot be had: ${said##*$'\n'}" >"$work/note"
    return
  fi
  cargo deny check --disable-fetch --hide-inclusion-graph advisories
  echo "licences, sources and advisories" >"$work/note"
}

# Every reader of foreign octets with a fuzzer that sees what code it reaches: CAPBENCH_FUZZ_SECONDS for each.
fuzz() {
  local code=0
  [ -x tools/fuzz ] || no_host "tools/fuzz is absent"
  tools/fuzz 2> >(tee "$work/err" >&2) || code=$?
  [ "$code" -ne 77 ] || no_host "$(sed -n 's/^skipped: //p' "$work/err")"
  return "$code"
}

# Skips the step: its tool need not be on a host of the checks.
no_host() {
  echo "$1" >"$work/note"
  exit 78
}
