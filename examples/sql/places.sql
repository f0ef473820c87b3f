-- On which hosts, and where, were frames lost? The share of the sent frames by place; unknown places have no count.
-- Tables: trials, ledger. Runs unchanged on DuckDB, Spark and DataFusion.
SELECT trials.host_id, trials.kernel_release, trials.method, ledger.place, SUM(ledger.count) AS frames,
  SUM(ledger.count) * 1.0 / SUM(trials.sent) AS share_of_sent
FROM trials JOIN ledger ON trials.run_id = ledger.run_id AND trials.number = ledger.number
WHERE trials.kept = 'result' AND ledger.stream IS NULL AND ledger.place <> 'delivered' AND ledger.count > 0 AND trials.sent > 0
GROUP BY trials.host_id, trials.kernel_release, trials.method, ledger.place
ORDER BY frames DESC, trials.host_id, trials.kernel_release, trials.method, ledger.place
