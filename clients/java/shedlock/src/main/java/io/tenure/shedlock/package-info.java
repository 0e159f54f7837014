/** Tenure as a lock provider of ShedLock: begin with {@link io.tenure.shedlock.TenureLockProvider}. */
@NullMarked
package io.tenure.shedlock;

import org.jspecify.annotations.NullMarked;
