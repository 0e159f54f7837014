package io.tenure.client.internal.engine;

import io.tenure.client.internal.Ticks;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How to open a session.
 *
 * @param grace {@link io.tenure.client.internal.Validity#NO_GRACE}: none
 * @param ticks the progress that its renewal depends on
 */
public record OpenSpec(
        String id, long ttl, long grace, String owner, Map<String, String> metadata, @Nullable Ticks ticks) {}
