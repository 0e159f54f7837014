package tenure

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

// The kinds of errors, for errors.Is. That somebody else holds a lock is no error.
var (
	// ErrUnavailable is any *UnavailableError.
	ErrUnavailable = errors.New("no server answered in time")
	// ErrRefused is any *RefusedError.
	ErrRefused = errors.New("refused")
	// ErrLost is any *LostError.
	ErrLost = errors.New("lost")
	// ErrInvalid is any *InvalidError.
	ErrInvalid = errors.New("invalid")
	// ErrClosed tells that the client was closed.
	ErrClosed = errors.New("the client was closed")
)

// UnavailableError tells that no server answered before the call's deadline. What was asked may or may not have taken effect.
type UnavailableError struct {
	// Problem is what is known about why, for people.
	Problem string
}

func (e *UnavailableError) Error() string { return "no server answered in time: " + e.Problem }

// Is makes it ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// RefusedError tells that the server refused. Decide by its Reason, never by the text.
type RefusedError struct {
	// Reason is the contract's ErrorReason without its prefix.
	Reason Reason
	// Message is for people.
	Message string
	// Metadata has the facts, by the names that the contract gives for each reason.
	Metadata map[string]string
}

func (e *RefusedError) Error() string {
	if e.Message == "" {
		return string(e.Reason)
	}
	return e.Message
}

// Is makes it ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// IsTransient tells whether the same call may well succeed later, at this or another server.
func (e *RefusedError) IsTransient() bool {
	return (&engine.Refusal{Reason: string(e.Reason)}).IsTransient()
}

// LostError tells that a session or a hold is lost.
type LostError struct {
	// Reason is why.
	Reason LostReason
	// EndReason is why the server says that it ended, with LostEnded.
	EndReason EndReason
	// Operator is who ended it, if an operator did.
	Operator string
	// Note is the operator's.
	Note string
}

func (e *LostError) Error() string {
	switch {
	case e.Reason == LostEnded && e.Operator != "" && e.Note != "":
		return fmt.Sprintf("lost: %s by %s (%s)", e.EndReason, e.Operator, e.Note)
	case e.Reason == LostEnded && e.Operator != "":
		return fmt.Sprintf("lost: %s by %s", e.EndReason, e.Operator)
	case e.Reason == LostEnded:
		return "lost: " + string(e.EndReason)
	default:
		return "lost: " + lostTexts[e.Reason]
	}
}

// Is makes it ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

var lostTexts = map[LostReason]string{
	LostReleased:  "released by this program",
	LostClosed:    "closed by this program",
	LostExpired:   "no renewal was answered in time",
	LostStalled:   "not renewed, because the program made no progress",
	LostForgotten: "the server does not know of it any more",
	LostInUse:     "another program uses the session's id",
}

// InvalidError tells that an option cannot be used. Nothing was asked of a server.
type InvalidError struct {
	// Field is which option.
	Field string
	// Problem is what is wrong with it.
	Problem string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("invalid %s: %s", e.Field, e.Problem) }

// Is makes it ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// IsTransient tells whether the same call may well succeed later: what is unavailable, and refusals for now.
func IsTransient(err error) bool {
	var refused *RefusedError
	return errors.Is(err, ErrUnavailable) || errors.As(err, &refused) && refused.IsTransient()
}

// The reason of a refusal, if it is one.
func reasonOf(err error) Reason {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}

func lostError(lost *engine.Lost) *LostError {
	return &LostError{
		Reason: LostReason(lost.Reason), EndReason: EndReason(lost.EndReason), Operator: lost.Operator, Note: lost.Note,
	}
}

// The error as this package tells it.
func told(err error) error {
	var (
		lost        *engine.Lost
		refused     *engine.Refusal
		unavailable *engine.Unavailable
		invalid     *engine.Invalid
	)
	switch {
	case errors.As(err, &lost):
		return lostError(lost)
	case errors.As(err, &refused):
		return &RefusedError{Reason: Reason(refused.Reason), Message: refused.Message, Metadata: refused.Metadata}
	case errors.As(err, &unavailable):
		return &UnavailableError{Problem: unavailable.Problem}
	case errors.As(err, &invalid):
		return &InvalidError{Field: invalid.Field, Problem: invalid.Problem}
	case errors.Is(err, engine.ErrClosed):
		return ErrClosed
	default:
		return err
	}
}

// Waits for an answer, or for the end of the context; then gives it up.
func await[T any](ctx context.Context, reply engine.Reply[T], giveUp func()) (T, error) {
	var none T
	select {
	case outcome := <-reply:
		return outcome.Value, told(outcome.Err)
	case <-ctx.Done():
		giveUp()
		return none, context.Cause(ctx)
	}
}
