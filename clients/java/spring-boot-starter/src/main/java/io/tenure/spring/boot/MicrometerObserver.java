package io.tenure.spring.boot;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.tenure.client.LostReason;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Metrics: the gauges {@code tenure.locks.held}, {@code tenure.leading} and {@code tenure.campaign.refused} (0 or 1, by
 * {@code election}), the timer
 * {@code tenure.acquire} (by {@code outcome}: acquired, busy, failed), and the counter {@code tenure.losses} (by {@code reason}).
 */
final class MicrometerObserver implements TenureObserver {
    private final MeterRegistry registry;
    private final AtomicInteger held = new AtomicInteger();
    private final Map<String, AtomicInteger> gauges = new ConcurrentHashMap<>();

    MicrometerObserver(MeterRegistry registry) {
        this.registry = registry;
        Gauge.builder("tenure.locks.held", held, AtomicInteger::get).register(registry);
    }

    @Override
    public void asked(Outcome outcome, Duration took) {
        registry.timer("tenure.acquire", "outcome", outcome.name().toLowerCase(Locale.ROOT))
                .record(took);
    }

    @Override
    public void held(int more) {
        held.addAndGet(more);
    }

    @Override
    public void lost(LostReason reason) {
        registry.counter("tenure.losses", "reason", reason.kind().name().toLowerCase(Locale.ROOT))
                .increment();
    }

    @Override
    public void leading(String election, boolean leads) {
        gauge("tenure.leading", election).set(leads ? 1 : 0);
    }

    @Override
    public void refused(String election, boolean isRefused) {
        gauge("tenure.campaign.refused", election).set(isRefused ? 1 : 0);
    }

    private AtomicInteger gauge(String name, String election) {
        return gauges.computeIfAbsent(name + " " + election, added -> {
            AtomicInteger gauge = new AtomicInteger();
            Gauge.builder(name, gauge, AtomicInteger::get)
                    .tag("election", election)
                    .register(registry);
            return gauge;
        });
    }
}
