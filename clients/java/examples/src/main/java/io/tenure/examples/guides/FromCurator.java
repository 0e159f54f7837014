package io.tenure.examples.guides;

import io.tenure.client.Election;
import io.tenure.client.Guard;
import io.tenure.client.Hold;
import io.tenure.client.Session;
import io.tenure.client.SessionOptions;
import io.tenure.client.SessionState;
import io.tenure.client.TenureClient;
import io.tenure.client.Watch;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;

/** What programs that used Curator's recipes do with Tenure: {@code clients/guides/from-curator.md} has these lines. */
public final class FromCurator {
    private FromCurator() {}

    /** With {@code lead} as the argument it leads until it is killed; else it goes through everything else once. */
    public static void main(String[] arguments) throws Exception {
        try (TenureClient client = TenureClient.fromEnvironment()) {
            if (arguments.length > 0 && arguments[0].equals("lead")) {
                lead(client);
            }
            latch(client);
            mutex(client);
            states(client);
            changes(client);
        }
    }

    private static void lead(TenureClient client) throws Exception {
        // snippet: selector
        Election election =
                client.election("service").ttl(Duration.ofSeconds(2)).metadata("address", "10.0.0.1:8080");
        election.lead(leadership -> serve(leadership));
        // snippet end
    }

    private static void serve(Hold leadership) throws InterruptedException {
        System.out.println("serving token=" + leadership.token());
        // Until it is interrupted, or killed.
        new CountDownLatch(1).await();
    }

    private static void latch(TenureClient client) throws InterruptedException {
        // snippet: latch
        Election election = client.election("latch").owner("me");
        try (Guard leadership = election.campaign()) {
            System.out.println("leader, token=" + leadership.token());
            leadership.lost().thenRun(() -> System.out.println("not leader any more"));
            System.out.println("who leads=" + election.leader().orElseThrow().getOwner());
        }
        // snippet end
    }

    private static void mutex(TenureClient client) throws InterruptedException {
        // snippet: mutex
        Lock mutex = client.lock("locks/report").asLock();
        mutex.lock();
        try {
            System.out.println("under the lock");
        } finally {
            mutex.unlock();
        }
        // snippet end
        try (Guard leases = client.lock("locks/pool").limit(5).acquire();
                Guard reader = client.lock("locks/book").shared().acquire();
                Guard both = client.locks(List.of("locks/a", "locks/b")).acquire()) {
            System.out.println("held=" + (leases.isValid() && reader.isValid() && both.isValid()));
        }
    }

    private static void states(TenureClient client) throws InterruptedException {
        // snippet: states
        try (Session session = client.session(
                SessionOptions.defaults().ttl(Duration.ofSeconds(5)).owner("me"))) {
            session.onState(state -> System.out.println("at risk=" + (state == SessionState.AT_RISK)));
            session.lost().thenAccept(reason -> System.out.println("lost: " + reason));
        }
        // snippet end
    }

    private static void changes(TenureClient client) throws InterruptedException {
        // snippet: watch
        WatchRequest request = WatchRequest.newBuilder().addPrefixes("locks/").build();
        try (Watch<WatchResponse> watch = client.watch(request)) {
            System.out.println("begins with a snapshot=" + watch.next().hasSnapshot());
        }
        // snippet end
    }
}
