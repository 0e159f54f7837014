@NullMarked
package io.tenure.client.internal.engine;

import org.jspecify.annotations.NullMarked;
