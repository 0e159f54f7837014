/** Tenure as a lock registry of Spring Integration: begin with {@link io.tenure.spring.integration.TenureLockRegistry}. */
@NullMarked
package io.tenure.spring.integration;

import org.jspecify.annotations.NullMarked;
