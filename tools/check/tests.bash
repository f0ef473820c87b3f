# shellcheck shell=bash
# Runs test binaries by cargo and judges what they print. `check` reads this file.
#
# A crash must not hide behind another test that is repeated, nor a skipped test behind its "ok": every binary has to print
# its result line, the names of failed tests have to be as many as were counted, and skipped tests are counted.

cargo_test=(cargo test)

# judged FILE [FLAG]...: runs `cargo test FLAG...` with its output kept in FILE, and judges it.
judged() {
  local file=$1 code=0
  shift
  printed "$file" "$@" || code=$?
  judge "$file" "$code"
}

# printed FILE [FLAG]...: runs `cargo test FLAG...` with its output kept in FILE.
printed() {
  local file=$1
  shift
  # Colours would be part of the lines that are looked for.
  # What tests print that pass is in FILE; on a terminal it would bury the rest.
  CARGO_TERM_COLOR=never "${cargo_test[@]}" "$@" 2>&1 | tee "$file" |
    sed -u -E '/^successes:$/,/^(failures:$|test result: )/{ /^(failures:$|test result: )/!d }'
}

# judge FILE CODE: what the run was whose output is in FILE and whose exit code is CODE, in the arrays below.
judge() {
  local file=$1 code=$2 line
  tests_failed=() wrong=() tests_passed=0
  while read -r line; do
    case $line in
      passed\ *) tests_passed=${line#* } ;;
      failed\ *) tests_failed+=("${line#* }") ;;
      *) wrong+=("$line") ;;
    esac
  done < <(awk -f tools/check/outcome.awk "$file")
  sorted_out "$file" "$code" || code=$?
  count_skipped "$file"
  return "$code"
}

# What no repetition can repair is in $wrong. The exit code is cargo's, or 1 where it says less than the output does.
sorted_out() {
  local file=$1 code=$2
  if [ "$code" -ne 0 ] && [ ${#tests_failed[@]} -eq 0 ] && [ ${#wrong[@]} -eq 0 ]; then
    wrong+=("cargo test ended with exit code $code, and no test failed")
  fi
  awk '/^failures:$/ { shown = 1 } /^test result: / { shown = 0 } shown' "$file" >>"$failures"
  [ ${#wrong[@]} -eq 0 ] || printf 'check: %s\n' "${wrong[@]}" | tee -a "$failures" >&2
  [ "$code" -ne 0 ] || [ ${#tests_failed[@]} -eq 0 ] || code=1
  [ "$code" -ne 0 ] || [ ${#wrong[@]} -eq 0 ] || code=1
  return "$code"
}

# Tests of the workspace, all built alike so that no step builds again what another has built.
targets=(--workspace --locked --lib --bins --tests)
workspace=(--no-fail-fast "${targets[@]}")

# Compiles the tests and what they run, an example among it, by one command: so two CPUs have work most of the time.
compiled() { cargo build "${targets[@]}" --example bed_probe --quiet; }

# What failed tests said is kept for the end of the whole output.
tests() {
  compiled || return
  judged "$work/run" "${workspace[@]}" -- "$@" --show-output || return
  [ "$tests_passed" -gt 0 ] || complain "no test ran"
}

# The same in rows that run at the same time: cargo starts one binary when another has ended, so that a binary whose last test takes
# long, or waits, would leave a CPU idle. A row is the number of its tests at a time for each CPU, and its targets.
#
# Of tests without privilege: those of the libraries, and those of the folders `tests`, some of which wait for a browser or a client.
rows_of_unit=("1 --lib --bins" "1 --test [rs]*" "1 --test [!rs]*")
# Of tests of root, which wait most of the time: those called `all`, four fifths of them, and the others.
rows_of_root=("2 --lib --bins --test [!a]*" "4 --test a*")

# tests_in_rows ROWS [FLAG]...: what the last row prints is shown as it comes.
tests_in_rows() {
  local -n rows=$1
  local code=0 row running=() last
  shift
  compiled || return
  rm -f "$work"/run-*
  last=$((${#rows[@]} - 1))
  for ((row = 0; row < last; row++)); do
    row_of_tests "$row" "${rows[row]}" "$@" >"$work/shown-$row" &
    running+=($!)
  done
  row_of_tests "$last" "${rows[last]}" "$@" || code=$?
  for row in "${!running[@]}"; do
    wait "${running[row]}" || code=$?
    cat "$work/shown-$row"
  done
  cat "$work"/run-* >"$work/run"
  judge "$work/run" "$code" || return
  [ "$tests_passed" -gt 0 ] || complain "no test ran"
}

# row_of_tests NUMBER ROW [FLAG]...: the tests of one row.
row_of_tests() {
  local number=$1 words
  read -ra words <<<"$2"
  shift 2
  RUST_TEST_THREADS=$((words[0] * $(nproc))) \
    printed "$work/run-$number" --no-fail-fast --workspace --locked "${words[@]:1}" -- "$@" --show-output
}

# Lines of capbench-testing, with the tests that printed them: those that were not run, or not in full.
count_skipped() {
  awk '
    /^---- .* stdout ----$/ { test = $2 }
    /^skipped \((missing|host|busy|step)\): / { print test ": " $0 }' "$1" | sort -u | tee -a "$work/skipped"
  if [ -n "${CAPBENCH_MUST_RUN:-}" ] && grep -q ': skipped (missing): ' "$work/skipped"; then
    complain "CAPBENCH_MUST_RUN is set, and tests were skipped" "$(grep ': skipped (missing): ' "$work/skipped")"
  fi
}

# The summary of a step: how many tests ran, and how many of them, or of their parts, did not, by reason. A test that was
# repeated and skipped each time counts once. Tests that found the host busy are named: they may hide a regression.
note_tests() {
  local kind said="$1 tests" count
  for kind in "missing:something is missing" "host:the host cannot have it" "busy:the host was busy" "step:left to another step"; do
    count=$(sort -u "$work/skipped" | grep -c ": skipped (${kind%%:*}): ") || true
    kind=${kind/%busy/busy: $(busy_tests | paste -sd ' ')}
    [ "$count" -eq 0 ] || said+=", $count skipped (${kind#*:})"
  done
  echo "$said" >"$work/note"
}

# Tests on real interfaces share the host with all that runs there, a hypervisor's other guests among it. Up to three that failed
# run again, each alone, twice. They have to pass both times, and the summary names them. A binary that crashed is not repeated.
repeated() {
  local failed=("${tests_failed[@]}") passed=$tests_passed
  [ ${#wrong[@]} -eq 0 ] && [ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le 3 ] || return 1
  for _ in once twice; do
    printf '\n-- repeated alone: %s\n' "${failed[*]}"
    alone "${failed[@]}" || complain "failed, and failed again when repeated: ${failed[*]}"
    [ "$tests_passed" -ge ${#failed[@]} ] || complain "repeated alone, ${#failed[@]} tests were $tests_passed"
  done
  unsteady+=("${failed[@]}")
  tests_passed=$((passed + ${#failed[@]}))
}

# Tests that found the host busy run again alone, up to three times. What still finds it busy then stays skipped.
repeated_when_busy() {
  local attempt busy
  for attempt in 1 2 3; do
    mapfile -t busy < <(busy_tests)
    [ ${#busy[@]} -gt 0 ] || return 0
    sed -i '/: skipped (busy): /d' "$work/skipped"
    printf '\n-- repeated because the host was busy, %d of 3: %s\n' "$attempt" "${busy[*]}"
    alone "${busy[@]}" || complain "failed when repeated because the host was busy: ${tests_failed[*]}"
  done
}

# alone NAME...: these tests, one after the other.
alone() { judged "$work/again" "${workspace[@]}" -- --exact "$@" --test-threads=1 --show-output; }

busy_tests() { sed -n 's/: skipped (busy): .*//p' "$work/skipped" | sort -u; }
