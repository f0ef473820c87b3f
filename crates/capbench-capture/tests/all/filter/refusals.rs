//! What cannot be compiled, and where the error is.

use std::cell::RefCell;

use capbench_capture::filter::{Compiler, FilterText, Optimise};
use capbench_capture::{CaptureError, Interface};
use capbench_model::units::SnapLength;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::wire::interface_of;
use capbench_testing::network::{Place, lossy, privileges, program};

/// What is said of an expression.
fn refusal(compiler: &mut Compiler, expression: &str) -> (String, Option<(usize, String, bool)>) {
    let error = compiler.compile(expression, Optimise::Yes).unwrap_err();
    let text = error.to_string();
    let CaptureError::Filter { place, .. } = error else { panic!("{error}") };
    (text, place.map(|place| (place.token.start, expression[place.token].to_string(), place.is_exact)))
}

#[test]
fn root_errors_in_expressions_are_found() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.inside(|| {
        let mut compiler = Compiler::open(&interface_of(&place), SnapLength::EVERYTHING).unwrap();
        // Parser errors: the token that is wrong, or the end.
        for (expression, start, token) in [
            ("tcp prot 80", 4, "prot"),
            ("tcp port 80 and and udp", 16, "and"),
            ("tcp port 80 andd udp", 12, "andd"),
            (") udp", 0, ")"),
            ("(tcp or udp", 11, ""),
            ("(tcp or udp)) and ip", 12, ")"),
            ("tcp port", 8, ""),
            ("not", 3, ""),
            ("tcp[13 & 2 != 0", 11, "!="),
            ("ip[0] & = 1", 8, "="),
            ("ether host 00:11:22:33:44:55 or or tcp", 32, "or"),
            ("host 10.0.0.1 10.0.0.2", 14, "10.0.0.2"),
            ("udp\nor tcp portt 80 or ip6", 11, "portt"),
            ("vlan 1 2", 7, "2"),
            ("len >", 5, ""),
            ("ip proto tcp udp", 9, "tcp"),
            ("tcp ? udp", 4, "?"),
        ] {
            let (text, found) = refusal(&mut compiler, expression);
            assert_eq!(found, Some((start, token.into(), true)), "{expression}: {text}");
            let caret = text.lines().last().unwrap().find('^').unwrap() - 4;
            let column = start - expression[..start].rfind('\n').map_or(0, |end| end + 1);
            assert_eq!(caret, column, "{text}");
        }
        // Of the others the last token that was read.
        for (expression, token, said) in [
            ("ip and port nonsense and tcp", "nonsense", "nonsense"),
            ("tcp and port 99999999999999 and udp", "99999999999999", "overflows"),
            ("tcp and host 1.2.3.4.5 and udp", "1.2.3.4.5", "1.2.3.4.5"),
            ("udp and net 10.0.0.1/8 and ip", "10.0.0.1/8", "non-network bits"),
            ("ip broadcast and tcp", "broadcast", "netmask not known"),
            ("udp or tcp port 70000", "70000", "70000"),
        ] {
            let (text, found) = refusal(&mut compiler, expression);
            assert!(text.contains(said), "{text}");
            let (start, found, is_exact) = found.unwrap_or_else(|| panic!("no place: {text}"));
            assert!(!is_exact && found == token && start > 0, "{text}");
        }
        let (text, place) = refusal(&mut compiler, "ip and ip6");
        assert!(place.is_none() && text.contains("\"ip and ip6\""), "{text}");
        let (text, _) = refusal(&mut compiler, "ip6 protochain 6");
        assert!(text.contains("protochain"), "{text}");
        let zero = compiler.compile("tcp\0", Optimise::Yes).unwrap_err().to_string();
        assert!(zero.contains("zero octet"), "{zero}");
    });
}

#[test]
fn root_any_row_of_words_is_compiled_or_refused_with_a_place() {
    let Some(()) = privileges() else { return };
    let words = "tcp udp ip ip6 vlan port host net src dst and or not ( ) [ ] & = != < 1 80 10.0.0.1 10.0.0.0/8 ::1 ether \
                 proto len \\tcp";
    let words: Vec<_> = words.split(' ').collect();
    let place = Place::with_pair();
    place.inside(|| {
        let compiler = RefCell::new(Compiler::open(&interface_of(&place), SnapLength::EVERYTHING).unwrap());
        let mut runner = TestRunner::new(Config { source_file: Some(file!()), ..Config::default() });
        let rows = proptest::collection::vec((select(words), select(&[" ", "\n", "  "][..])), 1..12);
        let outcome = runner.run(&rows, |row| {
            let text: String = row.into_iter().flat_map(|(word, space)| [word, space]).collect();
            let Err(error) = compiler.borrow_mut().compile(&text, Optimise::No) else { return Ok(()) };
            let text_of_error = error.to_string();
            let CaptureError::Filter { place, reason, .. } = error else { panic!("{text_of_error}") };
            prop_assert!(
                text.get(place.clone().map_or(0..0, |place| place.token)).is_some(),
                "{text_of_error}"
            );
            if reason.contains("syntax error") {
                prop_assert!(place.is_some_and(|place| place.is_exact), "{text_of_error}");
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
        for long in ["(", "not ", "tcp or ", "!"] {
            let said =
                compiler.borrow_mut().compile(&long.repeat(20_000), Optimise::No).unwrap_err().to_string();
            assert!(said.len() < 500, "{}", &said[..500]);
        }
    });
}

#[test]
fn root_a_program_that_is_too_long_is_refused() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.inside(|| {
        let mut compiler = Compiler::open(&interface_of(&place), SnapLength::EVERYTHING).unwrap();
        // Each host takes at least six instructions.
        let hosts: Vec<_> = (0..700).map(|n| format!("src host 10.0.{}.{}", n / 250, n % 250)).collect();
        let said = compiler.compile(&hosts.join(" or "), Optimise::No).unwrap_err().to_string();
        assert!(said.contains("4093") && said.contains("optimised"), "{}", &said[..200]);
        assert!(said.len() < 100_000);
    });
}

#[test]
fn root_without_a_live_handle_there_is_no_program() {
    const ALONE: &str = "CAPBENCH_TEST_WITHOUT_NET_RAW";
    const TEST: &str = "filter::refusals::root_without_a_live_handle_there_is_no_program";
    let text = FilterText::of_expression("tcp").unwrap();
    if std::env::var_os(ALONE).is_some() {
        let lo = Interface::of_name("lo", 65_536).unwrap();
        let error = text.compile(&lo, SnapLength::EVERYTHING, Optimise::Yes).unwrap_err();
        assert!(matches!(error, CaptureError::Privilege { capability: "CAP_NET_RAW", .. }), "{error}");
        return;
    }
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.inside(|| {
        let open = |interface: &Interface| {
            text.compile(interface, SnapLength::EVERYTHING, Optimise::Yes).unwrap_err().to_string()
        };
        let interface = interface_of(&place);
        place.ip("link set dev left down");
        let down = open(&interface);
        assert!(down.contains("left") && down.contains("not up"), "{down}");
        let gone = open(&Interface { name: "gone".into(), ..interface });
        assert!(gone.contains("gone") && gone.contains("No such device"), "{gone}");
    });
    let mut without = program("setpriv");
    without.args(["--bounding-set", "-net_raw", "--inh-caps", "-net_raw"]);
    without.arg(std::env::current_exe().unwrap()).args(["--exact", TEST]).env(ALONE, "1");
    let output = without.output().unwrap();
    assert!(output.status.success(), "{}{}", lossy(&output.stdout), lossy(&output.stderr));
    assert!(lossy(&output.stdout).contains("1 passed"), "{}", lossy(&output.stdout));
}
