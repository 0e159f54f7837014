package engine

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// Why something is lost.
const (
	LostReleased  = "released"
	LostClosed    = "closed"
	LostExpired   = "expired"
	LostStalled   = "stalled"
	LostForgotten = "forgotten"
	LostInUse     = "in_use"
	LostEnded     = "ended"
)

// ErrClosed tells that the client was closed.
var ErrClosed = errors.New("the client was closed")

// Lost is why a session or hold is lost.
type Lost struct {
	Reason string
	// Only with LostEnded: why the server says that it ended.
	EndReason, Operator, Note string
}

func lost(reason string) *Lost { return &Lost{Reason: reason} }

func ended(reason string) *Lost { return &Lost{Reason: LostEnded, EndReason: reason} }

func (l *Lost) Error() string { return l.Reason }

// Unavailable tells that no server answered in time.
type Unavailable struct{ Problem string }

func (u *Unavailable) Error() string { return u.Problem }

// Invalid is an option that cannot be used.
type Invalid struct{ Field, Problem string }

func (i *Invalid) Error() string { return i.Field + ": " + i.Problem }

// Refusal is what the server refused with.
type Refusal struct {
	Reason, Message string
	Metadata        map[string]string
}

func (r *Refusal) Error() string { return r.Message }

func refusal(wire *tenurev1.Refusal) *Refusal {
	return &Refusal{Reason: wire.GetReason(), Message: wire.GetMessage(), Metadata: wire.GetMetadata()}
}

// IsUnauthenticated tells whether the server does not know who this is.
func (r *Refusal) IsUnauthenticated() bool { return r.Reason == "UNAUTHENTICATED" }

// IsTransient tells whether the same may well succeed later, at this or another server.
func (r *Refusal) IsTransient() bool {
	switch r.Reason {
	case "STORE_UNAVAILABLE", "OUTCOME_UNKNOWN", "LEASE_LOST", "DRAINING", "OVERLOADED":
		return true
	default:
		return false
	}
}

// What a release fails with that was refused: if the hold had been lost before, with that. (That it was released before is no
// refusal: servers answer a repetition as they did the first time.)
func (r *Refusal) ofRelease() error {
	if why := r.Metadata["end_reason"]; r.Reason == "HOLD_ENDED" && why != "" {
		return ended(why)
	}
	return r
}

// To how many attachments the session's client has counted, if this one is late; else 0.
func (r *Refusal) counted() uint64 {
	if r.Reason != "LATE_ATTACHMENT" {
		return 0
	}
	count, err := strconv.ParseUint(r.Metadata["attachment"], 10, 64)
	if err != nil {
		return 0
	}
	return count
}

// EndReason is the reason's one lowercase word.
func EndReason(reason tenurev1.EndReason) string {
	if _, known := tenurev1.EndReason_name[int32(reason)]; !known || reason == tenurev1.EndReason_END_REASON_UNSPECIFIED {
		return "unknown"
	}
	return strings.ToLower(strings.TrimPrefix(reason.String(), "END_REASON_"))
}
