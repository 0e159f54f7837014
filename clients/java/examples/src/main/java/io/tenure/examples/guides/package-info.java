/** What programs do with Tenure that used something else before: the code of {@code clients/guides}. */
@NullMarked
package io.tenure.examples.guides;

import org.jspecify.annotations.NullMarked;
