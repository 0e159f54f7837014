/** The user's own database rejects stale fencing tokens. */
@NullMarked
package io.tenure.client.fence;

import org.jspecify.annotations.NullMarked;
