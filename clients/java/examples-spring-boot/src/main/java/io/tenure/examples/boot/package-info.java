/** A program with Spring Boot. */
@NullMarked
package io.tenure.examples.boot;

import org.jspecify.annotations.NullMarked;
