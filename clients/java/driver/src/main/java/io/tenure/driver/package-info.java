/** Plays scenarios on behalf of the Java client: see {@code tests/blackbox/scenarios/README.md}. */
@NullMarked
package io.tenure.driver;

import org.jspecify.annotations.NullMarked;
