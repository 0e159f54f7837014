package io.tenure.client.protocol;

import static io.tenure.client.protocol.Bench.ended;
import static io.tenure.client.protocol.Bench.held;
import static io.tenure.client.protocol.Bench.lost;
import static io.tenure.client.protocol.Bench.ms;
import static io.tenure.client.protocol.Bench.opened;
import static io.tenure.client.protocol.Bench.withdrawal;
import static org.assertj.core.api.Assertions.assertThat;

import io.tenure.client.LostReason;
import io.tenure.client.v1.Change;
import io.tenure.client.v1.ConnectRequest;
import io.tenure.client.v1.Declaration;
import io.tenure.client.v1.DeclaredClaim;
import io.tenure.client.v1.DeclaredSession;
import io.tenure.client.v1.EndReason;
import io.tenure.client.v1.Hello;
import io.tenure.client.v1.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What a Hello states, and what becomes of that. */
class HelloTest {
    private static final Status CONFIRMED = new Status.Confirmed();

    @Test
    void helloStatesTheKnownAndTheDeclaredInOrder() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        Presence late = bench.claim(session);
        Presence alone = bench.open();
        Presence both = bench.openWithClaim();
        bench.reconnect();
        Hello hello = bench.hello();
        assertThat(hello.getClientId()).isEqualTo("client");
        assertThat(hello.getEpoch()).isEqualTo(2);
        assertThat(hello.getMore()).isFalse();
        assertThat(hello.getKnownList()).containsExactly(session.number, claim.number);
        assertThat(hello.getPausedList()).isEmpty();
        assertThat(hello.getDeclaredList())
                .extracting(Declaration::getSession)
                .containsExactly(session.number, alone.number, both.session.number);
        assertThat(hello.getDeclared(0).hasOpen()).isFalse();
        assertThat(hello.getDeclared(0).getClaims(0).getNumber()).isEqualTo(late.number);
        assertThat(hello.getDeclared(1).hasOpen()).isTrue();
        assertThat(hello.getDeclared(1).getClaimsCount()).isZero();
        assertThat(hello.getDeclared(2).hasOpen()).isTrue();
        assertThat(hello.getDeclared(2).getClaims(0).getNumber()).isEqualTo(both.number);
    }

    @Test
    void lostHelloIsRepeatedWithAHigherEpoch() {
        Bench bench = new Bench();
        bench.connect();
        Presence session = bench.open();
        bench.sent();
        bench.reconnect();
        Hello first = bench.hello();
        assertThat(first.getDeclaredList()).extracting(Declaration::getSession).containsExactly(session.number);
        bench.pass(ms(300));
        bench.reconnect();
        assertThat(bench.hello())
                .isEqualTo(first.toBuilder().setEpoch(first.getEpoch() + 1).build());
        bench.pass(ms(50));
        bench.welcome();
        bench.states(opened(session));
        // Counts from the Hello that was answered.
        assertThat(session.openValidity().renewed()).isEqualTo(ms(10_300));
    }

    @Test
    void changesInFlightWhenTheStreamBreaksAreStatedAgain() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence kept = bench.hold(session, 7);
        Presence dropped = bench.hold(session, 8);
        Presence lost = bench.claim(session);
        Presence cancelled = bench.claim(session);
        bench.withdraw(dropped);
        bench.withdraw(cancelled);
        assertThat(bench.changes()).as("sent, and lost").hasSize(4);
        bench.reconnect();
        List<ConnectRequest> sent = bench.sent();
        Hello hello = sent.get(0).getHello();
        assertThat(hello.getKnownList())
                .as("so that the reason of its end is reported")
                .containsExactly(session.number, kept.number, dropped.number);
        assertThat(hello.getDeclared(0).getClaimsList())
                .extracting(DeclaredClaim::getNumber)
                .containsExactly(lost.number);
        assertThat(sent).hasSize(2);
        assertThat(sent.get(1).getChanges().getChangesList()).containsExactly(withdrawal(dropped));
        bench.welcome();
        assertThat(cancelled.status()).as("not stated, and so withdrawn").isEqualTo(CONFIRMED);
        bench.states(ended(dropped, EndReason.END_REASON_EVICTED));
        assertThat(dropped.status()).isEqualTo(ended(EndReason.END_REASON_EVICTED));
    }

    @Test
    void sessionThatIsClosedWhenTheStreamBreaksIsClosedAgainWithAllInIt() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        bench.withdraw(session);
        bench.reconnect();
        List<ConnectRequest> sent = bench.sent();
        assertThat(sent.get(0).getHello().getKnownList()).containsExactly(session.number, claim.number);
        assertThat(sent.get(1).getChanges().getChangesList()).containsExactly(withdrawal(session));
    }

    @Test
    void withdrawalAfterTheHelloIsConfirmedByItsState() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        bench.reconnect();
        assertThat(bench.hello().getKnownList()).containsExactly(session.number, claim.number);
        bench.withdraw(claim);
        bench.welcome();
        bench.states(held(claim, 7));
        assertThat(claim.isWithdrawn()).isTrue();
        assertThat(bench.changes()).containsExactly(withdrawal(claim));
        bench.states(ended(claim, EndReason.END_REASON_RELEASED));
        assertThat(claim.status()).isEqualTo(CONFIRMED);
    }

    @Test
    void whatWasNeverSentIsWithdrawnAtOnce() {
        Bench bench = new Bench();
        Presence session = bench.open();
        Presence claim = bench.claim(session);
        bench.withdraw(session);
        assertThat(List.of(claim.status(), session.status())).containsOnly(CONFIRMED);
        assertThat(bench.protocol.isEmpty()).isTrue();
        bench.connect();
        Hello hello = bench.hello();
        assertThat(hello.getKnownCount() + hello.getDeclaredCount()).isZero();
        assertThat(bench.sent()).isEmpty();
    }

    @Test
    void whatIsDeclaredWithoutAStreamIsSentAfterTheHello() {
        Bench bench = new Bench();
        Presence claim = bench.openWithClaim();
        Presence dropped = bench.openWithClaim();
        Presence late = bench.claim(claim.session);
        bench.withdraw(dropped);
        bench.pass(ms(60_000));
        bench.connect();
        List<ConnectRequest> sent = bench.sent();
        assertThat(sent.get(0).getHello().getDeclaredCount())
                .as("no server can have received it")
                .isZero();
        List<Declaration> declared = sent.get(1).getChanges().getChangesList().stream()
                .map(Change::getDeclare)
                .toList();
        assertThat(declared).extracting(Declaration::hasOpen).containsExactly(true, true, false);
        assertThat(declared)
                .extracting(Declaration::getSession)
                .containsExactly(claim.session.number, dropped.session.number, claim.session.number);
        assertThat(declared.stream().flatMap(one -> one.getClaimsList().stream()))
                .extracting(DeclaredClaim::getNumber)
                .containsExactly(claim.number, late.number);
        bench.welcome();
        bench.states(opened(claim.session));
        assertThat(claim.session.openValidity().renewed()).isEqualTo(bench.now);
    }

    @Test
    void helloStatesNoMoreThanServersAccept() {
        Bench bench = new Bench();
        DeclaredSession open = DeclaredSession.newBuilder()
                .putMetadata("label", "l".repeat(1_000))
                .build();
        Declaration declaration = Declaration.newBuilder().setOpen(open).build();
        Map<Long, Presence> sessions = IntStream.range(0, 3_000)
                .mapToObj(index -> bench.protocol.declare(null, declaration, null, null, bench.now))
                .collect(Collectors.toMap(session -> session.number, session -> session));
        bench.connect();
        assertThat(bench.sent().get(0).getHello().getDeclaredCount())
                .as("no server can have received it")
                .isZero();
        List<Integer> openedByStream = new ArrayList<>();
        for (int opening = 3_000; opening > 0; ) {
            bench.reconnect();
            Hello hello = bench.sent().get(0).getHello();
            List<Declaration> declared = hello.getDeclaredList();
            assertThat(declared.stream()
                            .mapToInt(Declaration::getSerializedSize)
                            .sum())
                    .isBetween(1, 1 << 20);
            bench.welcome();
            bench.states(declared.stream()
                    .map(one -> opened(sessions.get(one.getSession())))
                    .toArray(State.Builder[]::new));
            openedByStream.add(declared.size());
            opening -= declared.size();
        }
        assertThat(openedByStream).hasSize(4);
    }

    @Test
    void hundredThousandClaimsAreDeclaredStatedInPartsAndEnded() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        List<Presence> claims = new ArrayList<>();
        for (int number = 0; number < 100_000; number++) {
            claims.add(bench.claim(session));
        }
        List<Change> changes = bench.changes();
        for (int confirmed = 0; confirmed < claims.size(); changes = bench.changes()) {
            assertThat(changes).as("the rest is declared, too").isNotEmpty();
            List<Presence> declared = claims.subList(confirmed, confirmed + changes.size());
            bench.states(
                    declared.stream().map(claim -> held(claim, claim.number)).toArray(State.Builder[]::new));
            confirmed += declared.size();
        }
        assertThat(claims).allMatch(claim -> claim.status() instanceof Status.Held);
        bench.reconnect();
        List<Hello> parts = bench.sent().stream().map(ConnectRequest::getHello).toList();
        assertThat(parts).extracting(Hello::getMore).containsExactly(true, false);
        assertThat(parts)
                .allMatch(part -> part.getEpoch() == 2 && part.getClientId().equals("client"));
        List<Long> known =
                parts.stream().flatMap(part -> part.getKnownList().stream()).toList();
        assertThat(known.get(0)).isEqualTo(session.number);
        assertThat(known.subList(1, known.size()))
                .isEqualTo(claims.stream().map(claim -> claim.number).toList());
        bench.states(claims.stream()
                .map(claim -> ended(claim, EndReason.END_REASON_EVICTED))
                .toArray(State.Builder[]::new));
        bench.reconnect();
        assertThat(bench.hello().getKnownList()).containsExactly(session.number);
    }

    @Test
    void supersededClientLosesEverythingAndTakesANewId() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.hold(session, 7);
        bench.reconnect();
        bench.protocol.handleSuperseded(bench.epoch - 1, "other", bench.now);
        assertThat(claim.status()).as("that was this client's own doing").isInstanceOf(Status.Held.class);
        bench.protocol.handleSuperseded(bench.epoch, "other", bench.now);
        assertThat(List.of(claim.status(), session.status())).containsOnly(lost(LostReason.Kind.IN_USE));
        Presence next = bench.open();
        assertThat(next.number).as("numbers are never used twice").isGreaterThan(claim.number);
        bench.connect();
        List<ConnectRequest> sent = bench.sent();
        Hello hello = sent.get(0).getHello();
        assertThat(hello.getClientId()).isEqualTo("other");
        assertThat(hello.getKnownCount() + hello.getDeclaredCount()).isZero();
        assertThat(sent.get(1).getChanges().getChanges(0).getDeclare().getSession())
                .isEqualTo(next.number);
    }

    @Test
    void rejectedCredentialsEndWhatNoServerHasConfirmed() {
        Bench bench = Bench.connected();
        Presence session = bench.session();
        Presence claim = bench.claim(session);
        Presence late = bench.openWithClaim();
        io.tenure.client.v1.Refusal refusal = io.tenure.client.v1.Refusal.newBuilder()
                .setReason("UNAUTHENTICATED")
                .build();
        bench.protocol.handleRejected(refusal, bench.now);
        assertThat(List.of(claim.status(), late.status(), late.session.status()))
                .containsOnly(new Status.Rejected(refusal));
        assertThat(session.status()).isInstanceOf(Status.Open.class);
        assertThat(bench.changes()).contains(withdrawal(claim)).anyMatch(Change::hasDeclare);
    }
}
