package io.tenure.examples;

import io.tenure.client.Messages;
import io.tenure.client.Standing;
import io.tenure.client.TenureClient;
import io.tenure.client.v1.Group;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;

/**
 * Copies of a program that share a total throughput: each prints what it may use, whenever that changes.
 *
 * <p>{@code tenure group set throughput 1000} sets the total. Start and kill copies, set another total, and see the shares. With
 * {@code exact} after the name, the shares make the total exactly: the first members get what the division leaves over.
 */
public final class GroupThroughput {
    private static String last = "";

    private GroupThroughput() {}

    /** The total, which is the group's config: 0 while there is none. */
    private static long total(Group group) {
        try {
            return group.hasConfig() ? Long.parseUnsignedLong(group.getConfig()) : 0;
        } catch (NumberFormatException noNumber) {
            return 0;
        }
    }

    /** The same for all: what the division leaves over is not used. */
    private static Map<Long, String> evenly(Group group) {
        long share = total(group) / Math.max(group.getMembersCount(), 1);
        return Messages.assign(group, (place, member) -> String.valueOf(share));
    }

    /** All of it: the members that joined first get one more each, as far as that goes. */
    private static Map<Long, String> exactly(Group group) {
        long members = Math.max(group.getMembersCount(), 1);
        long share = total(group) / members;
        long rest = total(group) % members;
        return Messages.assign(group, (place, member) -> String.valueOf(share + (place < rest ? 1 : 0)));
    }

    public static void main(String[] arguments) throws InterruptedException {
        String name = arguments.length > 0
                ? arguments[0]
                : "copy-" + ProcessHandle.current().pid();
        boolean isExact = arguments.length > 1 && arguments[1].equals("exact");
        Function<Group, Map<Long, String>> divide = isExact ? GroupThroughput::exactly : GroupThroughput::evenly;
        TenureClient client = TenureClient.fromEnvironment();
        Stopping.closes(client);
        client.group("throughput").ttl(Duration.ofMillis(1_200)).owner(name).takePart(divide, GroupThroughput::print);
    }

    private static void print(Standing standing) {
        String report;
        if (standing.lost() != null) {
            // The others no longer count this copy's use: it stops until it is a member again.
            report = "lost reason=" + standing.lost();
        } else if (standing.isCurrent() && standing.assignment().isPresent()) {
            report = "share=" + standing.assignment().get() + " of=" + total(standing.group()) + " members="
                    + standing.group().getMembersCount() + " " + (standing.leads() ? "leader" : "member");
        } else {
            return;
        }
        if (!report.equals(last)) {
            System.out.println(report);
            last = report;
        }
    }
}
