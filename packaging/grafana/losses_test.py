#!/usr/bin/env python3
"""Prints a test for promtool: each panel that adds up lost frames counts those that a program lost between two scrapes, before the
first sample of its series. Usage: losses_test.py DASHBOARD
"""

import subprocess
import sys
from pathlib import Path

LOST = 54544
HEAD = f"""\
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'up{{job="capbench", instance="sensor:9873"}}'
        values: '1x70'
      - series: 'capbench_lost_frames_total{{job="capbench", instance="sensor:9873", interface="eth0", place="ring"}}'
        values: '_x68 {LOST}x4'
      - series: 'capbench_socket_lost_frames_total{{job="capbench", instance="sensor:9873", interface="eth0", program="tcpdump"}}'
        values: '_x68 {LOST}x4'
    promql_expr_test:"""
CASE = """\
      - expr: sum({})
        eval_time: 70m
        exp_samples: [{{labels: '{{}}', value: {}}}]"""


def main(board):
    program = Path(__file__).with_name("queries.py")
    found = subprocess.run([sys.executable, program, board], check=True, capture_output=True, text=True).stdout
    sums = [query for query in found.splitlines() if "lost_frames_total" in query and not query.startswith("count(")]
    assert sums, f"{board} has no panel of lost frames"
    print(HEAD)
    for query in sums:
        print(CASE.format(query, LOST))


main(*sys.argv[1:])
