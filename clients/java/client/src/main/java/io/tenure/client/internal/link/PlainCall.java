package io.tenure.client.internal.link;

import io.grpc.MethodDescriptor;
import java.util.concurrent.CompletableFuture;

/**
 * A call of its own beside the stream.
 *
 * @param isSafe whether doing it twice is doing it once; else it is tried again only if it surely had no effect
 * @param deadline when it is given up
 * @param answer completed with what comes of it
 */
public record PlainCall<Q, A>(
        MethodDescriptor<Q, A> method, Q request, boolean isSafe, long deadline, CompletableFuture<A> answer) {}
