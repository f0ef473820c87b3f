#!/usr/bin/env python3
"""Prints the queries of a dashboard, one a line, with values for Grafana's variables. Usage: queries.py DASHBOARD [RANGE]

RANGE replaces $__rate_interval; $__range is 12 times as long.
"""

import json
import sys


def main(board, during="5m"):
    number, unit = int(during[:-1]), during[-1]
    values = {
        "$__rate_interval": during,
        "$__range": f"{12 * number}{unit}",
        "$host": ".*",
        "$interface": ".*",
    }
    for panel in json.load(open(board))["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in values.items():
                query = query.replace(name, value)
            assert "$" not in query and "\n" not in query, f"a variable that this does not know: {query}"
            print(query)


main(*sys.argv[1:])
