SELECT previous, server, number, at_ms, events
FROM batches
WHERE namespace = ? AND revision > ? AND revision <= ?
    AND (INSTR(events, CAST(? AS BINARY)) > 0 OR INSTR(SUBSTR(events, 1, 64), '"history_lost"') > 0)
ORDER BY revision DESC
