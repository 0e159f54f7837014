/**
 * Tenure for Spring Boot: a {@link io.tenure.client.TenureClient} as the {@linkplain io.tenure.spring.boot.TenureProperties
 * properties} say, {@link io.tenure.spring.boot.DistributedLock} and {@link io.tenure.spring.boot.LeaderOnly} for methods, metrics and
 * health.
 */
@NullMarked
package io.tenure.spring.boot;

import org.jspecify.annotations.NullMarked;
