package io.tenure.client;

import io.tenure.client.internal.Convert;
import io.tenure.client.v1.ConfigureLockRequest;
import io.tenure.client.v1.EvictRequest;
import io.tenure.client.v1.GetLockRequest;
import io.tenure.client.v1.ListBlockedRequest;
import io.tenure.client.v1.ListHistoryRequest;
import io.tenure.client.v1.ListLocksRequest;
import io.tenure.client.v1.LockServiceGrpc;
import io.tenure.client.v1.ReleaseRequest;
import io.tenure.client.v1.TransferRequest;
import io.tenure.client.v1.UpdateClaimRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Plain calls about locks. Documented where they are public: {@link TenureClient}. */
final class LockCalls {
    private final Calls calls;

    LockCalls(Calls calls) {
        this.calls = calls;
    }

    LockInfo get(String name) throws InterruptedException {
        GetLockRequest request = GetLockRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setName(name)
                .build();
        return Convert.lock(
                calls.call(LockServiceGrpc.getGetLockMethod(), request).getLock());
    }

    Stream<LockInfo> list(String prefix) {
        return Pages.of(token -> {
            var page = calls.call(
                    LockServiceGrpc.getListLocksMethod(),
                    ListLocksRequest.newBuilder()
                            .setNamespace(calls.namespace())
                            .setPrefix(prefix)
                            .setPageToken(token)
                            .build());
            return new Pages.Page<>(
                    page.getLocksList().stream().map(Convert::lock).toList(), page.getNextPageToken());
        });
    }

    Stream<HistoryEntry> history(String name) {
        return Pages.of(token -> {
            var page = calls.call(
                    LockServiceGrpc.getListHistoryMethod(),
                    ListHistoryRequest.newBuilder()
                            .setNamespace(calls.namespace())
                            .setName(name)
                            .setPageToken(token)
                            .build());
            return new Pages.Page<>(
                    page.getEntriesList().stream().flatMap(Histories::entry).toList(), page.getNextPageToken());
        });
    }

    Stream<BlockedClaim> listBlocked(boolean deadlockedOnly) {
        return Pages.of(token -> {
            var page = calls.call(
                    LockServiceGrpc.getListBlockedMethod(),
                    ListBlockedRequest.newBuilder()
                            .setNamespace(calls.namespace())
                            .setDeadlockedOnly(deadlockedOnly)
                            .setPageToken(token)
                            .build());
            return new Pages.Page<>(
                    page.getBlockedList().stream().map(Convert::blocked).toList(), page.getNextPageToken());
        });
    }

    void release(String name, String sessionId, long token) throws InterruptedException {
        ReleaseRequest request = ReleaseRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setName(name)
                .setSessionId(sessionId)
                .setToken(token)
                .build();
        calls.call(LockServiceGrpc.getReleaseMethod(), request);
    }

    List<Claim> evict(String name, EvictOptions options) throws InterruptedException {
        EvictRequest request = EvictRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setName(name)
                .setToken(options.token())
                .setOperator(options.operator())
                .setNote(options.note())
                .build();
        // Without a token a second try could evict the next holder.
        var answer = calls.call(LockServiceGrpc.getEvictMethod(), request, options.token() != 0, Duration.ZERO);
        return answer.getEvictedList().stream().map(Convert::claim).toList();
    }

    Claim transfer(String name, TransferOptions options) throws InterruptedException {
        TransferRequest.Builder request = TransferRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setName(name)
                .setToken(options.token())
                .setToSessionId(options.to())
                .setOperator(options.operator())
                .setNote(options.note());
        Duration drain = options.drain();
        if (drain != null) {
            request.setDrain(Convert.toWire(drain));
        }
        Duration wait = drain == null ? LockSettings.Preempt.DEFAULT.drain() : drain;
        // Without a token a second try could make the next holder hand over.
        var answer = calls.call(LockServiceGrpc.getTransferMethod(), request.build(), options.token() != 0, wait);
        return Convert.claim(answer.getClaim());
    }

    long handOver(String name, String sessionId, long token, @Nullable String to) throws InterruptedException {
        TransferRequest request = TransferRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setName(name)
                .setToken(token)
                .setToSessionId(to == null ? "" : to)
                .setSessionId(sessionId)
                .build();
        return calls.call(LockServiceGrpc.getTransferMethod(), request).getToken();
    }

    LockInfo configure(String name, LockSettings settings, String operator, String note) throws InterruptedException {
        ConfigureLockRequest request = ConfigureLockRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setName(name)
                .setSettings(Convert.toWire(settings))
                .setOperator(operator)
                .setNote(note)
                .build();
        return Convert.lock(
                calls.call(LockServiceGrpc.getConfigureLockMethod(), request).getLock());
    }

    Claim update(String name, String sessionId, long token, Map<String, String> metadata) throws InterruptedException {
        UpdateClaimRequest request = UpdateClaimRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setName(name)
                .setSessionId(sessionId)
                .setToken(token)
                .putAllMetadata(metadata)
                .build();
        return Convert.claim(
                calls.call(LockServiceGrpc.getUpdateClaimMethod(), request).getClaim());
    }
}
