"""Runs searches of the library MLRsearch for whoever asks on standard input, and asks back for every trial.

    < search LEAST MAXIMUM       a search for ndr and pdr between two loads, frames per second
    > measure SECONDS LOAD       a trial, please
    < INTENDED SENT DELIVERED    its counts
    > bounds LOWER UPPER         for each goal, "none" where there is no bound
    > done
"""

import sys
from importlib.metadata import version

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal


def say(*words):
    print(*words, flush=True)


class Asking(AbstractMeasurer):
    """Measures by asking."""

    def measure(self, intended_duration, intended_load):
        say("measure", repr(float(intended_duration)), repr(float(intended_load)))
        intended, sent, delivered = map(int, sys.stdin.readline().split())
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=intended,
            offered_count=sent,
            forwarding_count=delivered,
            duration_with_overheads=intended_duration,
        )


def goal(loss_ratio):
    """The attributes that CSIT uses for ndr and pdr."""
    return SearchGoal(
        loss_ratio=loss_ratio,
        exceed_ratio=0.5,
        relative_width=0.005,
        initial_trial_duration=1.0,
        final_trial_duration=1.0,
        duration_sum=21.0,
        preceding_targets=2,
        expansion_coefficient=2,
        fail_fast=False,
    )


def load(bound):
    return "none" if bound is None else repr(float(bound.float_load))


def search(least, maximum):
    config = Config()
    config.goals = [goal(0.0), goal(0.005)]
    config.min_load = float(least)
    config.max_load = float(maximum)
    config.search_duration_max = 1e9
    # Its result would be thrown away; ours has no such trial.
    config.warmup_duration = None
    results = MultipleLossRatioSearch(config=config).search(measurer=Asking())
    for wanted in config.goals:
        say("bounds", load(results[wanted].relevant_lower_bound), load(results[wanted].relevant_upper_bound))
    say("done")


say("MLRsearch", version("MLRsearch"))
for line in iter(sys.stdin.readline, ""):
    search(*line.split()[1:])
