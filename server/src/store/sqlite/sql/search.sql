SELECT previous, server, number, at_ms, events
FROM batches
WHERE namespace = ? AND revision > ? AND revision <= ?
    AND (instr(events, ?) > 0 OR instr(substr(events, 1, 64), '"history_lost"') > 0)
ORDER BY revision DESC
