package io.tenure.client.protocol;

import io.tenure.client.LostReason;
import io.tenure.client.v1.BusyState;
import io.tenure.client.v1.HeldState;
import io.tenure.client.v1.Refusal;
import io.tenure.client.v1.WaitingState;

/** The latest that is known of a session, claim or membership. */
public sealed interface Status {
    /** No server has reported it yet. */
    record Declared() implements Status {}

    /** The session is open: when it was opened, on each later stream, and whenever its validity changes. */
    record Open(Validity validity) implements Status {}

    /** The claim is in the queue. */
    record Waiting(WaitingState state) implements Status {}

    /** The claim holds its locks. Its holder may be asked to transfer them: the state was received at this time. */
    record Held(HeldState state, long since) implements Status {}

    /** The membership exists, under this number of the group. */
    record Joined(long member) implements Status {}

    /** This client has withdrawn it, in this epoch, and the server has yet to confirm that. */
    record Withdrawn(long epoch) implements Status {}

    /** It has ended: the last status. */
    sealed interface End extends Status {}

    /** This client withdrew it, and the server has confirmed that, or never received it. */
    record Confirmed() implements End {}

    /** The locks are not free. */
    record Busy(BusyState busy) implements End {}

    /** The server rejected it. */
    record Rejected(Refusal refusal) implements End {}

    /** For any other reason. */
    record Lost(LostReason reason) implements End {}
}
