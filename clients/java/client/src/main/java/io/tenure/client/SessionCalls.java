package io.tenure.client;

import io.tenure.client.internal.Convert;
import io.tenure.client.v1.CloseSessionRequest;
import io.tenure.client.v1.GetSessionRequest;
import io.tenure.client.v1.ListSessionsRequest;
import io.tenure.client.v1.SessionServiceGrpc;
import java.util.stream.Stream;

/** Plain calls about sessions. Documented where they are public: {@link TenureClient}. */
final class SessionCalls {
    private final Calls calls;

    SessionCalls(Calls calls) {
        this.calls = calls;
    }

    SessionInfo get(String sessionId) throws InterruptedException {
        GetSessionRequest request = GetSessionRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setSessionId(sessionId)
                .build();
        return Convert.session(
                calls.call(SessionServiceGrpc.getGetSessionMethod(), request).getSession());
    }

    Stream<SessionInfo> list() {
        return Pages.of(token -> {
            var page = calls.call(
                    SessionServiceGrpc.getListSessionsMethod(),
                    ListSessionsRequest.newBuilder()
                            .setNamespace(calls.namespace())
                            .setPageToken(token)
                            .build());
            return new Pages.Page<>(
                    page.getSessionsList().stream().map(Convert::session).toList(), page.getNextPageToken());
        });
    }

    void close(String sessionId) throws InterruptedException {
        CloseSessionRequest request = CloseSessionRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setSessionId(sessionId)
                .build();
        calls.call(SessionServiceGrpc.getCloseSessionMethod(), request);
    }
}
