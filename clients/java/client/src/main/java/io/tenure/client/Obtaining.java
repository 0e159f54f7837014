package io.tenure.client;

import io.tenure.client.protocol.Protocol;
import io.tenure.client.protocol.Status;
import io.tenure.client.transport.Backoff;
import io.tenure.client.transport.Clock;
import io.tenure.client.transport.Connection;
import io.tenure.client.v1.BusyState;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.ErrorReason;
import io.tenure.client.v1.Refusal;
import io.tenure.client.v1.WaitingState;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Declares a session, a claim or a membership, and waits for what becomes of it. Cancelling this withdraws it, whatever reply is under
 * way. Runs on the connection's thread; what depends on it runs as a callback.
 */
final class Obtaining<T> extends CompletableFuture<T> {
    /** No deadline. */
    private static final long NEVER = Long.MAX_VALUE;

    private final Target target;
    private final Connection connection;
    private final Declaration declaration;
    private final @Nullable Progress progress;
    private final BiFunction<Part, Long, T> acquired;
    private final Function<BusyState, T> busy;
    private final Backoff backoff = Backoff.ofCalls();
    private final Runnable listener = this::look;
    /** By {@link System#nanoTime}: if it is in the queue, it waits until then. */
    private final long until;
    /** If nothing is known of it, it waits until then. */
    private final long reply;

    private @Nullable Part part;
    private Future<?> timer = CompletableFuture.completedFuture(null);
    /** Whether its outcome is known. */
    private boolean isSettled;

    /**
     * Begins.
     *
     * @param progress the renewal of its session depends on this
     * @param wait how long to wait in the queue; null: for as long as it takes
     * @param acquired makes the result, with the fencing token or the member's number
     * @param busy makes the result if the locks are not free
     */
    Obtaining(
            Target target,
            Declaration declaration,
            @Nullable Progress progress,
            @Nullable Duration wait,
            BiFunction<Part, Long, T> acquired,
            Function<BusyState, T> busy) {
        this.target = target;
        this.connection = target.connection();
        this.declaration = declaration;
        this.progress = progress;
        this.acquired = acquired;
        this.busy = busy;
        long now = System.nanoTime();
        until = wait == null ? NEVER : now + Connection.nanos(wait);
        // In a session that exists, a wait without an end may also wait for a server.
        boolean hasLimit = wait != null || target.session() == null;
        reply = hasLimit ? now + connection.callNanos(wait == null ? Duration.ZERO : wait) : NEVER;
        begin();
    }

    private void begin() {
        if (!connection.change(this::declare)) {
            completeExceptionally(new TenureException.Closed());
        }
    }

    private void declare(Protocol protocol) {
        if (isDone()) {
            return;
        }
        try {
            part = target.declare(protocol, declaration, progress);
        } catch (TenureException error) {
            fail(error);
            return;
        }
        isSettled = false;
        part.session().presence().listen(listener);
        part.presence().listen(listener);
        setTimer();
    }

    private void setTimer() {
        long now = System.nanoTime();
        long next =
                LongStream.of(until, reply).filter(moment -> moment > now).min().orElse(NEVER);
        if (!isSettled && next != NEVER) {
            timer = connection.later(next - now, () -> {
                look();
                setTimer();
            });
        }
    }

    /** After each change, and at each deadline. */
    private void look() {
        Part declared = part;
        if (isSettled || declared == null || isDone()) {
            return;
        }
        Status status = declared.presence().status();
        boolean hasSessionEnded = declared.session().presence().status() instanceof Status.End;
        if (hasSessionEnded && !(status instanceof Status.End)) {
            // Its own end follows at once, and has the result.
            return;
        }
        Long granted = granted(status);
        LostReason lost = declared.presence().lostReason(Clock.now());
        if (status instanceof Status.Busy end) {
            settleBusy(declared, end.busy());
        } else if (status instanceof Status.Rejected end) {
            fail(declared, new TenureException.Refused(end.refusal()));
        } else if (status instanceof Status.Lost end
                && end.reason().kind() == LostReason.Kind.ENDED
                && declared.session().isValid()) {
            fail(declared, claimEnded(declared, end.reason()));
        } else if (lost != null) {
            fail(declared, new TenureException.Lost(lost));
        } else if (granted != null && declared.presence().validity() != null) {
            settled(declared);
            finish(() -> acquired.apply(declared, granted));
        } else if (status instanceof Status.Waiting waiting && until <= System.nanoTime()) {
            settleBusy(declared, busy(waiting.state()));
        } else if (!(status instanceof Status.Waiting) && reply <= System.nanoTime()) {
            fail(declared, connection.unanswered());
        }
    }

    private static @Nullable Long granted(Status status) {
        if (status instanceof Status.Held held) {
            return held.state().getToken();
        }
        if (status instanceof Status.Joined joined) {
            return joined.member();
        }
        return status instanceof Status.Open ? Long.valueOf(0) : null;
    }

    private static BusyState busy(WaitingState waiting) {
        return waiting.hasHolder()
                ? BusyState.newBuilder().setHolder(waiting.getHolder()).build()
                : BusyState.getDefaultInstance();
    }

    private void settleBusy(Part declared, BusyState state) {
        settled(declared);
        declared.withdraw();
        // Not needed for the outcome: but when the caller reads the queue, it has left.
        connection.end(declared.presence()).whenComplete((end, late) -> finish(() -> busy.apply(state)));
    }

    /** Makes another attempt if it was a temporary rejection. */
    private void fail(Part declared, TenureException error) {
        settled(declared);
        declared.withdraw();
        long pause = backoff.next();
        boolean isTemporary =
                error instanceof TenureException.Refused refused && (refused.isTransient() || isLate(refused));
        if (isTemporary && System.nanoTime() + pause < reply) {
            timer = connection.later(pause, this::begin);
        } else {
            fail(error);
        }
    }

    private void fail(TenureException error) {
        finish(() -> {
            throw error;
        });
    }

    /** A claim ends if the client reconnects too late; the caller still waits for the locks. */
    private static boolean isLate(TenureException.Refused refused) {
        return refused.reason() == ErrorReason.ERROR_REASON_CLAIM_ENDED
                && "disconnected".equals(refused.refusal().getMetadataMap().get("end_reason"));
    }

    /** The error of a claim that ended while it waited. */
    private static TenureException.Refused claimEnded(Part declared, LostReason reason) {
        String word =
                reason.ended().getReason().name().replace("END_REASON_", "").toLowerCase(Locale.ROOT);
        return new TenureException.Refused(Refusal.newBuilder()
                .setReason("CLAIM_ENDED")
                .setMessage("the claim ended while it waited: " + word)
                .putMetadata("session_id", declared.session().id())
                .putMetadata("end_reason", word)
                .build());
    }

    private void settled(Part declared) {
        isSettled = true;
        declared.presence().forget(listener);
        declared.session().presence().forget(listener);
        timer.cancel(false);
    }

    private void finish(Supplier<T> result) {
        Part declared = part;
        Connection.CALLBACKS.execute(() -> {
            try {
                if (!complete(result.get()) && declared != null) {
                    declared.withdraw();
                }
            } catch (TenureException error) {
                completeExceptionally(error);
            }
        });
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
        boolean isFirst = super.cancel(mayInterrupt);
        if (isFirst) {
            connection.change(protocol -> {
                if (part != null) {
                    settled(part);
                    part.withdraw();
                }
            });
        }
        return isFirst;
    }

    /**
     * Waits for a result. Interrupted, it cancels the request, unless the result has come at the same moment: that is not lost, and the
     * next wait of this thread is interrupted.
     */
    static <R> R await(CompletableFuture<R> result) throws InterruptedException {
        try {
            return result.get();
        } catch (InterruptedException interrupted) {
            if (result.cancel(false) || result.isCompletedExceptionally()) {
                throw interrupted;
            }
            Thread.currentThread().interrupt();
            return result.join();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof TenureException known) {
                // Of the thread that completed it: where it was requested is of more use.
                known.setStackTrace(new Throwable().getStackTrace());
                throw known;
            }
            throw new IllegalStateException(error.getCause());
        }
    }
}
