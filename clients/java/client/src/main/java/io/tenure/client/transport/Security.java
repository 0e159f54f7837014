package io.tenure.client.transport;

import io.tenure.client.TenureException;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How connections are secured, and how this client authenticates. Files are read for each connection, or for each call. */
public record Security(
        @Nullable Path caCert,
        @Nullable Path clientCert,
        @Nullable Path clientKey,
        @Nullable String tlsServerName,
        @Nullable String token,
        @Nullable Path tokenFile) {
    /** Checks the settings before there is a connection. */
    public void check(List<Endpoint> servers) {
        if ((clientCert == null) != (clientKey == null)) {
            String field = clientCert == null ? "client_key" : "client_cert";
            throw new TenureException.Invalid(field, "client_cert and client_key are set together");
        }
        if (token != null && tokenFile != null) {
            throw new TenureException.Invalid("token", "is set, and token_file is set as well: set one of them");
        }
        checkToken(servers);
        Map<String, @Nullable Path> files = new LinkedHashMap<>();
        files.put("ca_cert", caCert);
        files.put("client_cert", clientCert);
        files.put("client_key", clientKey);
        boolean isEncrypted = servers.stream().anyMatch(Endpoint::isSecure);
        files.forEach((field, file) -> {
            if (file != null) {
                checkFile(field, file, isEncrypted);
            }
        });
    }

    private static void checkFile(String field, Path file, boolean isEncrypted) {
        try {
            read(file);
        } catch (IOException error) {
            throw new TenureException.Invalid(field, error.getMessage());
        }
        if (!isEncrypted) {
            throw new TenureException.Invalid(field, "is set, but no endpoint is https://");
        }
    }

    private void checkToken(List<Endpoint> servers) {
        if (!hasToken()) {
            return;
        }
        String field = token != null ? "token" : "token_file";
        for (Endpoint server : servers) {
            if (!server.isSecure() && !server.isThisMachine()) {
                throw new TenureException.Invalid(field, "would go to " + server + " in the clear: use https://");
            }
        }
        try {
            authorization();
        } catch (IOException error) {
            throw new TenureException.Invalid(field, error.getMessage());
        }
    }

    boolean hasToken() {
        return token != null || tokenFile != null;
    }

    /**
     * The header of this name, with the present token.
     *
     * @throws IOException if the token cannot be read, or is not one
     */
    String authorization() throws IOException {
        String text = tokenFile == null ? String.valueOf(token) : new String(read(tokenFile), StandardCharsets.UTF_8);
        String present = text.strip();
        if (present.isEmpty()) {
            throw new IOException("the token is empty");
        }
        if (!present.chars().allMatch(letter -> letter >= ' ' && letter <= '~')) {
            throw new IOException("the token has letters that no header may have: only printable ASCII");
        }
        return "Bearer " + present;
    }

    /** The content of a file. The error has the file's name. */
    private static byte[] read(Path file) throws IOException {
        try (InputStream content = new FileInputStream(file.toFile())) {
            return content.readAllBytes();
        }
    }
}
