package io.tenure.client.internal.engine;

import io.tenure.client.Mode;
import java.util.List;
import java.util.Map;

/**
 * Which locks to ask for, and how.
 *
 * @param names in byte order, each once
 * @param stallAfter in nanoseconds; 0: none
 */
public record AcquireSpec(
        List<String> names, Mode mode, int priority, Map<String, String> metadata, long minHold, long stallAfter) {}
