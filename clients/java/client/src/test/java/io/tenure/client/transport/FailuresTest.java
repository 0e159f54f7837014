package io.tenure.client.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.Any;
import io.grpc.Metadata;
import io.grpc.Status;
import io.tenure.client.TenureException;
import io.tenure.client.status.ErrorInfo;
import io.tenure.client.status.StatusDetails;
import io.tenure.client.v1.ErrorReason;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FailuresTest {
    private static TenureException refused(Status status, String reason, String domain) {
        ErrorInfo info = ErrorInfo.newBuilder()
                .setReason(reason)
                .setDomain(domain)
                .putMetadata("session_id", "s")
                .build();
        Any detail = Any.newBuilder()
                .setTypeUrl("type.googleapis.com/google.rpc.ErrorInfo")
                .setValue(info.toByteString())
                .build();
        Metadata trailers = new Metadata();
        trailers.put(
                Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER),
                StatusDetails.newBuilder().addDetails(detail).build().toByteArray());
        return Failures.of(status.withDescription("no").asRuntimeException(trailers));
    }

    @Test
    void reasonIsReadFromTheDetails() {
        assertThat(refused(Status.PERMISSION_DENIED, "SESSION_NOT_FOUND", "tenure"))
                .isInstanceOfSatisfying(TenureException.Refused.class, error -> {
                    assertThat(error.reason()).isEqualTo(ErrorReason.ERROR_REASON_SESSION_NOT_FOUND);
                    assertThat(error.refusal().getMetadataMap()).containsEntry("session_id", "s");
                    assertThat(error.isTransient()).isFalse();
                });
        TenureException outage = refused(Status.UNAVAILABLE, "STORE_UNAVAILABLE", "tenure");
        assertThat(outage).isInstanceOf(TenureException.Refused.class);
        assertThat(outage.isTransient()).isTrue();
    }

    @Test
    void unknownReasonIsKeptAsTextAndOneOfAnotherDomainIsIgnored() {
        assertThat(refused(Status.ABORTED, "FULL_MOON", "tenure"))
                .isInstanceOfSatisfying(TenureException.Refused.class, error -> {
                    assertThat(error.reason()).isEqualTo(ErrorReason.ERROR_REASON_UNSPECIFIED);
                    assertThat(error.refusal().getReason()).isEqualTo("FULL_MOON");
                });
        assertThat(refused(Status.PERMISSION_DENIED, "DRAINING", "proxy.example"))
                .isInstanceOfSatisfying(TenureException.Refused.class, error -> {
                    assertThat(error.refusal().getReason()).isEmpty();
                    assertThat(error.isTransient()).isFalse();
                });
    }

    @Test
    void deadlineThatTheServerReportsAndBrokenTransportAreUnavailable() {
        assertThat(refused(Status.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", "tenure"))
                .isInstanceOf(TenureException.Unavailable.class);
        assertThat(Failures.of(Status.UNAVAILABLE.asRuntimeException()))
                .isInstanceOf(TenureException.Unavailable.class);
    }

    @Test
    void endpointWithoutASchemeIsHttpAndWithoutAPortHasTheUsualOne() {
        assertThat(Endpoint.parse("http://a:1")).isEqualTo(new Endpoint(false, "a", 1));
        assertThat(Endpoint.parse(" b:2 ")).isEqualTo(new Endpoint(false, "b", 2));
        assertThat(Endpoint.parse("https://c:3")).isEqualTo(new Endpoint(true, "c", 3));
        assertThat(Endpoint.parse("d")).isEqualTo(new Endpoint(false, "d", 7420));
        assertThat(Endpoint.parse("https://e")).isEqualTo(new Endpoint(true, "e", 7420));
        assertThat(Endpoint.parse("[::1]")).isEqualTo(new Endpoint(false, "[::1]", 7420));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"ftp://a", "https://", "http://", "http://a b", "a:0", "a:99999", "a:port", "http://a:-1", "a:1x"
            })
    void invalidEndpointIsRejected(String text) {
        assertThatThrownBy(() -> Endpoint.parse(text))
                .isInstanceOfSatisfying(TenureException.Invalid.class, invalid -> assertThat(invalid.field())
                        .isEqualTo("endpoints"));
    }
}
