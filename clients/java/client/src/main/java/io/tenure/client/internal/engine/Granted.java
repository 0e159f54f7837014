package io.tenure.client.internal.engine;

import io.tenure.client.Claim;
import io.tenure.client.internal.HoldPresence;
import org.jspecify.annotations.Nullable;

/**
 * What came of an acquire.
 *
 * @param hold what is held; null: somebody else has the locks
 * @param holder who has, or waits ahead for, the first of the names that was not free
 */
public record Granted(@Nullable HoldPresence hold, @Nullable Claim holder) {}
