@NullMarked
package io.tenure.client.internal;

import org.jspecify.annotations.NullMarked;
