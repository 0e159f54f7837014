/**
 * The state that a client declares to the service: its sessions, claims and memberships, by number. No I/O, no clock and no
 * randomness: the transport passes in the time and the received messages, and takes out messages and events. Not public.
 */
@NullMarked
package io.tenure.client.protocol;

import org.jspecify.annotations.NullMarked;
