package io.tenure.examples;

import io.tenure.client.Messages;
import io.tenure.client.TenureClient;
import io.tenure.client.v1.Claim;
import io.tenure.client.v1.EndReason;
import io.tenure.client.v1.Event;
import io.tenure.client.v1.Lock;
import io.tenure.client.v1.WatchRequest;
import io.tenure.client.v1.WatchResponse;
import java.util.Locale;

/** Prints the holders of locks, as they change. */
public final class Watch {
    private Watch() {}

    public static void main(String[] arguments) {
        String prefix = arguments.length > 0 ? arguments[0] : "";
        TenureClient client = TenureClient.fromEnvironment();
        WatchRequest request = WatchRequest.newBuilder().addPrefixes(prefix).build();
        for (WatchResponse response : client.watch(request)) {
            if (response.hasSnapshot()) {
                System.out.println("snapshot revision=" + response.getRevision());
                response.getSnapshot().getLocksList().forEach(Watch::print);
            } else if (response.hasHistoryGone()) {
                System.out.println(
                        "history is gone: " + response.getHistoryGone().getCause());
            }
            response.getEvents().getEventsList().forEach(Watch::print);
        }
    }

    private static void print(Lock lock) {
        String holder = Messages.holder(lock).map(Claim::getOwner).orElse("none");
        System.out.println("lock name=" + lock.getName() + " holder=" + holder + " waiters=" + lock.getWaiterCount());
    }

    private static void print(Event event) {
        boolean isEnd = event.getEndReason() != EndReason.END_REASON_UNSPECIFIED;
        for (String name : event.getNamesList()) {
            System.out.println(word(event.getType(), "EVENT_TYPE_") + " name=" + name + " revision="
                    + event.getRevision() + " owner=" + event.getClaim().getOwner() + " "
                    + (isEnd ? word(event.getEndReason(), "END_REASON_") : "")
                    + (event.getVacantNamesList().contains(name) ? " vacant" : ""));
        }
    }

    private static String word(Enum<?> value, String prefix) {
        return value.name().replace(prefix, "").toLowerCase(Locale.ROOT);
    }
}
