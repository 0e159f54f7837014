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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** Reads requests, one a line, and writes answers as they are ready. */
public final class Driver {
    private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

    private final PrintStream output;
    private final Requests requests = new Requests();
    private final Map<Long, Future<?>> underWay = new ConcurrentHashMap<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "request");
        thread.setDaemon(true);
        return thread;
    });

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
            Future<?> cancelled = underWay.get(request.get("request").getAsLong());
            if (cancelled != null) {
                cancelled.cancel(true);
            }
            answer(id, "ok", new JsonObject());
            return;
        }
        Fields fields = new Fields(request);
        requests.prepare(fields);
        FutureTask<Void> task = new FutureTask<>(() -> carryOut(id, fields), null);
        underWay.put(id, task);
        threads.execute(task);
    }

    private void carryOut(long id, Fields fields) {
        try {
            answer(id, "ok", requests.carryOut(fields.text("do"), fields));
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
