package io.tenure.client;

import io.tenure.client.internal.Convert;
import io.tenure.client.v1.ConfigureGroupRequest;
import io.tenure.client.v1.GetGroupRequest;
import io.tenure.client.v1.GroupServiceGrpc;
import io.tenure.client.v1.ListGroupsRequest;
import java.time.Duration;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Plain calls about groups. Documented where they are public: {@link TenureClient}. */
final class GroupCalls {
    private final Calls calls;

    GroupCalls(Calls calls) {
        this.calls = calls;
    }

    Group get(String name) throws InterruptedException {
        GetGroupRequest request = GetGroupRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setGroup(name)
                .build();
        return Convert.group(
                calls.call(GroupServiceGrpc.getGetGroupMethod(), request).getGroup());
    }

    Stream<Group> list(String prefix) {
        return Pages.of(token -> {
            var page = calls.call(
                    GroupServiceGrpc.getListGroupsMethod(),
                    ListGroupsRequest.newBuilder()
                            .setNamespace(calls.namespace())
                            .setPrefix(prefix)
                            .setPageToken(token)
                            .build());
            return new Pages.Page<>(
                    page.getGroupsList().stream().map(Convert::group).toList(), page.getNextPageToken());
        });
    }

    long configure(String name, @Nullable String config, @Nullable Long expected) throws InterruptedException {
        ConfigureGroupRequest.Builder request = ConfigureGroupRequest.newBuilder()
                .setNamespace(calls.namespace())
                .setGroup(name);
        if (config != null) {
            request.setConfig(config);
        }
        if (expected != null) {
            request.setExpectedRevision(expected);
        }
        // Done twice, the second would find what the first has set, and not what is expected.
        var answer = calls.call(
                GroupServiceGrpc.getConfigureGroupMethod(), request.build(), expected == null, Duration.ZERO);
        return answer.getConfigRevision();
    }
}
