package io.tenure.client.internal.link;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.tenure.client.TenureException;
import io.tenure.client.internal.Backoff;
import io.tenure.client.internal.Clock;
import io.tenure.client.internal.engine.Trouble;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Plain calls to the server that the stream is connected to, tried again elsewhere until their deadlines. */
final class PlainCalls {
    private final Loop loop;
    private final Clock clock;
    private final Set<Trying<?, ?>> tried = new LinkedHashSet<>();
    private @Nullable Channel channel;
    private Trouble trouble = Trouble.unreachable("not connected yet");
    private boolean isEnded;

    PlainCalls(Loop loop, Clock clock) {
        this.loop = loop;
        this.clock = clock;
    }

    <Q, A> void start(PlainCall<Q, A> call) {
        if (isEnded) {
            call.answer().completeExceptionally(new TenureException.Closed());
            return;
        }
        Trying<Q, A> trying = new Trying<>(call);
        tried.add(trying);
        trying.deadline = loop.later(
                Clock.since(call.deadline(), clock.now()),
                () -> trying.fail(
                        channel == null
                                ? trouble.error()
                                : new TenureException.Unavailable("the server did not answer")));
        trying.send();
    }

    /** Connected, over this. */
    void up(Channel connected) {
        channel = connected;
        List.copyOf(tried).forEach(Trying::lineChanged);
    }

    /** Not connected, and why. */
    void down(Trouble why) {
        channel = null;
        trouble = why;
        List.copyOf(tried).forEach(Trying::lineChanged);
    }

    void end() {
        isEnded = true;
        List.copyOf(tried).forEach(trying -> trying.fail(new TenureException.Closed()));
    }

    /** One call, until it is answered. */
    private final class Trying<Q, A> {
        private final PlainCall<Q, A> call;
        private final Backoff backoff = Backoff.ofCalls();
        /** Tells the answers of one try from those of another. */
        private int number;

        private @Nullable ClientCall<Q, A> sent;
        private @Nullable ScheduledFuture<?> deadline;
        private boolean isPausing;

        Trying(PlainCall<Q, A> call) {
            this.call = call;
        }

        void send() {
            isPausing = false;
            if (sent != null || !tried.contains(this)) {
                return;
            }
            if (channel == null) {
                if (trouble.refusal() != null) {
                    fail(trouble.error());
                }
                return;
            }
            long left = Clock.since(call.deadline(), clock.now());
            ClientCall<Q, A> next = channel.newCall(
                    call.method(), CallOptions.DEFAULT.withDeadlineAfter(Math.max(left, 1), TimeUnit.NANOSECONDS));
            sent = next;
            int current = ++number;
            ClientCalls.asyncUnaryCall(next, call.request(), new StreamObserver<>() {
                @Override
                public void onNext(A answer) {
                    loop.execute(() -> succeed(current, answer));
                }

                @Override
                public void onError(Throwable error) {
                    loop.execute(() -> failed(current, Refusals.error(error)));
                }

                @Override
                public void onCompleted() {
                    // The answer has told.
                }
            });
        }

        /** The stream has noticed that the server is gone, or there is another: no need to wait for this call's deadline. */
        void lineChanged() {
            if (sent != null && call.isSafe()) {
                number++;
                sent.cancel("asked again elsewhere", null);
                sent = null;
            }
            if (!isPausing) {
                send();
            }
        }

        private void succeed(int current, A answer) {
            if (current == number && finish()) {
                call.answer().complete(answer);
            }
        }

        private void failed(int current, TenureException error) {
            if (current != number) {
                return;
            }
            sent = null;
            boolean again = error instanceof TenureException.Refused
                    ? error.isTransient()
                    : call.isSafe() && error.isTransient();
            long pause = backoff.next();
            if (!again || clock.now() + pause >= call.deadline()) {
                fail(error);
            } else {
                isPausing = true;
                loop.later(pause, this::send);
            }
        }

        void fail(TenureException error) {
            if (finish()) {
                if (sent != null) {
                    sent.cancel("given up", null);
                }
                call.answer().completeExceptionally(error);
            }
        }

        private boolean finish() {
            if (deadline != null) {
                deadline.cancel(false);
            }
            return tried.remove(this);
        }
    }
}
