package io.tenure.client;

import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How connections are secured, and how this client proves who it is. Files are PEM; they are read again for each connection, the
 * token's for each stream and each call, so that they may be replaced. What cannot be used is told when the client is made.
 *
 * @param caCert the file of those who sign the servers' certificates; needs an endpoint at {@code https://}. Default: those whom
 *     this Java trusts
 * @param clientCert the file of this client's certificate, with those between it and its authority; shown to servers that ask for
 *     that authority; needs {@code clientKey} and an endpoint at {@code https://}. Default: none
 * @param clientKey the file of its private key: PKCS #8 ({@code BEGIN PRIVATE KEY}), not encrypted; needs {@code clientCert}.
 *     Default: none
 * @param tlsServerName the name that the servers' certificates must have. Default: the endpoint's host
 * @param token the token that says who this is: not empty; never sent to an endpoint at {@code http://}, except on this machine.
 *     No log and no text of these options has it. Default: none
 * @param tokenFile the file of that token, in place of {@code token}. Default: none
 */
public record Security(
        @Nullable Path caCert,
        @Nullable Path clientCert,
        @Nullable Path clientKey,
        @Nullable String tlsServerName,
        @Nullable String token,
        @Nullable Path tokenFile) {
    /** Those whom this Java trusts, no certificate, no token. */
    public static Security none() {
        return new Security(null, null, null, null, null, null);
    }

    static Security from(Map<String, String> environment) {
        return new Security(
                file(environment, "TENURE_CA_CERT"),
                file(environment, "TENURE_CLIENT_CERT"),
                file(environment, "TENURE_CLIENT_KEY"),
                text(environment, "TENURE_TLS_SERVER_NAME"),
                text(environment, "TENURE_TOKEN"),
                file(environment, "TENURE_TOKEN_FILE"));
    }

    private static @Nullable String text(Map<String, String> environment, String variable) {
        String text = environment.getOrDefault(variable, "");
        return text.isEmpty() ? null : text;
    }

    private static @Nullable Path file(Map<String, String> environment, String variable) {
        String text = text(environment, variable);
        return text == null ? null : Path.of(text);
    }

    /** With servers whose certificates these have signed. */
    public Security caCert(Path file) {
        return new Security(file, clientCert, clientKey, tlsServerName, token, tokenFile);
    }

    /** With this certificate. */
    public Security clientCert(Path file) {
        return new Security(caCert, file, clientKey, tlsServerName, token, tokenFile);
    }

    /** With this private key. */
    public Security clientKey(Path file) {
        return new Security(caCert, clientCert, file, tlsServerName, token, tokenFile);
    }

    /** With servers whose certificates have this name. */
    public Security tlsServerName(String name) {
        return new Security(caCert, clientCert, clientKey, name, token, tokenFile);
    }

    /** With this token. */
    public Security token(String text) {
        return new Security(caCert, clientCert, clientKey, tlsServerName, text, tokenFile);
    }

    /** With the token that stands in this file. */
    public Security tokenFile(Path file) {
        return new Security(caCert, clientCert, clientKey, tlsServerName, token, file);
    }

    @Override
    public String toString() {
        return "Security[caCert=" + caCert + ", clientCert=" + clientCert + ", clientKey=" + clientKey
                + ", tlsServerName=" + tlsServerName + ", token=" + (token == null ? null : "***") + ", tokenFile="
                + tokenFile + "]";
    }
}
