package io.tenure.client;

import io.grpc.MethodDescriptor;
import io.tenure.client.internal.Convert;
import io.tenure.client.internal.link.Link;
import io.tenure.client.internal.link.PlainCall;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Plain calls in one namespace, beside the stream. */
final class Calls {
    private final Link link;
    private final String namespace;

    Calls(Link link, String namespace) {
        this.link = link;
        this.namespace = namespace;
    }

    String namespace() {
        return namespace;
    }

    /** A call that is safe to repeat. */
    <Q, A> A call(MethodDescriptor<Q, A> method, Q request) throws InterruptedException {
        return call(method, request, true, Duration.ZERO);
    }

    /** A call that may be safe to repeat, and that the server may take this much longer to answer. */
    <Q, A> A call(MethodDescriptor<Q, A> method, Q request, boolean isSafe, Duration wait) throws InterruptedException {
        long deadline = link.giveUp() + Convert.nanos(wait);
        return Pending.await(link.call(new PlainCall<>(method, request, isSafe, deadline, new CompletableFuture<>())));
    }
}
