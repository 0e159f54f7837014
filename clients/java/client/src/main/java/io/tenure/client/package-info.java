/**
 * The client of Tenure, a lock and leadership service: begin with {@link io.tenure.client.TenureClient}.
 *
 * <p>Times are {@link java.time.Duration}s. Blocking calls can be interrupted, which gives up what was asked for; calls whose name
 * ends with {@code Async} answer a future, and cancelling that does the same. All classes may be used by many threads at once
 * unless they say otherwise.
 */
@NullMarked
package io.tenure.client;

import org.jspecify.annotations.NullMarked;
