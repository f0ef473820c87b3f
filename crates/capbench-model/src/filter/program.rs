//! A classic BPF program that selects the wanted frames.

use std::str::FromStr;

use capbench_sys::packet::FilterInstruction;
use serde::{Deserialize, Serialize};

use super::check::check;

use crate::error::ParseError;

const RETURN_ACCUMULATOR: u16 = 0x16;

/// Maximum number of instructions (`BPF_MAXINSNS`), minus those that capbench adds at the start.
pub const MOST_INSTRUCTIONS: usize = 4096 - 3;

/// Selects the wanted frames: a classic BPF program that returns 0 for the others. It has passed the kernel's checks.
///
/// It is parsed from the output of `tcpdump -ddd`, the format of tc(8) and iptables. That is the number of instructions, then
/// code, the two jumps and the operand of each, separated by commas or newlines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Filter {
    program: Vec<FilterInstruction>,
    expression: Option<Expression>,
}

/// The source of a compiled program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Expression {
    /// The expression (pcap-filter(7)).
    pub text: String,
    /// Whether libpcap optimised it.
    pub optimised: bool,
}

/// A filter as a message carries it: code, jumps if true and if false, and operand of each instruction.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
struct Parts {
    /// The instructions.
    program: Vec<(u16, u8, u8, u32)>,
    /// The source that it was compiled from.
    expression: Option<Expression>,
}

impl TryFrom<Parts> for Filter {
    type Error = String;

    fn try_from(Parts { program, expression }: Parts) -> Result<Self, String> {
        let instruction = |(code, jt, jf, k)| FilterInstruction { code, jt, jf, k };
        Ok(Self { expression, ..Self::new(program.into_iter().map(instruction).collect())? })
    }
}

impl From<Filter> for Parts {
    fn from(Filter { program, expression }: Filter) -> Self {
        let parts = |one: FilterInstruction| (one.code, one.jt, one.jf, one.k);
        Self { program: program.into_iter().map(parts).collect(), expression }
    }
}

impl Filter {
    /// A program that passes the checks.
    ///
    /// # Errors
    /// The reason: the kernel would refuse it, too many instructions, or a computed length.
    pub fn new(program: Vec<FilterInstruction>) -> Result<Self, String> {
        if program.len() > MOST_INSTRUCTIONS {
            return Err(format!(
                "it has {} instructions; 1 to {MOST_INSTRUCTIONS} are possible",
                program.len()
            ));
        }
        check(&program)?;
        if program.iter().any(|instruction| instruction.code == RETURN_ACCUMULATOR) {
            return Err(
                "it returns a computed length, which a snap length could not be put in place of".into()
            );
        }
        Ok(Self { program, expression: None })
    }

    /// The same, with the source that it was compiled from.
    pub fn compiled(self, expression: Expression) -> Self {
        Self { expression: Some(expression), ..self }
    }

    /// The instructions.
    pub fn program(&self) -> &[FilterInstruction] {
        &self.program
    }

    /// The source that it was compiled from. `None` if the user passed a program.
    pub fn expression(&self) -> Option<&Expression> {
        self.expression.as_ref()
    }
}

/// Reads a program of another kind than [`Filter`] from the same text. It has passed the kernel's checks.
///
/// # Errors
/// The reason: no program, or one that the kernel would refuse.
pub fn read_program(text: &str) -> Result<Vec<FilterInstruction>, String> {
    let program = parsed(text)?;
    check(&program)?;
    Ok(program)
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(parsed(text)?).map_err(|what| no_program(&what))
    }
}

fn no_program(what: &str) -> String {
    ParseError::FilterProgram(what.into()).to_string()
}

fn parsed(text: &str) -> Result<Vec<FilterInstruction>, String> {
    let mut lines = text.split([',', '\n']).map(str::trim).filter(|line| !line.is_empty());
    let count = lines.next().and_then(|line| line.parse::<usize>().ok());
    let count = count.ok_or_else(|| no_program("it does not begin with the number of its instructions"))?;
    let read = |line: &str| -> Option<FilterInstruction> {
        let mut numbers = line.split_whitespace();
        let code = numbers.next()?.parse().ok()?;
        let (jt, jf) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        let k = numbers.next()?.parse().ok()?;
        numbers.next().is_none().then_some(FilterInstruction { code, jt, jf, k })
    };
    let instruction = |line: &str| read(line).ok_or_else(|| no_program(&format!("\"{line}\"")));
    let program = lines.map(instruction).collect::<Result<Vec<_>, _>>()?;
    if program.len() != count || !(1..=MOST_INSTRUCTIONS).contains(&count) {
        return Err(no_program(&format!(
            "it has {} instructions and says {count}; 1 to {MOST_INSTRUCTIONS} are possible",
            program.len()
        )));
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::Filter;

    #[test]
    fn a_filter_is_read_as_tcpdump_prints_it() {
        // "greater 100" of tcpdump: the length in the accumulator, a jump, two returns.
        let text = "4\n128 0 0 0\n53 0 1 100\n6 0 0 262144\n6 0 0 0\n";
        let filter: Filter = text.parse().unwrap();
        assert_eq!(text.replace('\n', ",").parse(), Ok(filter.clone()));
        assert_eq!((filter.program().len(), filter.expression()), (4, None));
        for wrong in [
            "",
            "x",
            "2,6 0 0 0",
            "1,6 0 0",
            "1,6 0 0 0 0",
            "1,6 0 0 -1",
            "1,22 0 0 0",
            "0",
            "1,21 0 0 0",
            "2,21 9 9 0,6 0 0 0",
            "99999999999999999999",
        ] {
            assert!(wrong.parse::<Filter>().unwrap_err().contains("tcpdump -ddd"), "{wrong}");
        }
    }

    #[test]
    fn a_program_that_is_too_long_is_refused_with_the_limit() {
        let mut lines = vec!["5000".to_string()];
        lines.extend(std::iter::repeat_n("6 0 0 0".to_string(), 5000));
        let said = lines.join("\n").parse::<Filter>().unwrap_err();
        assert!(said.contains("5000") && said.contains("4093"), "{said}");
        let all = super::FilterInstruction { code: 6, jt: 0, jf: 0, k: 1 };
        assert!(Filter::new(vec![all; 4094]).unwrap_err().contains("4093"));
        Filter::new(vec![all; 4093]).unwrap();
    }
}
