SELECT previous, server, number, at_ms, events
FROM batches
WHERE namespace = $1 AND revision > $2 AND revision <= $3
    AND (strpos(events, $4) > 0 OR strpos(substr(events, 1, 64), '"history_lost"') > 0)
ORDER BY revision DESC
