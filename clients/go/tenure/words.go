package tenure

// LostReason is why a session or hold is lost.
type LostReason string

// Why something is lost.
const (
	// LostReleased is released by this program.
	LostReleased LostReason = "released"
	// LostClosed is closed by this program.
	LostClosed LostReason = "closed"
	// LostExpired is when no renewal was answered in time: from now on the server may give the locks to others.
	LostExpired LostReason = "expired"
	// LostStalled is when no renewal was sent, because the program made no progress.
	LostStalled LostReason = "stalled"
	// LostForgotten is when the server knows nothing of it any more.
	LostForgotten LostReason = "forgotten"
	// LostInUse is when another program uses the session's id.
	LostInUse LostReason = "in_use"
	// LostEnded is when the server says that it has ended; the error's EndReason tells why.
	LostEnded LostReason = "ended"
)

// EndReason is why a claim or a session ended, as the server tells it.
type EndReason string

// Why a claim or a session ended.
const (
	// EndReleased is released by the holder, or given up by the waiter.
	EndReleased EndReason = "released"
	// EndExpired is when the session's TTL passed without a renewal.
	EndExpired EndReason = "expired"
	// EndDisconnected is when the session's stream broke, or nobody was there to receive a grant.
	EndDisconnected EndReason = "disconnected"
	// EndClosed is when the client closed the session.
	EndClosed EndReason = "closed"
	// EndEvicted is when an operator ended it.
	EndEvicted EndReason = "evicted"
	// EndTransferred is when it was handed to another waiter as planned.
	EndTransferred EndReason = "transferred"
)

// Reason is why a server refused: an ErrorReason of the contract without its prefix, or a gRPC code that came without one.
type Reason string

// Why a server refuses. The contract tells which facts come with each.
const (
	ReasonInvalidField         Reason = "INVALID_FIELD"
	ReasonSessionNotFound      Reason = "SESSION_NOT_FOUND"
	ReasonSessionEnded         Reason = "SESSION_ENDED"
	ReasonNotHolder            Reason = "NOT_HOLDER"
	ReasonHoldEnded            Reason = "HOLD_ENDED"
	ReasonTokenMismatch        Reason = "TOKEN_MISMATCH"
	ReasonClaimOverlap         Reason = "CLAIM_OVERLAP"
	ReasonClaimEnded           Reason = "CLAIM_ENDED"
	ReasonStoreUnavailable     Reason = "STORE_UNAVAILABLE"
	ReasonLeaseLost            Reason = "LEASE_LOST"
	ReasonDraining             Reason = "DRAINING"
	ReasonLimitReached         Reason = "LIMIT_REACHED"
	ReasonNotAttached          Reason = "NOT_ATTACHED"
	ReasonOutcomeUnknown       Reason = "OUTCOME_UNKNOWN"
	ReasonLimitMismatch        Reason = "LIMIT_MISMATCH"
	ReasonLimitUnknown         Reason = "LIMIT_UNKNOWN"
	ReasonTransferImpossible   Reason = "TRANSFER_IMPOSSIBLE"
	ReasonTransferPending      Reason = "TRANSFER_PENDING"
	ReasonTransferNotConfirmed Reason = "TRANSFER_NOT_CONFIRMED"
	ReasonNotLeader            Reason = "NOT_LEADER"
	ReasonStaleAssignment      Reason = "STALE_ASSIGNMENT"
	ReasonConfigConflict       Reason = "CONFIG_CONFLICT"
	ReasonNotMember            Reason = "NOT_MEMBER"
	ReasonOverloaded           Reason = "OVERLOADED"
	ReasonLateAttachment       Reason = "LATE_ATTACHMENT"
	ReasonUnauthenticated      Reason = "UNAUTHENTICATED"
	ReasonPermissionDenied     Reason = "PERMISSION_DENIED"
	ReasonSessionInUse         Reason = "SESSION_IN_USE"
	ReasonAcquireCancelled     Reason = "ACQUIRE_CANCELLED"
	ReasonSessionReopened      Reason = "SESSION_REOPENED"
	ReasonClientSuperseded     Reason = "CLIENT_SUPERSEDED"
	ReasonMembershipOverlap    Reason = "MEMBERSHIP_OVERLAP"
)
