package io.tenure.client.internal.link;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the status of a call means. */
final class Refusals {
    private static final String DOMAIN = "tenure";

    private Refusals() {}

    static TenureException error(Throwable error) {
        Status status = Status.fromThrowable(error);
        String message = status.getDescription() == null ? "" : status.getDescription();
        com.google.rpc.@Nullable Status details = StatusProto.fromThrowable(error);
        ErrorInfo info = details == null ? null : info(details);
        if (info != null) {
            return new TenureException.Refused(new Refusal(info.getReason(), message, info.getMetadataMap()));
        }
        return switch (status.getCode()) {
            case UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, UNKNOWN ->
                new TenureException.Unavailable(
                        message.isEmpty() ? status.getCode().toString() : message);
            default -> new TenureException.Refused(new Refusal(status.getCode().toString(), message, Map.of()));
        };
    }

    private static @Nullable ErrorInfo info(com.google.rpc.Status details) {
        for (Any detail : details.getDetailsList()) {
            try {
                if (detail.is(ErrorInfo.class)) {
                    ErrorInfo info = detail.unpack(ErrorInfo.class);
                    if (DOMAIN.equals(info.getDomain())) {
                        return info;
                    }
                }
            } catch (InvalidProtocolBufferException unreadable) {
                return null;
            }
        }
        return null;
    }
}
