package io.tenure.client.internal.link;

import io.tenure.client.TenureException;
import java.net.URI;
import java.net.URISyntaxException;

/** Where a server listens. */
public record Endpoint(String host, int port) {
    private static final int HTTP_PORT = 80;

    /** From a URL, of which {@code http://} may be left out. */
    public static Endpoint parse(String text) {
        String url = text.contains("://") ? text.trim() : "http://" + text.trim();
        URI uri;
        try {
            uri = new URI(url);
        } catch (URISyntaxException error) {
            throw new TenureException.Invalid("endpoints", "\"" + text + "\" is no URL: " + error.getReason());
        }
        if ("https".equals(uri.getScheme())) {
            throw new TenureException.Invalid("endpoints", "\"" + text + "\": TLS is not supported yet");
        }
        if (!"http".equals(uri.getScheme()) || uri.getHost() == null) {
            throw new TenureException.Invalid("endpoints", "\"" + text + "\" is not http://HOST:PORT");
        }
        return new Endpoint(uri.getHost(), uri.getPort() < 0 ? HTTP_PORT : uri.getPort());
    }

    @Override
    public String toString() {
        return "http://" + host + ":" + port;
    }
}
