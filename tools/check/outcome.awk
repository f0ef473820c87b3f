# What a run of `cargo test` was, by its whole output. Prints a line for each fact:
#
#   passed N         tests that passed
#   failed NAME      a test that failed
#   binary NAME      a test binary that has such a test
#   crashed NAME     a test binary, or the documentation of a crate, that was started and printed no result
#   anything else    what does not agree
#
# `only`: names of binaries; others, which were not to run, need no result.

# "     Running unittests src/lib.rs (target/debug/deps/name-hash)", "   Doc-tests name"
/^ +Running .* \([^()]*\)$/ {
  finish()
  started($NF)
  next
}
/^ +Doc-tests [^ ]+$/ {
  finish()
  started($2)
  next
}

# "failures:" comes twice: with what the tests said, and with their names.
/^failures:$/ {
  listed = 1
  names = 0
  next
}
listed && /^    [^ ]/ { name[++names] = substr($0, 5) }

/^test result: (ok|FAILED)\. [0-9]+ passed; [0-9]+ failed; / {
  passed += $4
  if ($6 != names) print binary ": " $6 " tests failed, and " names + 0 " names are listed"
  for (i = 1; i <= names; i++) print "failed " name[i]
  if ($6 > 0) print "binary " binary
  pending = listed = names = 0
}

# Of cargo: "(signal: 11, SIGSEGV: invalid memory reference)", after the result too.
/^  process didn't exit successfully: / {
  sub(/^  process didn't exit successfully: /, "")
  if (!pending) print "after its result, " $0
}

END {
  finish()
  print "passed " passed + 0
}

function started(what) {
  gsub(/^\(|\)$|.*\//, "", what)
  binary = what
  pending = only == "" || index(" " only " ", " " binary " ")
  listed = names = 0
}

function finish() {
  if (pending) print "crashed " binary
  pending = 0
}
