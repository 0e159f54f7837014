package io.tenure.examples;

import io.tenure.client.Claim;
import io.tenure.client.LockRequest;
import io.tenure.client.Ran;
import io.tenure.client.TenureClient;
import java.time.Duration;

/** A job that starts on several hosts at once: one runs, the others are told who does. */
public final class TryLock {
    private TryLock() {}

    public static void main(String[] arguments) throws Exception {
        String host = arguments.length > 0 ? arguments[0] : "host";
        try (TenureClient client = TenureClient.fromEnvironment()) {
            // The hosts' clocks may differ by some seconds, and the job is shorter than that.
            LockRequest job = client.lock("hourly-job").owner(host).minHold(Duration.ofSeconds(5));
            Ran<Boolean> ran = job.tryRun(hold -> {
                System.out.println("running token=" + hold.token());
                return true;
            });
            if (ran instanceof Ran.Busy<Boolean> busy) {
                Claim holder = busy.holder();
                System.out.println("busy holder=" + (holder == null ? "somebody" : holder.owner()));
            } else {
                System.out.println("done");
            }
        }
    }
}
