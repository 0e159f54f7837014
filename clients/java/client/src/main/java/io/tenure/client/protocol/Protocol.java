package io.tenure.client.protocol;

import io.tenure.client.LostReason;
import io.tenure.client.v1.Change;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.ConnectResponse;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.Hello;
import io.tenure.client.v1.Refusal;
import io.tenure.client.v1.State;
import io.tenure.client.v1.Welcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The table of what a client declares, and its current stream.
 *
 * <p>Every stream begins with a Hello that states everything, so a lost message, a lost stream and a first connection are one code path:
 * what the server has not confirmed is stated again, and what is not stated ends there. A number is declared once, and its item remains
 * in the table until the server has reported its end.
 *
 * <p>Relies on the order of messages within a stream. For one thread. Times are in nanoseconds.
 */
public final class Protocol {
    /** Rejections by which a server reports its own state ... */
    private static final Set<String> OF_THE_SERVER = Set.of("DRAINING", "LEASE_LOST");
    /** ... and those that another server need not make. */
    private static final Set<String> TEMPORARY = Set.of("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN");

    /**
     * The most bytes of declarations that are sent and not confirmed, but for the last one. A Hello repeats them, within the contract's
     * bound of 1 MiB.
     */
    private static final int UNCONFIRMED_BYTES = 900_000;

    private final String namespace;
    private String clientId;
    private long epoch;
    private long lastNumber;
    /** What has a higher number is not known to any server. */
    private long lastSent;

    private final Items table = new Items();
    private final Renewals renewals = new Renewals(table);

    /** A client without anything. The id is random, and used by this program only. */
    public Protocol(String namespace, String clientId) {
        this.namespace = namespace;
        this.clientId = clientId;
    }

    /**
     * Declares a session, or a claim or a membership in one, or both together: the declaration has one part at most, and needs no numbers.
     * Returns the part, if there is one.
     *
     * @param existing null: the declaration opens a session
     * @param sessionStalls whether there is no progress at a time, given since when it is needed: a session that is opened is not renewed
     *     then. Null: it is renewed in any case
     * @param partStalls the same for the part, once it is held
     */
    public Presence declare(
            @Nullable Presence existing,
            Declaration declaration,
            @Nullable BiPredicate<Long, Long> sessionStalls,
            @Nullable BiPredicate<Long, Long> partStalls,
            long now) {
        long first = lastNumber + 1;
        Declaration.Builder open = Declaration.newBuilder().setOpen(declaration.getOpen());
        Presence session = existing == null ? add(null, first, open, sessionStalls) : existing;
        Presence declared = session;
        if (declaration.getClaimsCount() + declaration.getMembershipsCount() > 0) {
            declared = add(session, first, declaration.toBuilder().clearOpen(), partStalls);
        }
        if (table.items.get(session.number) == session && !session.isWithdrawn()) {
            sendUnsent(now);
        } else {
            table.end(declared, new Status.Lost(LostReason.of(LostReason.Kind.FORGOTTEN)), now);
        }
        return declared;
    }

    private Presence add(
            @Nullable Presence session,
            long first,
            Declaration.Builder declared,
            @Nullable BiPredicate<Long, Long> stalls) {
        lastNumber++;
        declared.setSession(session == null ? lastNumber : session.number);
        declared.getClaimsBuilderList().forEach(claim -> claim.setNumber(lastNumber));
        declared.getMembershipsBuilderList().forEach(membership -> membership.setNumber(lastNumber));
        Presence item = new Presence(lastNumber, session, stalls, first, declared.build());
        table.items.put(item.number, item);
        if (session != null) {
            session.parts.add(item);
        }
        if (stalls != null) {
            table.needy.add(item);
        }
        return item;
    }

    /** Declares what no server knows yet, as far as the bound on what is unconfirmed allows. */
    private void sendUnsent(long now) {
        List<Presence> sending = new ArrayList<>();
        for (Presence item : table.items.tailMap(lastSent, false).values()) {
            boolean isFirst = item.declaration == item.number;
            if (table.stream == null || (isFirst && table.unconfirmed >= UNCONFIRMED_BYTES)) {
                break;
            }
            lastSent = item.number;
            if (!item.isWithdrawn()) {
                item.sent = now;
                item.unconfirmed = item.declared.getSerializedSize();
                table.unconfirmed += item.unconfirmed;
                sending.add(item);
            }
        }
        Stream.declarations(sending)
                .forEach(all -> table.send(Change.newBuilder().setDeclare(all), now));
    }

    /** No longer wants this, nor what is in it. */
    public void withdraw(Presence item, long now) {
        if (table.items.get(item.number) != item || item.isWithdrawn()) {
            return;
        }
        if (item.number > lastSent) {
            table.end(item, new Status.Confirmed(), now);
            return;
        }
        // First, so that what is in a session is lost because that was closed.
        setWithdrawn(item, now);
        item.parts.forEach(part -> setWithdrawn(part, now));
        table.send(Change.newBuilder().setWithdraw(item.number), now);
    }

    private void setWithdrawn(Presence item, long now) {
        if (!item.isWithdrawn()) {
            table.needy.remove(item);
            item.set(new Status.Withdrawn(epoch), now);
        }
    }

    /** Withdraws everything. */
    public void withdrawAll(long now) {
        table.found(Presence::isSession).forEach(session -> withdraw(session, now));
    }

    /** Whether there is nothing any more. */
    public boolean isEmpty() {
        return table.items.isEmpty();
    }

    /** A stream was opened: the current one from now on, on which everything is stated. Returns its epoch. */
    public long handleConnected(long now) {
        renewals.expire(now);
        // Because a Hello renews the sessions that are not paused.
        renewals.checkProgress(now);
        epoch++;
        Stream stream = new Stream(epoch, renewals.addHello(now), now);
        Hello.Builder hello = Hello.newBuilder().setNamespace(namespace).setClientId(clientId);
        stream.sendHello(
                hello.setEpoch(epoch).build(), table.found(item -> item.isStated() && item.number <= lastSent));
        table.stream = stream;
        renewals.plan(now);
        // What a Hello cannot state: that what is known was withdrawn. A closed session takes with it what is in it.
        table.found(item -> item.isWithdrawn() && item.isStated()).stream()
                .filter(item -> item.isSession() || !item.session.isWithdrawn())
                .forEach(item -> table.send(Change.newBuilder().setWithdraw(item.number), now));
        sendUnsent(now);
        return epoch;
    }

    /** The stream of this epoch is gone. No effect if there is a later one. */
    public void handleDisconnected(long ofEpoch) {
        if (epoch == ofEpoch) {
            table.stream = null;
        }
    }

    /**
     * The stream of this epoch was ended because the client has connected again. If it has not, another program uses its id: everything
     * is lost, and the client continues under the new id.
     */
    public void handleSuperseded(long ofEpoch, String newClientId, long now) {
        if (epoch == ofEpoch) {
            clientId = newClientId;
            table.stream = null;
            Status.End end = new Status.Lost(LostReason.of(LostReason.Kind.IN_USE));
            table.found(Presence::isSession).forEach(session -> table.end(session, end, now));
        }
    }

    /** The credentials are rejected by every server: what no server has confirmed ends. */
    public void handleRejected(Refusal refusal, long now) {
        table.found(item -> item.declared != null)
                .forEach(item -> table.abandon(item, new Status.Rejected(refusal), now));
    }

    /** Processes a message from the stream of this epoch. */
    public void handleResponse(long ofEpoch, ConnectResponse response, long now) {
        // First, because a session that was valid too long ago stays lost, whatever has arrived.
        renewals.expire(now);
        Stream stream = table.stream;
        if (stream == null || stream.epoch != ofEpoch) {
            return;
        }
        switch (response.getKindCase()) {
            case WELCOME -> welcomed(stream, response.getWelcome(), now);
            case KEPT_ALIVE -> renewals.keptAlive(response.getKeptAlive().getNumber(), epoch, now);
            case STATES -> {
                stream.asked = Presence.NEVER;
                response.getStates().getStatesList().forEach(state -> state(stream, state, now));
                sendUnsent(now);
            }
            case GOING_AWAY -> table.leave();
            case KIND_NOT_SET -> {}
        }
    }

    /** The Hello has been reconciled: what it did not state has ended. */
    private void welcomed(Stream stream, Welcome welcome, long now) {
        table.lostRevision = welcome.getLostRevision();
        renewals.welcomed(stream.hello);
        table.found(item -> !item.isStated() && item.isWithdrawnBefore(stream.epoch))
                .forEach(item -> table.end(item, new Status.Confirmed(), now));
    }

    /** Processes the state of one number. What is withdrawn has only an end; what is not in the table, nothing. */
    private void state(Stream stream, State state, long now) {
        Presence item = table.items.get(state.getNumber());
        if (item == null) {
            return;
        }
        table.unconfirmed -= item.unconfirmed;
        item.unconfirmed = 0;
        if (!item.isWithdrawn()) {
            item.declared = null;
        }
        boolean isEnd = state.hasEnded() || state.hasBusy() || state.hasRejected();
        // The database has lost the history in which the claim was granted: others may have held its locks since.
        boolean isStale = item.token != 0
                && (state.hasWaiting() || (state.hasHeld() && state.getHeld().getToken() != item.token));
        if (!isEnd && isStale) {
            // Not released, even if it is withdrawn.
            item.set(new Status.Declared(), now);
            table.abandon(item, new Status.Lost(LostReason.of(LostReason.Kind.FORGOTTEN)), now);
        } else if (isEnd || !item.isWithdrawn()) {
            process(stream, item, state, now);
        }
    }

    private void process(Stream stream, Presence item, State state, long now) {
        switch (state.getKindCase()) {
            case OPEN -> renewals.opened(item, state.getOpen(), stream, now);
            case WAITING -> item.set(new Status.Waiting(state.getWaiting()), now);
            case HELD -> {
                item.token = state.getHeld().getToken();
                item.set(new Status.Held(state.getHeld(), now), now);
            }
            case JOINED -> item.set(new Status.Joined(state.getJoined().getMember()), now);
            case ENDED -> table.end(item, new Status.Lost(LostReason.of(state.getEnded())), now);
            case BUSY -> table.end(item, new Status.Busy(state.getBusy()), now);
            case REJECTED -> {
                leaveIfRejected(state.getRejected());
                table.end(item, new Status.Rejected(state.getRejected()), now);
            }
            case KIND_NOT_SET -> {}
        }
    }

    /**
     * Another server may do what this one cannot: at once if it is the server's own state that it reports, or if no session depends on
     * this one.
     */
    private void leaveIfRejected(Refusal refusal) {
        boolean isTemporary = TEMPORARY.contains(refusal.getReason());
        if (OF_THE_SERVER.contains(refusal.getReason())
                || (isTemporary && table.openSessions().isEmpty())) {
            table.leave();
        }
    }

    /** When to call {@link #handleTimeout} next. */
    public long pollTimeout() {
        return renewals.pollTimeout();
    }

    /** Does what is due. */
    public void handleTimeout(long now) {
        renewals.handleTimeout(now);
    }

    /** The next message to send on the current stream. */
    public @Nullable ConnectRequest pollTransmit() {
        return table.stream == null ? null : table.stream.poll();
    }

    /** Whether to connect to another server, and to use this stream until then. */
    public boolean isLeaving() {
        return table.stream != null && table.stream.isLeft;
    }

    /** The shortest time for which a session is valid. */
    public long shortestValidity() {
        return renewals.shortestValidity();
    }
}
