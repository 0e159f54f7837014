package io.tenure.client.internal.link;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Metadata;
import io.grpc.Status;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.v1.ErrorInfo;
import io.tenure.client.v1.StatusDetails;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the status of a call means. */
final class Refusals {
    private static final String DOMAIN = "tenure";
    private static final String ERROR_INFO = "/google.rpc.ErrorInfo";
    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

    private Refusals() {}

    static TenureException error(Throwable error) {
        Status status = Status.fromThrowable(error);
        Refusal refusal = refusal(status, Status.trailersFromThrowable(error));
        if (refusal != null) {
            return new TenureException.Refused(refusal);
        }
        String message = message(status);
        return switch (status.getCode()) {
            case UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, UNKNOWN ->
                new TenureException.Unavailable(
                        message.isEmpty() ? status.getCode().toString() : message);
            default -> new TenureException.Refused(new Refusal(status.getCode().toString(), message, Map.of()));
        };
    }

    /** What a server has refused with, if it is one of ours that said so. */
    static @Nullable Refusal refusal(Status status, @Nullable Metadata trailers) {
        // That a deadline passed is no refusal, also where it is the server that says so.
        if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) {
            return null;
        }
        ErrorInfo info = info(trailers);
        return info == null ? null : new Refusal(info.getReason(), message(status), info.getMetadataMap());
    }

    private static String message(Status status) {
        return status.getDescription() == null ? "" : status.getDescription();
    }

    private static @Nullable ErrorInfo info(@Nullable Metadata trailers) {
        byte[] details = trailers == null ? null : trailers.get(DETAILS);
        if (details == null) {
            return null;
        }
        try {
            for (Any detail : StatusDetails.parseFrom(details).getDetailsList()) {
                if (detail.getTypeUrl().endsWith(ERROR_INFO)) {
                    ErrorInfo info = ErrorInfo.parseFrom(detail.getValue());
                    if (info.getDomain().equals(DOMAIN)) {
                        return info;
                    }
                }
            }
        } catch (InvalidProtocolBufferException unreadable) {
            return null;
        }
        return null;
    }
}
