package io.tenure.driver;

import com.google.gson.JsonObject;
import io.tenure.client.GroupRequest;
import io.tenure.client.Membership;
import io.tenure.client.Messages;
import io.tenure.client.Standing;
import io.tenure.client.v1.Group;
import java.util.LinkedHashMap;
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

    /** A member: joined once, or taking part until it leaves. */
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
                            group.takePart(
                                    now -> Messages.assign(now, (place, of) -> String.valueOf(place + 1)),
                                    this::changed);
                        } catch (InterruptedException left) {
                            Thread.currentThread().interrupt();
                        }
                    },
                    "member");
            member.setDaemon(true);
            thread = member;
            member.start();
        }

        private synchronized void changed(Standing standing) {
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

    void addTo(Requests known) {
        known.add("join", this::join);
        known.add("standing", fields -> Json.standing(members.get(fields).standing()));
        known.add("await_standing", this::awaitStanding);
        known.add("assign", this::assign);
        known.add("leave", fields -> {
            members.get(fields).leave();
            return new JsonObject();
        });
        known.addOrdered("take_part", fields -> {
            TakingPart member = new TakingPart();
            members.put(fields, member);
            member.start(request(fields));
            return JsonObject::new;
        });
        known.add("configure_group", this::configure);
        known.add("get_group", fields -> {
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
        JsonObject answer = Json.object(
                "number", membership.number(),
                "session_id", membership.session().id(),
                "leads", standing.leads());
        Json.addToken(answer, standing.token());
        return answer;
    }

    private JsonObject awaitStanding(Fields fields) throws InterruptedException {
        Predicate<Standing> so = standing -> (!fields.has("leads") || standing.leads() == fields.flag("leads"))
                && (!fields.has("assignment")
                        || fields.text("assignment")
                                .equals(standing.assignment().orElse(null)))
                && (!fields.has("current") || standing.isCurrent() == fields.flag("current"))
                && (!fields.has("member_count") || standing.group().getMembersCount() == fields.number("member_count"));
        return Json.standing(members.get(fields).await(so));
    }

    private JsonObject assign(Fields fields) throws InterruptedException {
        Membership membership = members.get(fields).membership();
        List<String> assignments = fields.texts("assignments");
        Group group = membership.standing().group();
        Map<Long, String> byNumber = new LinkedHashMap<>();
        int places = Math.min(assignments.size(), group.getMembersCount());
        for (int place = 0; place < places; place++) {
            byNumber.put(group.getMembers(place).getNumber(), assignments.get(place));
        }
        membership.assign(group, byNumber);
        return new JsonObject();
    }

    private JsonObject configure(Fields fields) throws InterruptedException {
        Long expected = fields.has("expected_revision") ? Long.valueOf(fields.number("expected_revision")) : null;
        long revision =
                clients.clients.get(fields).configureGroup(fields.text("group"), fields.optional("config"), expected);
        return Json.object("config_revision", revision);
    }
}
