//! Each sentence about members, once; `stop` has the figures of what stops them.

use capbench_judge::finding::sweep::members::MembersStop;
use capbench_judge::finding::sweep::stop_figures::StopFigures;

use super::{
    Constant, Limit, MembersAnswer, MembersGrowth, MembersLaw, MembersNeeded, MembersRate, Needed,
    ScalabilityFit, Scales, Unfit, growth, law, limit_words, needed, number_of_members, scaling_of_method,
    stop,
};
use crate::sentences::sweep::tests::series;

/// What this number of members reads.
fn rate(members: usize, pps: f64) -> MembersRate {
    let mut point = crate::sentences::sweep::tests::point(members);
    point.label = number_of_members(members as u32);
    MembersRate { point, pps }
}

#[test]
fn how_a_method_scales_is_one_clause() {
    let limit = Some(Limit::Coherence);
    let coherence = "; the limit is coherence: members slow each other";
    let cases = [
        (Scales::Needs { members: 3 }, "recv needs 3 members for 1,000 packets/s".to_string()),
        (
            Scales::NeedsByLaw { members: 9, other_limit: None },
            "recv needs 9 members for 1,000 packets/s by the fitted law".into(),
        ),
        (
            Scales::NeedsByLaw { members: 9, other_limit: Some(Limit::Unknown) },
            "recv needs 9 members for 1,000 packets/s by the fitted law, once the unknown limit is no longer in the way".into(),
        ),
        (
            Scales::NoNumberIsEnough { limit },
            format!("recv reads 1,000 packets/s with no number of members{coherence}"),
        ),
        (
            Scales::LessThanLoad { last: rate(3, 900.0), limit: None },
            "recv does not read 1,000 packets/s; it reads 900 packets/s with 3 members".into(),
        ),
        (
            Scales::NotAtAll { one: rate(1, 900.0), next: rate(2, 800.0), limit: Limit::Coherence },
            format!(
                "recv does not scale: it reads 900 packets/s with 1 member and 800 packets/s with 2 members{coherence}"
            ),
        ),
        (
            Scales::UpTo { best: rate(3, 900.0), limit: Limit::Coherence },
            format!("recv scales up to 900 packets/s with 3 members{coherence}"),
        ),
        (
            Scales::UpToLast { last: rate(3, 900.0) },
            "recv scales up to 900 packets/s with 3 members, the most that were measured".into(),
        ),
    ];
    for (scales, clause) in cases {
        let answer = MembersAnswer { method: "recv".into(), load_pps: 1000.0, scales, trials: Vec::new() };
        assert_eq!(scaling_of_method(&answer), clause);
    }
}

#[test]
fn each_cause_is_named_as_the_limit() {
    for (cause, words) in [
        (Limit::Load, "the load, all of which they read"),
        (Limit::Generator, "the generator"),
        (Limit::Backlog, "the kernel's receive work on one CPU"),
        (Limit::Sharing, "the sharing of the frames, of which one member gets too many"),
        (Limit::SharedCpus, "the number of CPUs"),
        (Limit::Contention, "contention: a part of the work that one member does at a time"),
        (Limit::Members, "something that busy members share"),
        (Limit::Unknown, "unknown"),
    ] {
        assert_eq!(limit_words(cause), words);
    }
}

#[test]
fn the_growth_is_said_with_what_stops_it() {
    let stopped = MembersGrowth {
        series: series(),
        first: rate(1, 1000.0),
        best: rate(4, 3880.0),
        stop: Some(MembersStop { next: rate(5, 4000.0), cause: StopFigures::Load }),
        numbers: 7,
    };
    let stop = format!(
        "Beyond, more members bring less than half of what as many brought before: 4,000 packets/s with 5 members. {}",
        stop::figures(&StopFigures::Load)
    );
    let scales = "recv: it scales up to 3,880 packets/s with 4 members, 3.88 times that with 1 member";
    assert_eq!(growth(&stopped), format!("{scales}. {stop}"));
    let not_at_all = MembersGrowth { best: rate(1, 1000.0), ..stopped.clone() };
    assert_eq!(
        growth(&not_at_all),
        format!("recv: it does not scale: it reads 1,000 packets/s with 1 member. {stop}")
    );
    let to_the_end = MembersGrowth { stop: None, ..stopped };
    assert_eq!(
        growth(&to_the_end),
        format!("{scales}, the last number. More --points show where that ends.")
    );
    let only = MembersGrowth { best: rate(1, 1000.0), numbers: 1, ..to_the_end };
    assert_eq!(growth(&only), "recv: it reads 1,000 packets/s with 1 member; no other number was measured.");
}

#[test]
fn the_members_that_a_load_needs_are_said() {
    let text = |needed_members, other_limit| {
        needed(&MembersNeeded { series: series(), load_pps: 1000.0, needed: needed_members, other_limit })
    };
    assert_eq!(
        text(Needed::Measured { members: 3 }, None),
        "recv: for 1,000 packets/s this host needs 3 members: the fewest that read all of it."
    );
    assert_eq!(
        text(Needed::ByLaw { members: 12 }, Some(Limit::Backlog)),
        "recv: for 1,000 packets/s this host needs 12 members by the fitted law, once the kernel's receive work on one CPU is no \
         longer in the way; no measured number was enough."
    );
    assert_eq!(
        text(Needed::NoNumber { most_pps: 900.4 }, None),
        "recv: for 1,000 packets/s no number of members is enough: by the fitted law they read up to 900 packets/s."
    );
    assert_eq!(
        text(Needed::Unknown, None),
        "recv: how many members 1,000 packets/s needs is unknown: no measured number was enough, and no law is fitted."
    );
}

#[test]
fn the_law_is_said_with_its_constants_or_why_there_is_none() {
    let text = |fitted, no_law_because| law(&MembersLaw { series: series(), law: fitted, no_law_because });
    let constant = |value: f64, low, high| Constant { value, low, high };
    let fit = ScalabilityFit {
        lambda_pps: constant(1_000_000.4, Some(900_000.0), Some(1_100_000.0)),
        sigma: constant(0.01, None, None),
        kappa: constant(1e-12, Some(0.0), Some(0.02)),
        peak: None,
        largest_error: 0.0123,
    };
    let constants = "recv: by the Universal Scalability Law one member reads λ = 1,000,000 (900,000 to 1,100,000) packets/s, \
                     contention σ is 0.01, coherence κ is 0 (0 to 0.02)";
    assert_eq!(
        text(Some(fit), None),
        format!("{constants}, and more members never read less; the points are within 1.2 % of it.")
    );
    assert_eq!(
        text(Some(ScalabilityFit { peak: Some(37.42), ..fit }), None),
        format!("{constants}, and the rate is highest with 37.4 members; the points are within 1.2 % of it.")
    );
    let needs = "recv: no scalability law is fitted: it needs 4 numbers of members at which the members are the limit, each on a \
                 CPU, and there";
    let too_few = |numbers| text(None, Some(Unfit::TooFewNumbers { numbers }));
    assert_eq!(too_few(1), format!("{needs} is 1."));
    assert_eq!(too_few(3), format!("{needs} are 3."));
    assert_eq!(
        text(None, Some(Unfit::OffTheLaw { error: 0.25 })),
        "recv: no scalability law is fitted: the rates differ from the closest one by up to 25 %. The host was not quiet, or \
         members have unequal CPUs."
    );
    assert_eq!(text(None, None), "recv: no scalability law is fitted.");
}
