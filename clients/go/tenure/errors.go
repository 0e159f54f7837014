package tenure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/protocol"
	"github.com/tenure-lock/tenure/clients/go/internal/transport"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// The kinds of errors, for errors.Is. A lock held by another claim is no error.
var (
	// ErrUnavailable is when no server answered within the call's deadline. The request may or may not have taken
	// effect.
	ErrUnavailable = errors.New("no server answered in time")
	// ErrRefused is any *RefusedError.
	ErrRefused = errors.New("refused")
	// ErrLost is any *LostError.
	ErrLost = errors.New("lost")
	// ErrInvalid is any *InvalidError.
	ErrInvalid = errors.New("invalid")
	// ErrClosed is when the client was closed.
	ErrClosed = transport.ErrClosed
)

// RefusedError is when the server refused. Decide by Reason, never by the text.
type RefusedError struct {
	// Refusal is the contract's, with the metadata that tenurev1.ErrorReason names for each reason. A refusal that does
	// not come from the service itself, but for example from a proxy, has a code of gRPC and no reason.
	Refusal *tenurev1.Refusal
}

// Error is the message; without one, the reason and the code.
func (e *RefusedError) Error() string {
	if e.Refusal.Message != "" {
		return e.Refusal.Message
	}
	return fmt.Sprintf("refused: %s %v", e.Refusal.Reason, codes.Code(e.Refusal.Code))
}

// Is makes it ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Reason is why the server refused: unspecified if this version does not know the reason, or if there is none.
func (e *RefusedError) Reason() tenurev1.ErrorReason {
	return tenurev1.ErrorReason(tenurev1.ErrorReason_value["ERROR_REASON_"+e.Refusal.Reason])
}

// LostReason is why a session or a hold was lost.
type LostReason string

// Why something was lost.
const (
	// LostUnrenewed is when no renewal was answered in time: from now on the server may grant the locks to others.
	LostUnrenewed LostReason = protocol.Unrenewed
	// LostStalled is when no renewal was sent, because the program made no progress (StallAfter): from now on the
	// server may grant the locks to others.
	LostStalled LostReason = protocol.Stalled
	// LostForgotten is when the server does not have it, or no longer.
	LostForgotten LostReason = protocol.Forgotten
	// LostInUse is when another program uses the client's id.
	LostInUse LostReason = protocol.InUse
	// LostReleased is when this program released the hold.
	LostReleased LostReason = protocol.Released
	// LostClosed is when this program closed the session or the client.
	LostClosed LostReason = protocol.Closed
	// LostEnded is when the server reported its end: see LostError.Ended.
	LostEnded LostReason = protocol.Ended
)

// LostError is when the session or the hold was lost.
type LostError struct {
	// Reason is why.
	Reason LostReason
	// Ended is the end that the server reported, with LostEnded; else nil.
	Ended *tenurev1.EndedState
}

var lostTexts = map[LostReason]string{
	LostUnrenewed: "no renewal was answered in time",
	LostStalled:   "not renewed, because the program made no progress",
	LostForgotten: "the server does not know of it any more",
	LostInUse:     "another program uses the client's id",
	LostReleased:  "released by this program",
	LostClosed:    "closed by this program",
}

// Error has the end that the server reported, with the operator and the note: "lost: evicted by anna (host is gone)".
func (e *LostError) Error() string {
	text := "lost: " + lostTexts[e.Reason]
	if e.Reason == LostEnded {
		text += endWord(e.Ended.Reason)
	}
	if e.Ended.GetOperator() != "" {
		text += " by " + e.Ended.Operator
	}
	if e.Ended.GetNote() != "" {
		text += " (" + e.Ended.Note + ")"
	}
	return text
}

// Is makes it ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// InvalidError is when an option is invalid. No request was sent.
type InvalidError struct {
	// Field is the option.
	Field string
	// Problem is what is wrong with it.
	Problem string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("invalid %s: %s", e.Field, e.Problem) }

// Is makes it ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// An option is invalid if a rule is broken.
type rule struct {
	isBroken       bool
	field, problem string
}

func check(rules ...rule) error {
	for _, rule := range rules {
		if rule.isBroken {
			return &InvalidError{rule.field, rule.problem}
		}
	}
	return nil
}

// IsTransient is whether the same call may succeed later, at this or another server: after ErrUnavailable, and after
// refusals of a temporary outage.
func IsTransient(err error) bool {
	return errors.Is(err, ErrUnavailable) ||
		isRefused(err, "STORE_UNAVAILABLE", "OUTCOME_UNKNOWN", "LEASE_LOST", "DRAINING", "OVERLOADED")
}

func isRefused(err error, reasons ...string) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && slices.Contains(reasons, refused.Refusal.Reason)
}

// The error of a call that failed with this one of gRPC.
func failure(err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	if refusal := transport.Refusal(err); refusal != nil {
		return &RefusedError{Refusal: refusal}
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, status.Convert(err).Message())
}

func lostError(loss *protocol.Loss) error {
	if loss == nil {
		return nil
	}
	return &LostError{LostReason(loss.Reason), loss.State}
}

func endWord(reason tenurev1.EndReason) string {
	return strings.ToLower(strings.TrimPrefix(reason.String(), "END_REASON_"))
}
