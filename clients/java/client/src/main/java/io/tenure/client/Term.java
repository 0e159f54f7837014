package io.tenure.client;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** One term of leading: runs the work until it ends, the leadership is lost, or has to be handed over; then resigns. */
final class Term {
    private static final Logger LOG = System.getLogger(Term.class.getName());

    private Term() {}

    static void run(Guard term, Election.Work work) throws Exception {
        Interrupter interrupter = new Interrupter(Thread.currentThread());
        Runnable listener = () -> {
            TransferRequest handoff = term.transferRequest();
            if (term.lostReason() != null) {
                interrupter.fire();
            } else if (handoff != null) {
                fireAfter(handoff.remaining(), interrupter);
            }
        };
        term.presence().listen(listener);
        try {
            work.run(term.hold());
        } catch (Exception error) {
            // An error in what was interrupted is how it ends.
            if (!interrupter.disarm()) {
                throw error;
            }
        } finally {
            interrupter.disarm();
            term.presence().forget(listener);
            LostReason lost = term.lostReason();
            if (lost != null) {
                LOG.log(Level.WARNING, "the leadership of {0} is lost: {1}", term.names(), lost);
            }
            term.close();
        }
    }

    private static void fireAfter(Duration pause, Interrupter interrupter) {
        CompletableFuture.delayedExecutor(pause.toNanos(), TimeUnit.NANOSECONDS).execute(interrupter::fire);
    }
}
