/** The connection to the service: its thread, the one stream, and plain calls beside it. Not public. */
@NullMarked
package io.tenure.client.transport;

import org.jspecify.annotations.NullMarked;
