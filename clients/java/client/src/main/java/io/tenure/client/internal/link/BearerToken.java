package io.tenure.client.internal.link;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.tenure.client.Security;
import io.tenure.client.internal.Contents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Says with each call who makes it: {@code authorization: Bearer TOKEN}. */
public final class BearerToken implements ClientInterceptor {
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    /** Where it stands. */
    @FunctionalInterface
    private interface Source {
        String text() throws IOException;
    }

    private final Source source;

    private BearerToken(Source source) {
        this.source = source;
    }

    /** The token of these options, if they have one. */
    public static @Nullable BearerToken of(Security security) {
        String token = security.token();
        Path file = security.tokenFile();
        if (token != null) {
            return new BearerToken(() -> token);
        }
        return file == null ? null : new BearerToken(() -> new String(Contents.of(file), StandardCharsets.UTF_8));
    }

    /**
     * What it is now.
     *
     * @throws IOException if it cannot be read, or is none
     */
    public String read() throws IOException {
        String token = source.text().strip();
        if (token.isEmpty()) {
            throw new IOException("the token is empty");
        }
        if (!token.chars().allMatch(BearerToken::isPrintable)) {
            throw new IOException("the token has letters that no header may have");
        }
        return token;
    }

    private static boolean isPrintable(int letter) {
        return letter >= ' ' && letter <= '~';
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return new CheckedForwardingClientCall<>(next.newCall(method, options)) {
            @Override
            protected void checkedStart(Listener<A> listener, Metadata headers) throws StatusException {
                try {
                    headers.put(AUTHORIZATION, "Bearer " + read());
                } catch (IOException error) {
                    // Worth another try: the file may be about to be replaced.
                    throw Status.UNAVAILABLE.withDescription(error.getMessage()).asException();
                }
                delegate().start(listener, headers);
            }
        };
    }
}
