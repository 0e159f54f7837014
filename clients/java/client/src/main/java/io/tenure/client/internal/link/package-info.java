@NullMarked
package io.tenure.client.internal.link;

import org.jspecify.annotations.NullMarked;
