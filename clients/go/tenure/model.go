package tenure

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// LockInfo is a lock as the server sees it.
type LockInfo struct {
	// Name is the lock's.
	Name string
	// Holders hold it, or linger on it: at most the first 100. Empty: nobody holds it.
	Holders []Claim
	// Waiters wait, in the order in which they will be served: at most the first 100.
	Waiters []Claim
	// HolderCount is how many hold it in all.
	HolderCount uint64
	// WaiterCount is how many wait in all.
	WaiterCount uint64
	// Limit is how many permits may be out at once. 0: nobody has said.
	Limit uint32
	// Settings are what an operator has set.
	Settings LockSettings
}

// Holder is the first claim that holds it now. Nil: nobody does; a claim that only lingers is not held by anybody.
func (l *LockInfo) Holder() *Claim {
	for place := range l.Holders {
		if l.Holders[place].State == StateHeld {
			return &l.Holders[place]
		}
	}
	return nil
}

// LockSettings are what an operator sets on a lock.
type LockSettings struct {
	// Limit is how many permits may be out at once: 1 to 1,000,000. Claims that say another limit are refused. 0: what the first
	// of the claims that are there says.
	Limit uint32
	// Preempt has a waiter of higher priority be handed the lock by the holder. Nil: it waits for its turn.
	Preempt *Preempt
}

// Preempt is how a better candidate is handed a lock.
type Preempt struct {
	// Settling is for how long it must have waited: at most 24 h. Default: 10 s.
	Settling time.Duration
	// Drain is for how long the holder may go on, to stop its work: 100 ms to 1 h. Default: 10 s.
	Drain time.Duration
}

// Claim is one session's stake in one or more locks at once.
type Claim struct {
	// ID is the revision of the event that created it. 0: not known here.
	ID uint64
	// Names are the locks that are claimed, in byte order.
	Names []string
	// State is whether it waits or is held.
	State ClaimState
	// Token is the fencing token. 0 while waiting.
	Token uint64
	// SessionID is the session whose claim it is.
	SessionID string
	// Owner is that session's owner label.
	Owner string
	// Metadata is what was attached to the claim.
	Metadata map[string]string
	// Priority goes first among waiters if it is higher.
	Priority int32
	// MinHold is for how long after the grant nobody is granted these locks again. 0: no minimum.
	MinHold time.Duration
	// Mode is with whom the locks can be shared.
	Mode Mode
	// Permits of each lock, with ModePermits.
	Permits uint32
	// Limit of permits when the claim was made, with ModePermits. 0: none was said.
	Limit uint32
	// Transfer is the handoff that its holder has been asked for. Nil: none.
	Transfer *PendingTransfer
	// Deadlock are the sessions that wait for each other in a circle, this one first. Empty: none. Known only of waiting claims
	// that were read, not of those that were watched.
	Deadlock []string
}

// PendingTransfer is a handoff that a holder has been asked for and has not confirmed yet.
type PendingTransfer struct {
	// To is the session that is to hold next. Empty: whoever is first in the queue then.
	To string
	// Drain is for how long the holder may go on, counted from when it was asked.
	Drain time.Duration
}

// ClaimState is where a claim stands.
type ClaimState string

// Where a claim stands. A state that this version does not know is empty.
const (
	// StateWaiting is in the queue.
	StateWaiting ClaimState = "waiting"
	// StateHeld is granted: its session holds the locks.
	StateHeld ClaimState = "held"
	// StateLingering is released before its minimum hold was over: nobody is granted the locks yet.
	StateLingering ClaimState = "lingering"
)

// Mode is with whom a claim can share its locks.
type Mode string

// With whom a claim can share its locks. A mode that this version does not know is empty.
const (
	// ModeExclusive is with nobody.
	ModeExclusive Mode = "exclusive"
	// ModeShared is with other shared claims.
	ModeShared Mode = "shared"
	// ModePermits is with other claims to permits, as long as no more than the limit are out.
	ModePermits Mode = "permits"
)

// SessionInfo is an open session as the server sees it.
type SessionInfo struct {
	// ID is the session's.
	ID string
	// OpenedRevision is that of the event that opened it.
	OpenedRevision uint64
	// TTL is how long it lives without a renewal.
	TTL time.Duration
	// DisconnectGrace is how long it outlives the stream that it is attached to. 0: until its TTL has passed.
	DisconnectGrace time.Duration
	// Owner is who it is, for people.
	Owner string
	// Metadata are free labels.
	Metadata map[string]string
	// Home is the server that takes its renewals.
	Home uint64
	// Claims are what it holds and waits for, in the order in which it was asked for.
	Claims []Claim
	// Remaining is how long it lives on, at least, if its stream does. 0: not known to the server that answered.
	Remaining time.Duration
}

var (
	claimStates = map[tenurev1.ClaimState]ClaimState{
		tenurev1.ClaimState_CLAIM_STATE_WAITING:   StateWaiting,
		tenurev1.ClaimState_CLAIM_STATE_HELD:      StateHeld,
		tenurev1.ClaimState_CLAIM_STATE_LINGERING: StateLingering,
	}
	modes = map[tenurev1.Mode]Mode{
		tenurev1.Mode_MODE_UNSPECIFIED: ModeExclusive,
		tenurev1.Mode_MODE_EXCLUSIVE:   ModeExclusive,
		tenurev1.Mode_MODE_SHARED:      ModeShared,
		tenurev1.Mode_MODE_PERMITS:     ModePermits,
	}
)

func claimOf(wire *tenurev1.Claim) Claim {
	claim := Claim{
		ID: wire.GetId(), Names: wire.GetNames(), State: claimStates[wire.GetState()], Token: wire.GetToken(),
		SessionID: wire.GetSessionId(), Owner: wire.GetOwner(), Metadata: wire.GetMetadata(), Priority: wire.GetPriority(),
		MinHold: wire.GetMinHold().AsDuration(), Mode: modes[wire.GetMode()], Permits: wire.GetPermits(),
		Limit: wire.GetLimit(), Deadlock: wire.GetDeadlock(),
	}
	if transfer := wire.GetTransfer(); transfer != nil {
		claim.Transfer = &PendingTransfer{To: transfer.ToSessionId, Drain: transfer.GetDrain().AsDuration()}
	}
	return claim
}

func optionalClaim(wire *tenurev1.Claim) *Claim {
	if wire == nil {
		return nil
	}
	claim := claimOf(wire)
	return &claim
}

func lockOf(wire *tenurev1.Lock) LockInfo {
	return LockInfo{
		Name: wire.GetName(), Holders: each(wire.GetHolders(), claimOf), Waiters: each(wire.GetWaiters(), claimOf),
		HolderCount: wire.GetHolderCount(), WaiterCount: wire.GetWaiterCount(), Limit: wire.GetLimit(),
		Settings: settingsOf(wire.GetSettings()),
	}
}

func settingsOf(wire *tenurev1.LockSettings) LockSettings {
	settings := LockSettings{Limit: wire.GetLimit()}
	if preempt := wire.GetPreempt(); preempt != nil {
		settings.Preempt = &Preempt{
			Settling: preempt.GetSettling().AsDuration(), Drain: preempt.GetDrain().AsDuration(),
		}
	}
	return settings
}

func (s LockSettings) toWire() *tenurev1.LockSettings {
	wire := &tenurev1.LockSettings{Limit: s.Limit}
	if s.Preempt != nil {
		wire.Preempt = &tenurev1.Preempt{Settling: optionalDuration(s.Preempt.Settling), Drain: optionalDuration(s.Preempt.Drain)}
	}
	return wire
}

func sessionOf(wire *tenurev1.Session) SessionInfo {
	return SessionInfo{
		ID: wire.GetId(), OpenedRevision: wire.GetOpenedRevision(), TTL: wire.GetTtl().AsDuration(),
		DisconnectGrace: wire.GetDisconnectGrace().AsDuration(), Owner: wire.GetOwner(), Metadata: wire.GetMetadata(),
		Home: wire.GetHome(), Claims: each(wire.GetClaims(), claimOf), Remaining: wire.GetRemaining().AsDuration(),
	}
}

func endReasonOf(wire tenurev1.EndReason) EndReason {
	if wire == tenurev1.EndReason_END_REASON_UNSPECIFIED {
		return ""
	}
	return EndReason(engine.EndReason(wire))
}

// Unset if it is zero.
func optionalDuration(duration time.Duration) *durationpb.Duration {
	if duration == 0 {
		return nil
	}
	return durationpb.New(duration)
}

// The zero time if it is unset.
func timeOf(wire *timestamppb.Timestamp) time.Time {
	if wire == nil {
		return time.Time{}
	}
	return wire.AsTime()
}

func each[Wire, Told any](wires []*Wire, told func(*Wire) Told) []Told {
	all := make([]Told, 0, len(wires))
	for _, wire := range wires {
		all = append(all, told(wire))
	}
	return all
}
