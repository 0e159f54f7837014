package io.tenure.examples.guides;

import io.tenure.client.Attempt;
import io.tenure.client.Guard;
import io.tenure.client.LockView;
import io.tenure.client.TenureClient;
import io.tenure.client.v1.EvictRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Lock;

/** What programs that used Redisson's locks do with Tenure: {@code clients/guides/from-redisson.md} has these lines. */
public final class FromRedisson {
    private FromRedisson() {}

    public static void main(String[] arguments) throws InterruptedException {
        try (TenureClient client = TenureClient.fromEnvironment()) {
            entered(client);
            fenced(client);
            limited(client);
            shared(client);
            several(client);
            looking(client);
        }
    }

    private static void entered(TenureClient client) {
        // snippet: lock
        Lock lock = client.lock("report").asLock();
        lock.lock();
        try {
            System.out.println("under the lock");
        } finally {
            lock.unlock();
        }
        // snippet end
    }

    private static void fenced(TenureClient client) throws InterruptedException {
        // snippet: guard
        try (Guard guard = client.lock("report").acquire()) {
            System.out.println("under the lock, token=" + guard.token());
        }
        // snippet end
        // snippet: within
        Attempt<Guard> attempt = client.lock("report").acquireWithin(Duration.ofSeconds(100));
        if (attempt instanceof Attempt.Acquired<Guard> acquired) {
            try (Guard guard = acquired.value()) {
                System.out.println("in time, valid=" + guard.isValid());
            }
        }
        // snippet end
    }

    private static void limited(TenureClient client) throws InterruptedException {
        try (Guard first = client.lock("pool").limit(2).acquire();
                Guard second = client.lock("pool").permits(1).acquire()) {
            System.out.println("two permits, and no third="
                    + client.lock("pool").permits(1).tryAcquire().acquired().isPresent());
        }
    }

    private static void shared(TenureClient client) {
        Lock reading = client.lock("book").shared().asLock();
        Lock writing = client.lock("book").asLock();
        reading.lock();
        System.out.println("read, and may write=" + writing.tryLock());
        reading.unlock();
    }

    private static void several(TenureClient client) throws InterruptedException {
        try (Guard both = client.locks(List.of("accounts", "ledger")).acquire()) {
            System.out.println("both=" + both.names());
        }
    }

    private static void looking(TenureClient client) throws InterruptedException {
        LockView view = client.lock("report").asLock();
        view.lock();
        System.out.println("mine=" + view.hold().isPresent() + " held="
                + !client.getLock("report").getHoldersList().isEmpty());
        client.evict(
                EvictRequest.newBuilder().setName("report").setOperator("me").build());
        System.out.println("held=" + !client.getLock("report").getHoldersList().isEmpty());
    }
}
