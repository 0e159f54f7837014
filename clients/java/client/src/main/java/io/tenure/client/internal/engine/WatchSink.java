package io.tenure.client.internal.engine;

import io.tenure.client.TenureException;
import io.tenure.client.WatchEvent;
import org.jspecify.annotations.Nullable;

/** Where a watch tells what happens. */
public interface WatchSink {
    /** Takes an item, unless there is no room. */
    boolean offer(WatchEvent event);

    /** There was no room: resume the watch once all has been read. Answers whether it has been already. */
    boolean pause();

    /** Nothing more will come; for this reason, unless the client was closed. */
    void end(@Nullable TenureException error);
}
