package io.tenure.examples;

import io.tenure.client.Claim;
import io.tenure.client.EndReason;
import io.tenure.client.LockEvent;
import io.tenure.client.LockInfo;
import io.tenure.client.TenureClient;
import io.tenure.client.WatchEvent;
import io.tenure.client.WatchOptions;

/** Prints who holds what, as it changes. */
public final class Watch {
    private Watch() {}

    public static void main(String[] arguments) {
        String prefix = arguments.length > 0 ? arguments[0] : "";
        TenureClient client = TenureClient.fromEnvironment();
        for (WatchEvent told : client.watch(WatchOptions.ofPrefix(prefix))) {
            if (told instanceof WatchEvent.Snapshot snapshot) {
                System.out.println("snapshot revision=" + snapshot.revision());
                snapshot.locks().forEach(Watch::print);
            } else if (told instanceof WatchEvent.Events events) {
                events.events().forEach(Watch::print);
            } else if (told instanceof WatchEvent.HistoryGone gone) {
                System.out.println("history is gone: " + gone.cause());
            }
        }
    }

    private static void print(LockInfo lock) {
        String holder = lock.holder().map(Claim::owner).orElse("nobody");
        System.out.println("lock name=" + lock.name() + " holder=" + holder + " waiters=" + lock.waiterCount());
    }

    private static void print(LockEvent event) {
        Claim claim = event.claim();
        EndReason reason = event.endReason();
        System.out.println(event.kind() + " name=" + event.name() + " revision=" + event.revision() + " owner="
                + (claim == null ? "" : claim.owner()) + " " + (reason == null ? "" : reason)
                + (event.vacant() ? " vacant" : ""));
    }
}
