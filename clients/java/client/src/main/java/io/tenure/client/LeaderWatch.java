package io.tenure.client;

import java.util.List;
import java.util.Optional;

/** Who leads, as it changes. For one reader. */
public final class LeaderWatch implements AutoCloseable {
    private final Watch watch;
    private final String name;
    private Optional<Election.Leader> leader = Optional.empty();
    private boolean hasTold;

    LeaderWatch(Watch watch, String name) {
        this.watch = watch;
        this.name = name;
    }

    /**
     * Who leads: at once, and then after the next change. Empty while nobody does.
     *
     * @throws TenureException.Closed after the watch or the client was closed
     */
    public Optional<Election.Leader> next() throws InterruptedException {
        while (true) {
            WatchEvent told = watch.next().orElseThrow(TenureException.Closed::new);
            Optional<Election.Leader> now = leader;
            if (told instanceof WatchEvent.Snapshot snapshot) {
                now = snapshot.locks().stream()
                        .filter(lock -> lock.name().equals(name))
                        .findFirst()
                        .flatMap(LockInfo::holder)
                        .map(Election.Leader::of);
            } else if (told instanceof WatchEvent.Events events) {
                now = after(events.events(), leader);
            } else {
                continue;
            }
            if (!hasTold || !now.equals(leader)) {
                hasTold = true;
                leader = now;
                return now;
            }
        }
    }

    static Optional<Election.Leader> after(List<LockEvent> events, Optional<Election.Leader> before) {
        Optional<Election.Leader> leader = before;
        for (LockEvent event : events) {
            Claim claim = event.claim();
            switch (event.kind()) {
                case GRANTED, TRANSFERRED, UPDATED ->
                    leader = Optional.ofNullable(claim).map(Election.Leader::of);
                case ENDED, LINGERING -> {
                    // The end of a waiter's claim changes nothing.
                    long token = claim == null ? 0 : claim.token();
                    leader = leader.filter(still -> still.token() != token && !event.vacant());
                }
                default -> {}
            }
        }
        return leader;
    }

    /** Ends it. */
    @Override
    public void close() {
        watch.close();
    }
}
