package io.tenure.examples;

import io.tenure.client.Election;
import io.tenure.client.TenureClient;
import java.time.Duration;

/**
 * Copies of a program, of which only the leader works: once a second, while it leads. Kill the one that works, and another does.
 */
public final class LeaderLoop {
    private LeaderLoop() {}

    public static void main(String[] arguments) throws Exception {
        String name = arguments.length > 0
                ? arguments[0]
                : "replica-" + ProcessHandle.current().pid();
        TenureClient client = TenureClient.fromEnvironment();
        Stopping.closes(client);
        // snippet: leader_loop
        Election election =
                client.election("service_leader").ttl(Duration.ofMillis(1_200)).owner(name);
        System.out.println("candidate " + name);
        election.leadEvery(Duration.ofSeconds(1), leadership -> System.out.println("work token=" + leadership.token()));
        // snippet end
    }
}
