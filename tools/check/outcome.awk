# What a run of `cargo test` was, by its whole output. Prints a line for each fact:
#
#   passed N         tests that passed
#   failed NAME      a test that failed
#   anything else    what does not agree, such as a test binary or the documentation of a crate that was started and printed no result

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
  pending = 1
  listed = names = 0
}

function finish() {
  if (pending) print binary " ended without its result"
  pending = 0
}
