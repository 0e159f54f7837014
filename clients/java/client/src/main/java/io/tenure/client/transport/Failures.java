package io.tenure.client.transport;

import com.google.common.base.Throwables;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Metadata;
import io.grpc.Status;
import io.tenure.client.TenureException;
import io.tenure.client.status.ErrorInfo;
import io.tenure.client.status.StatusDetails;
import io.tenure.client.v1.Refusal;
import org.jspecify.annotations.Nullable;

/** What the status of a call means. */
public final class Failures {
    private static final String DOMAIN = "tenure";
    private static final String ERROR_INFO = "/google.rpc.ErrorInfo";
    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

    private Failures() {}

    /** The error of a call. */
    public static TenureException of(Throwable error) {
        return of(Status.fromThrowable(error), Status.trailersFromThrowable(error));
    }

    static TenureException of(Status status, @Nullable Metadata trailers) {
        ErrorInfo info = info(trailers);
        boolean hasReply =
                switch (status.getCode()) {
                    // A time-out of this library surfaces as cancelled, a broken transport as unavailable or unknown.
                    case UNAVAILABLE, CANCELLED, UNKNOWN -> info != null;
                    // A passed deadline is no refusal, even if the server reports it.
                    case DEADLINE_EXCEEDED -> false;
                    default -> true;
                };
        if (!hasReply) {
            return new TenureException.Unavailable(problem(status));
        }
        Refusal.Builder refusal = Refusal.newBuilder().setCode(status.getCode().value());
        if (info != null) {
            refusal.setReason(info.getReason()).putAllMetadata(info.getMetadataMap());
        }
        return new TenureException.Refused(refusal.setMessage(problem(status)).build());
    }

    private static String problem(Status status) {
        if (status.getCause() != null) {
            // The innermost says what is wrong, such as with a certificate.
            Throwable root = Throwables.getRootCause(status.getCause());
            return root.getMessage() == null ? root.toString() : root.getMessage();
        }
        return status.getDescription() == null ? status.getCode().toString() : status.getDescription();
    }

    private static @Nullable ErrorInfo info(@Nullable Metadata trailers) {
        byte[] details = trailers == null ? null : trailers.get(DETAILS);
        try {
            StatusDetails status =
                    details == null ? StatusDetails.getDefaultInstance() : StatusDetails.parseFrom(details);
            for (Any detail : status.getDetailsList()) {
                ErrorInfo info =
                        detail.getTypeUrl().endsWith(ERROR_INFO) ? ErrorInfo.parseFrom(detail.getValue()) : null;
                if (info != null && info.getDomain().equals(DOMAIN)) {
                    return info;
                }
            }
        } catch (InvalidProtocolBufferException unreadable) {
            return null;
        }
        return null;
    }
}
