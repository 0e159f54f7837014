package io.tenure.client.internal.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.Any;
import io.grpc.Metadata;
import io.grpc.Status;
import io.tenure.client.Refusal;
import io.tenure.client.TenureException;
import io.tenure.client.v1.ErrorInfo;
import io.tenure.client.v1.StatusDetails;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RefusalsTest {
    private static TenureException refused(String reason, String domain) {
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
        return Refusals.error(Status.PERMISSION_DENIED.withDescription("no").asRuntimeException(trailers));
    }

    @Test
    void decidesByTheReasonInTheDetails() {
        assertThat(refused("SESSION_NOT_FOUND", "tenure"))
                .isInstanceOfSatisfying(TenureException.Refused.class, error -> {
                    assertThat(error.reason()).isEqualTo(Refusal.Reason.SESSION_NOT_FOUND);
                    assertThat(error.refusal().fact("session_id")).isEqualTo("s");
                    assertThat(error.isTransient()).isFalse();
                });
        assertThat(refused("STORE_UNAVAILABLE", "tenure").isTransient()).isTrue();
    }

    @Test
    void keepsUnknownReasonsAsTextAndIgnoresOtherDomains() {
        assertThat(refused("FULL_MOON", "tenure")).isInstanceOfSatisfying(TenureException.Refused.class, error -> {
            assertThat(error.reason()).isEqualTo(Refusal.Reason.OTHER);
            assertThat(error.refusal().code()).isEqualTo("FULL_MOON");
        });
        assertThat(refused("DRAINING", "proxy.example"))
                .isInstanceOfSatisfying(
                        TenureException.Refused.class,
                        error -> assertThat(error.refusal().code()).isEqualTo("PERMISSION_DENIED"));
    }

    @Test
    void aBrokenTransportIsUnavailable() {
        assertThat(Refusals.error(Status.UNAVAILABLE.asRuntimeException()))
                .isInstanceOf(TenureException.Unavailable.class);
    }

    @Test
    void endpointsAreUrlsWhoseSchemeMayBeLeftOut() {
        assertThat(Endpoint.parse("http://a:1")).isEqualTo(new Endpoint(false, "a", 1));
        assertThat(Endpoint.parse(" b:2 ")).isEqualTo(new Endpoint(false, "b", 2));
        assertThat(Endpoint.parse("https://c:3")).isEqualTo(new Endpoint(true, "c", 3));
        assertThat(Endpoint.parse("https://c")).isEqualTo(new Endpoint(true, "c", 443));
    }

    @ParameterizedTest
    @ValueSource(strings = {"ftp://a", "https://", "http://", "http://a b"})
    void whatIsNoEndpointIsRefused(String text) {
        assertThatThrownBy(() -> Endpoint.parse(text))
                .isInstanceOfSatisfying(TenureException.Invalid.class, invalid -> assertThat(invalid.field())
                        .isEqualTo("endpoints"));
    }
}
