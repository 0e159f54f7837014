package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.Group;
import io.tenure.client.GroupRequest;
import io.tenure.client.Membership;
import io.tenure.client.Standing;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Groups. */
final class Groups {
    private final Clients clients;
    private final Named<Member> members = new Named<>("member");

    Groups(Clients clients) {
        this.clients = clients;
    }

    /** A member: joined once, or taking part for ever. */
    private interface Member {
        Standing standing() throws InterruptedException;

        Standing await(Predicate<Standing> so) throws InterruptedException;

        Membership membership();

        void leave() throws InterruptedException;
    }

    private record Joined(Membership membership) implements Member {
        @Override
        public Standing standing() {
            return membership.standing();
        }

        @Override
        public Standing await(Predicate<Standing> so) throws InterruptedException {
            return membership.await(so);
        }

        @Override
        public void leave() throws InterruptedException {
            membership.leave();
        }
    }

    /** Takes part on a thread of its own. */
    private static final class TakingPart implements Member {
        private @Nullable Standing last;
        private @Nullable Thread thread;

        void start(GroupRequest group) {
            Thread member = new Thread(
                    () -> {
                        try {
                            group.takePart(now -> now.assign((place, of) -> String.valueOf(place + 1)), this::told);
                        } catch (InterruptedException left) {
                            Thread.currentThread().interrupt();
                        }
                    },
                    "member");
            member.setDaemon(true);
            thread = member;
            member.start();
        }

        private synchronized void told(Standing standing) {
            last = standing;
            notifyAll();
        }

        @Override
        public Standing standing() throws InterruptedException {
            return await(any -> true);
        }

        @Override
        public synchronized Standing await(Predicate<Standing> so) throws InterruptedException {
            while (last == null || !so.test(last)) {
                wait();
            }
            return last;
        }

        @Override
        public Membership membership() {
            throw new IllegalArgumentException("this member assigns by itself");
        }

        @Override
        public void leave() throws InterruptedException {
            if (thread != null) {
                thread.interrupt();
                thread.join();
            }
        }
    }

    void addTo(Map<String, Requests.Request> known) {
        known.put("join", this::join);
        known.put("standing", fields -> Json.standing(members.get(fields).standing()));
        known.put("await_standing", this::awaitStanding);
        known.put("assign", this::assign);
        known.put("leave", fields -> {
            members.get(fields).leave();
            return new JsonObject();
        });
        known.put("take_part", fields -> {
            TakingPart member = new TakingPart();
            members.put(fields, member);
            member.start(request(fields));
            return new JsonObject();
        });
        known.put("configure_group", this::configure);
        known.put("get_group", fields -> {
            JsonObject answer = new JsonObject();
            answer.add("group", Json.group(clients.clients.get(fields).getGroup(fields.text("group"))));
            return answer;
        });
    }

    private GroupRequest request(Fields fields) {
        GroupRequest request = fields.has("session")
                ? clients.sessions.get(fields).group(fields.text("group"))
                : clients.clients.get(fields).group(fields.text("group")).session(fields.session(false));
        return fields.has("metadata") ? request.metadata(fields.labels("metadata")) : request;
    }

    private JsonObject join(Fields fields) throws InterruptedException {
        Membership membership = request(fields).join();
        members.put(fields, new Joined(membership));
        Standing standing = membership.standing();
        return Json.object(
                "number", membership.number(),
                "session_id", membership.session().id(),
                "leads", standing.leads(),
                "token", standing.token());
    }

    private JsonObject awaitStanding(Fields fields) throws InterruptedException {
        Predicate<Standing> so = standing -> (!fields.has("leads") || standing.leads() == fields.flag("leads"))
                && (!fields.has("assignment")
                        || fields.text("assignment")
                                .equals(standing.assignment().orElse(null)))
                && (!fields.has("current") || standing.isCurrent() == fields.flag("current"))
                && (!fields.has("member_count") || standing.group().members().size() == fields.number("member_count"));
        return Json.standing(members.get(fields).await(so));
    }

    private JsonObject assign(Fields fields) throws InterruptedException {
        Membership membership = members.get(fields).membership();
        List<String> assignments = fields.texts("assignments");
        Group group = membership.standing().group();
        if (assignments.size() != group.members().size()) {
            throw new IllegalArgumentException("there are " + group.members().size() + " members");
        }
        long revision = membership.assign(group, group.assign((place, member) -> assignments.get(place)));
        return Json.object("revision", revision);
    }

    private JsonObject configure(Fields fields) throws InterruptedException {
        Long expected = fields.has("expected_revision") ? Long.valueOf(fields.number("expected_revision")) : null;
        long revision =
                clients.clients.get(fields).configureGroup(fields.text("group"), fields.optional("config"), expected);
        return Json.object("config_revision", revision);
    }
}
