package io.tenure.examples;

import io.tenure.client.Attempt;
import io.tenure.client.LockRequest;
import io.tenure.client.TenureClient;
import java.time.Duration;

/** A job that starts on several hosts at once: one runs it, the others see which. */
public final class TryLock {
    private TryLock() {}

    public static void main(String[] arguments) throws Exception {
        String host = arguments.length > 0 ? arguments[0] : "host";
        try (TenureClient client = TenureClient.fromEnvironment()) {
            // The hosts' clocks may differ by some seconds, and the job is shorter than that.
            LockRequest job = client.lock("hourly-job").owner(host).minHold(Duration.ofSeconds(5));
            Attempt<Boolean> attempt = job.tryRun(hold -> {
                System.out.println("running token=" + hold.token());
                return true;
            });
            if (attempt instanceof Attempt.Busy<Boolean> busy) {
                System.out.println("busy holder="
                        + (busy.busy().hasHolder() ? busy.busy().getHolder().getOwner() : "unknown"));
            } else {
                System.out.println("done");
            }
        }
    }
}
