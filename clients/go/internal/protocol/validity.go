package protocol

import (
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
)

// The times of a session that is open, as its server computed them: they count from when the last acknowledged renewal
// was sent, never from when the acknowledgement arrived.

func (i *Item) validFor() time.Duration { return i.State.GetOpen().GetValidFor().AsDuration() }

// Until is from when on a session that is open is lost.
func (i *Item) Until() clock.Moment { return i.Renewed.After(i.validFor()) }

// AtRiskFrom is from when on a session that is open is at risk.
func (i *Item) AtRiskFrom() clock.Moment {
	return i.Renewed.After(min(i.State.GetOpen().GetWarnAfter().AsDuration(), i.validFor()))
}
