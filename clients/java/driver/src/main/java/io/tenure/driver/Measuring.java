package io.tenure.driver;

import com.google.gson.JsonObject;
import com.google.protobuf.Empty;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.tenure.client.Guard;
import io.tenure.client.Session;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/** Times of acquires and releases, beside those of plain calls. */
final class Measuring {
    /** The first calls on a channel take longer: so many are not measured. */
    private static final int WARM_UP = 20;
    /** Without generated code: an empty request has no bytes in any message, and the response is not read. */
    private static final MethodDescriptor<Empty, Empty> CHECK = MethodDescriptor.<Empty, Empty>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("grpc.health.v1.Health/Check")
            .setRequestMarshaller(ProtoUtils.marshaller(Empty.getDefaultInstance()))
            .setResponseMarshaller(ProtoUtils.marshaller(Empty.getDefaultInstance()))
            .build();

    private final Clients clients;

    Measuring(Clients clients) {
        this.clients = clients;
    }

    void addTo(Requests known) {
        known.add("measure", this::measure);
        known.add("hold_many", this::holdMany);
    }

    private JsonObject measure(Fields fields) throws InterruptedException {
        Session session = clients.sessions.get(fields);
        List<Long> pairs = new ArrayList<>();
        List<Long> calls = new ArrayList<>();
        ManagedChannel channel = Grpc.newChannelBuilder(
                        fields.text("endpoint").replaceFirst("^http://", ""), InsecureChannelCredentials.create())
                .build();
        try {
            for (int call = 0; call < WARM_UP; call++) {
                check(channel);
            }
            for (long turn = 0; turn < fields.number("turns"); turn++) {
                long start = System.nanoTime();
                session.lock("measured").acquire().release();
                pairs.add(microsSince(start));
                start = System.nanoTime();
                check(channel);
                calls.add(microsSince(start));
            }
        } finally {
            channel.shutdown();
        }
        return Json.object("pairs_us", pairs, "calls_us", calls);
    }

    private static void check(ManagedChannel channel) {
        ClientCalls.blockingUnaryCall(channel, CHECK, CallOptions.DEFAULT, Empty.getDefaultInstance());
    }

    private JsonObject holdMany(Fields fields) throws InterruptedException {
        Session session = clients.sessions.get(fields);
        long start = System.nanoTime();
        List<Guard> guards = all(LongStream.range(0, fields.number("count"))
                .mapToObj(number -> session.lock("many-" + number).acquireAsync())
                .toList());
        long held = microsSince(start);
        start = System.nanoTime();
        all(guards.stream().map(Guard::releaseAsync).toList());
        return Json.object("held_us", held, "released_us", microsSince(start));
    }

    private static <T> List<T> all(List<CompletableFuture<T>> answers) throws InterruptedException {
        List<T> all = new ArrayList<>();
        for (CompletableFuture<T> answer : answers) {
            all.add(Waiting.on(answer));
        }
        return all;
    }

    private static long microsSince(long start) {
        return TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - start);
    }
}
