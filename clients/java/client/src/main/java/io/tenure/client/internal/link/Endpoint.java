package io.tenure.client.internal.link;

import io.tenure.client.TenureException;
import java.net.URI;
import java.net.URISyntaxException;

/**
 * Where a server listens.
 *
 * @param isSecure whether it speaks TLS
 */
public record Endpoint(boolean isSecure, String host, int port) {
    private static final int HTTP_PORT = 80;
    private static final int HTTPS_PORT = 443;

    /** From a URL, of which {@code http://} may be left out. */
    public static Endpoint parse(String text) {
        String url = text.contains("://") ? text.trim() : "http://" + text.trim();
        URI uri;
        try {
            uri = new URI(url);
        } catch (URISyntaxException error) {
            throw new TenureException.Invalid("endpoints", "\"" + text + "\" is no URL: " + error.getReason());
        }
        boolean isSecure = "https".equals(uri.getScheme());
        if (!isSecure && !"http".equals(uri.getScheme()) || uri.getHost() == null) {
            throw new TenureException.Invalid(
                    "endpoints", "\"" + text + "\" is not http://HOST:PORT or https://HOST:PORT");
        }
        int usualPort = isSecure ? HTTPS_PORT : HTTP_PORT;
        return new Endpoint(isSecure, uri.getHost(), uri.getPort() < 0 ? usualPort : uri.getPort());
    }

    @Override
    public String toString() {
        return (isSecure ? "https://" : "http://") + host + ":" + port;
    }
}
