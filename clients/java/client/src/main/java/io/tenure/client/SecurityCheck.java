package io.tenure.client;

import com.google.common.net.InetAddresses;
import io.tenure.client.internal.Contents;
import io.tenure.client.internal.link.BearerToken;
import io.tenure.client.internal.link.Endpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks what can be checked before there is a connection. */
final class SecurityCheck {
    private SecurityCheck() {}

    static void check(Security security, List<Endpoint> servers) {
        requireBoth("client_cert", security.clientCert(), "client_key", security.clientKey());
        requireBoth("client_key", security.clientKey(), "client_cert", security.clientCert());
        checkToken(security, servers);
        boolean isEncrypted = servers.stream().anyMatch(Endpoint::isSecure);
        checkFile("ca_cert", security.caCert(), isEncrypted);
        checkFile("client_cert", security.clientCert(), isEncrypted);
        checkFile("client_key", security.clientKey(), isEncrypted);
    }

    private static void requireBoth(String field, @Nullable Path file, String other, @Nullable Path otherFile) {
        if (file != null && otherFile == null) {
            throw new TenureException.Invalid(field, "is set, but " + other + " is not");
        }
    }

    private static void checkToken(Security security, List<Endpoint> servers) {
        if (security.token() != null && security.tokenFile() != null) {
            throw new TenureException.Invalid("token", "is set, and token_file is set as well: set one of them");
        }
        BearerToken token = BearerToken.of(security);
        if (token == null) {
            return;
        }
        String field = security.token() != null ? "token" : "token_file";
        for (Endpoint server : servers) {
            if (!server.isSecure() && !isThisMachine(server.host())) {
                throw new TenureException.Invalid(field, "would go to " + server + " in the clear: use https://");
            }
        }
        try {
            token.read();
        } catch (IOException error) {
            throw new TenureException.Invalid(field, error.getMessage());
        }
    }

    private static void checkFile(String field, @Nullable Path file, boolean isEncrypted) {
        if (file == null) {
            return;
        }
        try {
            Contents.of(file);
        } catch (IOException error) {
            throw new TenureException.Invalid(field, error.getMessage());
        }
        if (!isEncrypted) {
            throw new TenureException.Invalid(field, "is set, but no endpoint is https://");
        }
    }

    /** Whether what goes to a host of a URL stays on this machine. No name but the usual one is looked up for that. */
    private static boolean isThisMachine(String host) {
        return host.equals("localhost")
                || InetAddresses.isUriInetAddress(host)
                        && InetAddresses.forUriString(host).isLoopbackAddress();
    }
}
