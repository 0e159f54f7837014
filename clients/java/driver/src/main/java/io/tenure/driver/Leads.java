package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.Election;
import io.tenure.client.Hold;
import io.tenure.client.v1.Claim;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Elections. */
final class Leads {
    private final Clients clients;
    private final Named<Lead> leads = new Named<>("election");

    Leads(Clients clients) {
        this.clients = clients;
    }

    /** A candidate whose body waits for the request to resign. */
    private static final class Lead {
        private @Nullable Exception error;
        private @Nullable Hold leadership;
        private long terms;
        private boolean resigns;
        private @Nullable Thread thread;

        void start(Election election) {
            Thread candidate = new Thread(() -> lead(election), "candidate");
            candidate.setDaemon(true);
            thread = candidate;
            candidate.start();
        }

        private void lead(Election election) {
            try {
                election.lead(this::body);
            } catch (Exception ended) {
                fail(ended);
            }
        }

        private synchronized void fail(Exception ended) {
            error = ended;
            notifyAll();
        }

        private synchronized void body(Hold hold) throws InterruptedException {
            leadership = hold;
            resigns = false;
            terms++;
            notifyAll();
            try {
                while (!resigns) {
                    wait();
                }
            } finally {
                leadership = null;
                notifyAll();
            }
        }

        synchronized void resign() {
            resigns = true;
            notifyAll();
        }

        synchronized JsonObject awaitLeading() throws Exception {
            while (leadership == null) {
                throwError();
                wait();
            }
            return Json.object("token", leadership.token(), "terms", terms);
        }

        synchronized JsonObject awaitNotLeading() throws InterruptedException {
            while (leadership != null) {
                wait();
            }
            return new JsonObject();
        }

        private void throwError() throws Exception {
            if (error != null) {
                throw error;
            }
        }

        JsonObject stop() throws InterruptedException {
            if (thread != null) {
                thread.interrupt();
                thread.join();
            }
            return new JsonObject();
        }
    }

    void addTo(Requests known) {
        known.addOrdered("lead", fields -> {
            Election election =
                    clients.clients.get(fields).election(fields.text("name")).session(fields.session(false));
            leads.put(fields, new Lead()).start(election);
            return JsonObject::new;
        });
        known.add("await_leading", fields -> leads.get(fields).awaitLeading());
        known.add("await_not_leading", fields -> leads.get(fields).awaitNotLeading());
        known.add("resign", fields -> {
            leads.get(fields).resign();
            return new JsonObject();
        });
        known.add("stop", fields -> leads.get(fields).stop());
        known.add("leader", this::leader);
    }

    private JsonObject leader(Fields fields) throws InterruptedException {
        Optional<Claim> leader =
                clients.clients.get(fields).election(fields.text("name")).leader();
        return Json.leader(leader);
    }
}
