package io.tenure.client;

/** Is told of leading. Called on the candidate's thread, and not to keep it waiting for long. */
public interface LeadershipListener {
    /** This candidate leads. Work may begin, under the leadership's token. */
    void elected(Hold leadership);

    /**
     * This candidate does not lead any more, or is about to hand over: the work has to stop now. Told before another could lead; what
     * it does is waited for before this candidate resigns.
     */
    void revoked(Hold leadership);

    /** It was given up, for something that trying again cannot cure. */
    default void failed(Exception error) {
        System.getLogger(LeadershipListener.class.getName())
                .log(System.Logger.Level.ERROR, "leading was given up", error);
    }
}
