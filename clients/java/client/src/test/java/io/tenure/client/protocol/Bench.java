package io.tenure.client.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Duration;
import io.tenure.client.LostReason;
import io.tenure.client.v1.Change;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.ConnectResponse;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.DeclaredClaim;
import io.tenure.client.v1.DeclaredSession;
import io.tenure.client.v1.EndReason;
import io.tenure.client.v1.EndedState;
import io.tenure.client.v1.HeldState;
import io.tenure.client.v1.Hello;
import io.tenure.client.v1.KeptAlive;
import io.tenure.client.v1.OpenState;
import io.tenure.client.v1.State;
import io.tenure.client.v1.States;
import io.tenure.client.v1.Welcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** A client's protocol against a scripted server, and the time. */
final class Bench {
    static final long RENEW_AFTER = ms(400);
    static final long WARN_AFTER = ms(720);
    static final long VALID_FOR = ms(1_100);

    final Protocol protocol = new Protocol("default", "client");
    long now = ms(10_000);
    long epoch;

    static long ms(long milliseconds) {
        return milliseconds * 1_000_000;
    }

    /** Connected and welcomed. */
    static Bench connected() {
        Bench bench = new Bench();
        bench.connect();
        bench.hello();
        bench.welcome();
        return bench;
    }

    void connect() {
        epoch = protocol.handleConnected(now);
    }

    void reconnect() {
        protocol.handleDisconnected(epoch);
        connect();
    }

    void pass(long time) {
        long until = now + time;
        for (long next = protocol.pollTimeout(); next <= until; next = protocol.pollTimeout()) {
            now = Math.max(next, now);
            protocol.handleTimeout(now);
            assertThat(protocol.pollTimeout()).as("a timer that is always due").isGreaterThan(now);
        }
        now = until;
    }

    Presence open() {
        return open(null);
    }

    Presence open(@Nullable BiPredicate<Long, Long> stalls) {
        return protocol.declare(null, opening().build(), stalls, null, now);
    }

    /** A session, declared with a claim in it: the claim. */
    Presence openWithClaim() {
        return protocol.declare(null, opening().addClaims(claimTo("job", "")).build(), null, null, now);
    }

    /** An open session. */
    Presence session() {
        Presence session = open();
        sent();
        states(opened(session));
        return session;
    }

    Presence claim(Presence session) {
        return claim(session, "");
    }

    Presence claim(Presence session, String label) {
        Declaration declaration =
                Declaration.newBuilder().addClaims(claimTo("job", label)).build();
        return protocol.declare(session, declaration, null, null, now);
    }

    /** A held claim. */
    Presence hold(Presence session, long token) {
        Presence claim = claim(session);
        sent();
        states(held(claim, token));
        return claim;
    }

    void withdraw(Presence item) {
        protocol.withdraw(item, now);
    }

    /** All messages that are to be sent. */
    List<ConnectRequest> sent() {
        List<ConnectRequest> sent = new ArrayList<>();
        for (ConnectRequest next = protocol.pollTransmit(); next != null; next = protocol.pollTransmit()) {
            assertThat(next.getSerializedSize()).isLessThan(4 << 20);
            sent.add(next);
        }
        return sent;
    }

    /** The Hello that is to be sent, and nothing else. */
    Hello hello() {
        List<ConnectRequest> sent = sent();
        assertThat(sent).singleElement().matches(ConnectRequest::hasHello);
        return sent.get(0).getHello();
    }

    /** The changes that are to be sent, and nothing else. */
    List<Change> changes() {
        List<ConnectRequest> sent = sent();
        assertThat(sent).allMatch(ConnectRequest::hasChanges);
        return sent.stream()
                .flatMap(message -> message.getChanges().getChangesList().stream())
                .toList();
    }

    /** The one keep-alive that is to be sent. */
    long keepAlive() {
        List<ConnectRequest> sent = sent();
        assertThat(sent).singleElement().matches(ConnectRequest::hasKeepAlive);
        return sent.get(0).getKeepAlive().getNumber();
    }

    void receive(ConnectResponse.Builder response) {
        receiveFrom(epoch, response);
    }

    void receiveFrom(long from, ConnectResponse.Builder response) {
        protocol.handleResponse(from, response.build(), now);
    }

    void welcome() {
        welcome(0);
    }

    void welcome(long lostRevision) {
        receive(ConnectResponse.newBuilder().setWelcome(Welcome.newBuilder().setLostRevision(lostRevision)));
    }

    void kept(long number) {
        receive(kept(ConnectResponse.newBuilder(), number));
    }

    static ConnectResponse.Builder kept(ConnectResponse.Builder response, long number) {
        return response.setKeptAlive(KeptAlive.newBuilder().setNumber(number));
    }

    void states(State.Builder... states) {
        States.Builder all = States.newBuilder();
        Arrays.stream(states).forEach(all::addStates);
        receive(ConnectResponse.newBuilder().setStates(all));
    }

    static State.Builder state(Presence item) {
        return State.newBuilder().setNumber(item.number);
    }

    static State.Builder opened(Presence session) {
        return opened(session, RENEW_AFTER, WARN_AFTER, VALID_FOR);
    }

    static State.Builder opened(Presence session, long renewAfter, long warnAfter, long validFor) {
        return state(session)
                .setOpen(OpenState.newBuilder()
                        .setRenewAfter(wire(renewAfter))
                        .setWarnAfter(wire(warnAfter))
                        .setValidFor(wire(validFor)));
    }

    private static Duration.Builder wire(long nanos) {
        return Duration.newBuilder().setSeconds(nanos / 1_000_000_000).setNanos((int) (nanos % 1_000_000_000));
    }

    static State.Builder held(Presence claim, long token) {
        return state(claim).setHeld(HeldState.newBuilder().setToken(token));
    }

    static State.Builder ended(Presence item, EndReason reason) {
        return state(item).setEnded(EndedState.newBuilder().setReason(reason));
    }

    static Declaration.Builder opening() {
        return Declaration.newBuilder().setOpen(DeclaredSession.getDefaultInstance());
    }

    private static DeclaredClaim.Builder claimTo(String name, String label) {
        return DeclaredClaim.newBuilder().addNames(name).putMetadata("label", label);
    }

    static Change withdrawal(Presence item) {
        return Change.newBuilder().setWithdraw(item.number).build();
    }

    static Status lost(LostReason.Kind kind) {
        return new Status.Lost(LostReason.of(kind));
    }

    static Status ended(EndReason reason) {
        return new Status.Lost(
                LostReason.of(EndedState.newBuilder().setReason(reason).build()));
    }
}
