/** Has the user's own database turn away stale fencing tokens. */
@NullMarked
package io.tenure.client.fence;

import org.jspecify.annotations.NullMarked;
