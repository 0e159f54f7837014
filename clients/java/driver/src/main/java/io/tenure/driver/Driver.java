package io.tenure.driver;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.tenure.client.TenureException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;

/** Reads requests, one a line, and writes answers as they are ready. */
public final class Driver {
    private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

    private final PrintStream output;
    private final Requests requests = new Requests();
    private final Map<Long, Thread> underWay = new ConcurrentHashMap<>();

    private Driver(PrintStream output) {
        this.output = output;
    }

    /** Runs until its input ends. */
    public static void main(String[] arguments) throws IOException {
        Driver driver = new Driver(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                driver.take(JsonParser.parseString(line).getAsJsonObject());
            }
        }
        // Without closing anything.
        Runtime.getRuntime().halt(0);
    }

    private void take(JsonObject request) {
        long id = request.get("id").getAsLong();
        if ("cancel".equals(request.get("do").getAsString())) {
            Thread cancelled = underWay.get(request.get("request").getAsLong());
            if (cancelled != null) {
                cancelled.interrupt();
            }
            answer(id, "ok", new JsonObject());
            return;
        }
        Callable<JsonObject> rest = begin(new Fields(request));
        Thread thread = new Thread(() -> carryOut(id, rest), "request-" + id);
        thread.setDaemon(true);
        underWay.put(id, thread);
        thread.start();
    }

    private Callable<JsonObject> begin(Fields fields) {
        try {
            return requests.begin(fields);
        } catch (Exception error) {
            return () -> {
                throw error;
            };
        }
    }

    private void carryOut(long id, Callable<JsonObject> request) {
        try {
            answer(id, "ok", request.call());
        } catch (TenureException error) {
            answer(id, "error", Json.error(error));
        } catch (InterruptedException cancelled) {
            answer(id, "error", Json.error("cancelled", "it was cancelled"));
        } catch (Exception error) {
            answer(id, "error", Json.error("driver", String.valueOf(error)));
        } finally {
            underWay.remove(id);
        }
    }

    private void answer(long id, String kind, JsonObject what) {
        JsonObject answer = new JsonObject();
        answer.addProperty("id", id);
        answer.add(kind, what);
        output.println(GSON.toJson(answer));
    }
}
