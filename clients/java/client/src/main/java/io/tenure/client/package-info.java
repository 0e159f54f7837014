/**
 * The client of Tenure, a lock and leadership service: begin with {@link io.tenure.client.TenureClient}.
 *
 * <p>Times are {@link java.time.Duration}s. An interrupt of a blocking call withdraws the request, as does cancelling the future of an
 * acquire. All classes may be used by several threads unless they say otherwise.
 */
@NullMarked
package io.tenure.client;

import org.jspecify.annotations.NullMarked;
