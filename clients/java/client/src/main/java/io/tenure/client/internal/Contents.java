package io.tenure.client.internal;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;

/** What stands in a file. */
public final class Contents {
    private Contents() {}

    /**
     * All of it.
     *
     * @throws IOException which file, and what is wrong with it
     */
    public static byte[] of(Path file) throws IOException {
        // `Files` does not say what is wrong.
        try (InputStream content = new FileInputStream(file.toFile())) {
            return content.readAllBytes();
        }
    }
}
