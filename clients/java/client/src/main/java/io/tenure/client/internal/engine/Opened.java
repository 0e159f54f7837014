package io.tenure.client.internal.engine;

import io.tenure.client.internal.SessionPresence;

/** A session that is open. */
public record Opened(String id, String owner, SessionPresence presence) {}
