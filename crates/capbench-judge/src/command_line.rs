//! The command line of a run, as far as judgement reads it: whether it was a quick bench, and which words the next command keeps.

/// The words of a command line, the program first.
#[derive(Clone, Copy, Debug)]
pub struct CommandLine<'r>(pub &'r [String]);

/// The only flag of the next commands without a value.
const QUICK: &str = "--quick";

impl<'r> CommandLine<'r> {
    /// The command, if it names one.
    pub fn command(self) -> Option<&'r str> {
        self.0.get(1).map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    /// Whether it asks for a quick run.
    pub(crate) fn is_quick(self) -> bool {
        self.0.iter().any(|word| word == QUICK)
    }

    /// The words behind `bench`, without these flags; none where another command ran it. Without a `=`, the value of a flag is the next
    /// word, but of `--quick`, which has none.
    pub(crate) fn of_bench_without(self, flags: &[&str]) -> Vec<String> {
        let mut words = Vec::new();
        let mut is_value_left_out = false;
        for word in self.0.iter().skip_while(|word| *word != "bench").skip(1) {
            let flag = word.split('=').next().unwrap_or_default();
            let is_left_out = flags.contains(&flag);
            if !is_left_out && !is_value_left_out {
                words.push(word.clone());
            }
            is_value_left_out = is_left_out && flag == word && flag != QUICK;
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn a_bench_keeps_the_words_that_are_not_left_out() {
        for (given, expected) in [
            ("capbench bench --programs own.toml --quick", "--programs own.toml"),
            ("capbench bench --quick --tx eth1 --rx=eth2", "--tx eth1 --rx=eth2"),
            ("capbench bench --rate 1k --rate=2k --isolated", "--isolated"),
            ("capbench bench", ""),
            ("capbench campaign weekly.toml", ""),
        ] {
            let words: Vec<String> = given.split(' ').map(String::from).collect();
            let kept = CommandLine(&words).of_bench_without(&["--quick", "--rate"]);
            assert_eq!(kept.join(" "), expected);
        }
    }
}
