/** Programs that show how the client is used. Each takes its servers from {@code TENURE_ENDPOINTS}. */
@NullMarked
package io.tenure.examples;

import org.jspecify.annotations.NullMarked;
