-- Which set-ups became worse from one kernel to the next, by more than chance, on the same hosts?
-- Tables: trials, searches. Runs unchanged on DuckDB, Spark and DataFusion.
-- For another column replace `kernel_release`, for two of several values add a WHERE to `valued`.
--
-- It compares the trials and figures of
--   capbench compare --dataset DIR --by kernel_release
-- which decides by other means: the exact probability of the ranks, corrected for all set-ups, and by the size of the change. This
-- query has an approximation of the probability, and no smallest change. So it shows where to look; answers near its bounds differ.
-- Which trials are compared is in columns that `capbench export` fills: is_compared, is_load_delivered, is_rate_at_least. Runs that
-- an earlier version exported do not have them; export them again.
--
-- A figure of a run is the median of its trials. A stratum is a host with one set-up that has both values. Its median is taken off,
-- all figures of a set-up are ranked together, and the ranks of the later value are summed up. `z` says how many standard
-- deviations that sum is from its mean, if chance alone divides the runs of a host between the values (Hodges and Lehmann 1962).
-- Below -3 or above 3 this query says `worse` or `better`.
WITH
valued AS (
  SELECT run_id, number, host_id, started_at, kernel_release AS side, method, frame_size, traffic, placement, work, transmit,
    phase, intended_pps, delivered_pps, sent, delivered, is_compared, is_load_delivered, is_rate_at_least, app_ns_per_packet,
    total_ns_per_packet, latency_total_p50_ns, latency_total_p99_9_ns
  FROM trials
  WHERE kept = 'result' AND host_id IS NOT NULL AND kernel_release IS NOT NULL
),
-- The two values: the one that was measured first is the earlier.
sides AS (
  SELECT side, ROW_NUMBER() OVER (ORDER BY MIN(started_at), side) AS nth FROM valued GROUP BY side
),
usable AS (
  SELECT valued.*,
    CASE WHEN valued.phase = 'common-load' THEN 'common load' WHEN valued.intended_pps IS NULL THEN 'maximum load'
      ELSE CONCAT(CAST(CAST(ROUND(valued.intended_pps) AS BIGINT) AS STRING), ' packets/s') END AS load
  FROM valued
  WHERE valued.is_compared
),
-- The figures of trials and searches. `direction` is 1 where more is better. Ratios are compared by their logarithms. One pass over
-- the trials makes all of them: Spark would read the files anew for each part of a UNION.
measures AS (
  SELECT 'delivered' AS measure, 1 AS direction
  UNION ALL SELECT 'loss' AS measure, -1 AS direction
  UNION ALL SELECT 'CPU time' AS measure, -1 AS direction
  UNION ALL SELECT 'application' AS measure, -1 AS direction
  UNION ALL SELECT 'latency p50' AS measure, -1 AS direction
  UNION ALL SELECT 'latency p99.9' AS measure, -1 AS direction
),
measured AS (
  SELECT usable.*, measures.measure AS measure, measures.direction AS direction,
    CASE
      WHEN measures.measure = 'delivered' AND intended_pps IS NULL AND delivered_pps > 0 THEN LN(delivered_pps)
      WHEN measures.measure = 'loss' AND intended_pps IS NOT NULL AND sent > 0 THEN (sent - delivered) * 1.0 / sent
      WHEN measures.measure = 'CPU time' AND total_ns_per_packet > 0 AND is_load_delivered
        THEN LN(total_ns_per_packet)
      WHEN measures.measure = 'application' AND app_ns_per_packet > 0 THEN LN(app_ns_per_packet)
      WHEN measures.measure = 'latency p50' AND latency_total_p50_ns > 0 THEN LN(latency_total_p50_ns)
      WHEN measures.measure = 'latency p99.9' AND latency_total_p99_9_ns > 0 THEN LN(latency_total_p99_9_ns)
    END AS value,
    CASE WHEN measures.measure = 'delivered' AND is_rate_at_least THEN 1 ELSE 0 END AS at_least
  FROM usable CROSS JOIN measures
),
figures AS (
  SELECT * FROM measured WHERE value IS NOT NULL
  UNION ALL
  SELECT valued.*, CONCAT('goal ', searches.goal) AS load, 'throughput' AS measure, 1 AS direction,
    LN(searches.achieved_pps) AS value, 0 AS at_least
  FROM searches JOIN valued ON searches.run_id = valued.run_id AND searches.first_trial = valued.number
  WHERE searches.status = 'regular' AND searches.achieved_pps > 0
),
of_runs AS (
  SELECT measure, direction, method, frame_size, traffic, placement, work, transmit, load, host_id, run_id, sides.nth AS nth,
    MEDIAN(value) AS value, MEDIAN(intended_pps) AS pps, AVG(at_least) AS at_least
  FROM figures JOIN sides ON figures.side = sides.side
  WHERE sides.nth <= 2
  GROUP BY measure, direction, method, frame_size, traffic, placement, work, transmit, load, host_id, run_id, sides.nth
),
of_hosts AS (
  SELECT measure, method, frame_size, traffic, placement, work, transmit, load, host_id,
    MEDIAN(value) AS middle, COUNT(*) AS runs,
    SUM(CASE WHEN nth = 2 THEN 1 ELSE 0 END) AS later,
    MEDIAN(CASE WHEN nth = 1 THEN value END) AS value_then, MEDIAN(CASE WHEN nth = 2 THEN value END) AS value_now,
    MEDIAN(CASE WHEN nth = 1 THEN pps END) AS pps_then, MEDIAN(CASE WHEN nth = 2 THEN pps END) AS pps_now
  FROM of_runs GROUP BY measure, method, frame_size, traffic, placement, work, transmit, load, host_id
),
-- Hosts with both values. At a common load only if it is about the same: the cost of a packet depends on it.
paired AS (
  SELECT * FROM of_hosts
  WHERE later > 0 AND later < runs
    AND (load <> 'common load' OR ABS(pps_then - pps_now) <= 0.1 * GREATEST(pps_then, pps_now))
),
aligned AS (
  SELECT of_runs.*, of_runs.value - paired.middle AS off, paired.runs AS runs, paired.later AS later,
    RANK() OVER (PARTITION BY of_runs.measure, of_runs.method, of_runs.frame_size, of_runs.traffic, of_runs.placement,
      of_runs.work, of_runs.transmit, of_runs.load ORDER BY of_runs.value - paired.middle) AS place
  FROM of_runs
  JOIN paired ON of_runs.measure = paired.measure AND of_runs.method = paired.method AND of_runs.frame_size = paired.frame_size
    AND of_runs.traffic = paired.traffic AND of_runs.placement = paired.placement AND of_runs.work = paired.work
    AND of_runs.transmit = paired.transmit AND of_runs.load = paired.load AND of_runs.host_id = paired.host_id
),
-- Equal figures share the middle of their ranks.
ranked AS (
  SELECT aligned.*, place + (COUNT(*) OVER (PARTITION BY measure, method, frame_size, traffic, placement, work, transmit, load, place)
    - 1) / 2.0 AS rank_of
  FROM aligned
),
strata AS (
  SELECT measure, direction, method, frame_size, traffic, placement, work, transmit, load, host_id,
    MAX(runs) AS runs, MAX(later) AS later, SUM(CASE WHEN nth = 2 THEN rank_of ELSE 0 END) AS ranks,
    AVG(rank_of) AS rank_mean, SUM(rank_of * rank_of) - COUNT(*) * AVG(rank_of) * AVG(rank_of) AS squares
  FROM ranked
  GROUP BY measure, direction, method, frame_size, traffic, placement, work, transmit, load, host_id
),
tested AS (
  SELECT measure, direction, method, frame_size, traffic, placement, work, transmit, load, COUNT(*) AS hosts,
    SUM(ranks - later * rank_mean)
      / NULLIF(SQRT(SUM(later * (runs - later) * 1.0 / (runs * (runs - 1)) * squares)), 0) AS z
  FROM strata GROUP BY measure, direction, method, frame_size, traffic, placement, work, transmit, load
),
changes AS (
  SELECT measure, method, frame_size, traffic, placement, work, transmit, load, AVG(value_now - value_then) AS change_mean
  FROM paired GROUP BY measure, method, frame_size, traffic, placement, work, transmit, load
),
-- What the generator sent is no limit of a method: the lower side has to have lost frames.
generators AS (
  SELECT measure, method, frame_size, traffic, placement, work, transmit, load,
    MEDIAN(CASE WHEN nth = 1 THEN value END) AS value_then, MEDIAN(CASE WHEN nth = 2 THEN value END) AS value_now,
    AVG(CASE WHEN nth = 1 THEN at_least END) AS at_least_then, AVG(CASE WHEN nth = 2 THEN at_least END) AS at_least_now
  FROM ranked GROUP BY measure, method, frame_size, traffic, placement, work, transmit, load
)
SELECT tested.measure, tested.method, tested.frame_size, tested.placement, tested.work, tested.load, tested.hosts,
  ROUND(CASE WHEN tested.measure = 'loss' THEN changes.change_mean ELSE EXP(changes.change_mean) - 1 END, 5) AS change_mean,
  ROUND(tested.z, 2) AS z,
  CASE WHEN tested.z * tested.direction <= -3 THEN 'worse' WHEN tested.z * tested.direction >= 3 THEN 'better'
    ELSE 'not shown' END AS judgement
FROM tested
JOIN changes ON tested.measure = changes.measure AND tested.method = changes.method AND tested.frame_size = changes.frame_size
  AND tested.traffic = changes.traffic AND tested.placement = changes.placement AND tested.work = changes.work
  AND tested.transmit = changes.transmit AND tested.load = changes.load
JOIN generators ON tested.measure = generators.measure AND tested.method = generators.method
  AND tested.frame_size = generators.frame_size AND tested.traffic = generators.traffic
  AND tested.placement = generators.placement AND tested.work = generators.work AND tested.transmit = generators.transmit
  AND tested.load = generators.load
WHERE CASE WHEN generators.value_now < generators.value_then THEN generators.at_least_now ELSE generators.at_least_then END <= 0.5
ORDER BY tested.measure, tested.method, tested.frame_size, tested.placement, tested.work, tested.load
