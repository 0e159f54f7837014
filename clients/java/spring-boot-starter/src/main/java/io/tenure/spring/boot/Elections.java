package io.tenure.spring.boot;

import io.tenure.client.SessionOptions;
import io.tenure.client.TenureClient;
import io.tenure.client.TenureException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.context.SmartLifecycle;

/** The elections in which this program is a candidate, from its start to its end. */
final class Elections implements SmartLifecycle {
    private final TenureClient client;
    private final SessionOptions session;
    private final LeaderMethods methods;
    private final TenureObserver observer;
    private final Map<String, Candidate> candidates = new TreeMap<>();
    private boolean isRunning;

    Elections(TenureClient client, SessionOptions session, LeaderMethods methods, TenureObserver observer) {
        this.client = client;
        this.session = session;
        this.methods = methods;
        this.observer = observer;
    }

    /** The candidate of an election, also of one whose methods were found late. */
    synchronized Candidate candidate(String name) {
        return candidates.computeIfAbsent(name, election -> {
            Candidate candidate = new Candidate(client.election(election).session(session), observer);
            if (isRunning) {
                candidate.start();
            }
            return candidate;
        });
    }

    /** Why campaigns are refused at present, by the names of the elections. */
    synchronized Map<String, String> refusals() {
        Map<String, String> refusals = new TreeMap<>();
        candidates.forEach((name, candidate) -> {
            TenureException refusal = candidate.refusal();
            if (refusal != null) {
                refusals.put(name, refusal.getMessage());
            }
        });
        return refusals;
    }

    @Override
    public synchronized void start() {
        isRunning = true;
        candidates.values().forEach(Candidate::start);
        methods.names().forEach(this::candidate);
    }

    @Override
    public void stop() {
        List<Candidate> stopped;
        synchronized (this) {
            isRunning = false;
            stopped = List.copyOf(candidates.values());
        }
        // What runs may call another method for leaders before it ends.
        stopped.forEach(Candidate::stop);
    }

    /** In the background: a method that ignores its interrupt keeps the program waiting no longer than Spring's own time-out. */
    @Override
    public void stop(Runnable stopped) {
        Thread stopping = new Thread(
                () -> {
                    stop();
                    stopped.run();
                },
                "tenure-elections-stop");
        stopping.setDaemon(true);
        stopping.start();
    }

    @Override
    public synchronized boolean isRunning() {
        return isRunning;
    }
}
