package io.tenure.client;

import java.util.Optional;
import java.util.concurrent.Flow;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** A watch as a publisher. Each subscriber has a watch of its own, which ends when it cancels, and a thread of the client. */
public final class WatchPublisher implements Flow.Publisher<WatchEvent> {
    private final TenureClient client;
    private final WatchOptions options;

    WatchPublisher(TenureClient client, WatchOptions options) {
        this.client = client;
        this.options = options;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super WatchEvent> subscriber) {
        Watch watch = client.watch(options);
        Semaphore demand = new Semaphore(0);
        Subscription subscription = new Subscription(watch, demand);
        subscriber.onSubscribe(subscription);
        client.link().callbacks().execute(() -> tell(subscriber, subscription));
    }

    private static void tell(Flow.Subscriber<? super WatchEvent> subscriber, Subscription subscription) {
        try (Watch watch = subscription.watch) {
            while (true) {
                subscription.demand.acquire();
                if (subscription.error != null) {
                    subscriber.onError(subscription.error);
                    return;
                }
                Optional<WatchEvent> item = watch.next();
                if (subscription.isCancelled) {
                    return;
                }
                if (item.isEmpty()) {
                    subscriber.onComplete();
                    return;
                }
                subscriber.onNext(item.get());
            }
        } catch (TenureException | InterruptedException error) {
            subscriber.onError(error);
        }
    }

    private static final class Subscription implements Flow.Subscription {
        private final Watch watch;
        private final Semaphore demand;
        private volatile boolean isCancelled;
        private volatile @Nullable IllegalArgumentException error;

        Subscription(Watch watch, Semaphore demand) {
            this.watch = watch;
            this.demand = demand;
        }

        @Override
        public void request(long count) {
            if (count <= 0) {
                error = new IllegalArgumentException("more than nothing is to be requested");
                demand.release();
            } else {
                demand.release((int) Math.min(count, Integer.MAX_VALUE / 2 - demand.availablePermits()));
            }
        }

        @Override
        public void cancel() {
            isCancelled = true;
            watch.close();
            demand.release();
        }
    }
}
