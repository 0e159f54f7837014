package io.tenure.client.transport;

import com.google.common.net.InetAddresses;
import io.tenure.client.TenureException;
import java.net.URI;
import java.net.URISyntaxException;

/**
 * Where a server listens.
 *
 * @param isSecure whether with TLS
 */
public record Endpoint(boolean isSecure, String host, int port) {
    private static final int DEFAULT_PORT = 7420;
    private static final int HIGHEST_PORT = 65_535;

    /** From a URL, whose {@code http://} and port may be omitted. */
    public static Endpoint parse(String text) {
        String url = text.contains("://") ? text.trim() : "http://" + text.trim();
        URI uri;
        try {
            uri = new URI(url);
        } catch (URISyntaxException error) {
            throw invalid(text, "is no URL: " + error.getReason());
        }
        boolean isSecure = "https".equals(uri.getScheme());
        if (!isSecure && !"http".equals(uri.getScheme()) || uri.getHost() == null) {
            throw invalid(text, "is not http://HOST:PORT or https://HOST:PORT");
        }
        int port = uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort();
        if (port == 0 || port > HIGHEST_PORT) {
            throw invalid(text, "has a port that is not 1 to " + HIGHEST_PORT);
        }
        return new Endpoint(isSecure, uri.getHost(), port);
    }

    private static TenureException.Invalid invalid(String text, String problem) {
        return new TenureException.Invalid("endpoints", "\"" + text + "\" " + problem);
    }

    /** Whether what is sent there stays on this machine. Only the usual name is known; none is looked up. */
    public boolean isThisMachine() {
        return host.equals("localhost")
                || InetAddresses.isUriInetAddress(host)
                        && InetAddresses.forUriString(host).isLoopbackAddress();
    }

    @Override
    public String toString() {
        return (isSecure ? "https://" : "http://") + host + ":" + port;
    }
}
