package tenure

import (
	"slices"
	"strings"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// Event is something that happened to one lock.
type Event struct {
	// Revision is the namespace's that this event made.
	Revision uint64
	// Name is the lock.
	Name string
	// Kind is what happened.
	Kind EventKind
	// Claim is whose claim it happened to. Nil with EventConfigured.
	Claim *Claim
	// EndReason is why the claim (with EventTransferred: the previous one) ended. Empty if it did not.
	EndReason EndReason
	// Operator is who did it, if an operator did.
	Operator string
	// Note is the operator's.
	Note string
	// Vacant is whether nobody holds the lock any more.
	Vacant bool
	// Time is the wall clock of the server that wrote it, for people.
	Time time.Time
	// Previous is the hold that ended, with EventTransferred.
	Previous *Claim
	// Settings are what is set from now on, with EventConfigured.
	Settings *LockSettings
}

// EventKind is what can happen to a lock. It is the kind in lowercase.
type EventKind string

// What can happen to a lock.
const (
	// EventQueued is when a claim joined the queue.
	EventQueued EventKind = "queued"
	// EventGranted is when a claim was granted: its session holds the lock.
	EventGranted EventKind = "granted"
	// EventLingering is when a hold was released before its minimum hold was over.
	EventLingering EventKind = "lingering"
	// EventEnded is when a claim ended: the hold is over, or the waiter left.
	EventEnded EventKind = "ended"
	// EventTransferStarted is when the holder was asked to hand over. It holds on until it confirms.
	EventTransferStarted EventKind = "transfer_started"
	// EventTransferCancelled is when the holder did not confirm in time. It holds on.
	EventTransferCancelled EventKind = "transfer_cancelled"
	// EventTransferred is when the hold was handed over in one step: Previous ended and Claim was granted.
	EventTransferred EventKind = "transferred"
	// EventUpdated is when the labels of a hold were replaced.
	EventUpdated EventKind = "updated"
	// EventConfigured is when an operator set something on the lock.
	EventConfigured EventKind = "configured"
)

// eventsOf are the events of each lock: of a claim to several there is one event in the contract.
func eventsOf(wire []*tenurev1.Event) []Event {
	events := make([]Event, 0, len(wire))
	for _, event := range wire {
		for _, name := range event.Names {
			events = append(events, eventOf(event, name))
		}
	}
	return events
}

func eventOf(wire *tenurev1.Event, name string) Event {
	event := Event{
		Revision: wire.Revision, Name: name, Kind: EventKind(word(wire.Type.String(), "EVENT_TYPE_")),
		Claim: optionalClaim(wire.Claim), EndReason: endReasonOf(wire.EndReason), Operator: wire.Operator, Note: wire.Note,
		Vacant: slices.Contains(wire.VacantNames, name), Time: timeOf(wire.Time), Previous: optionalClaim(wire.Previous),
	}
	if wire.Type == tenurev1.EventType_EVENT_TYPE_CONFIGURED {
		settings := settingsOf(wire.Settings)
		event.Settings = &settings
	}
	return event
}

// The word of a value of an enumeration.
func word(value, prefix string) string { return strings.ToLower(strings.TrimPrefix(value, prefix)) }
