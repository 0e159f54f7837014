package tenure

import (
	"context"
	"iter"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// HistoryEntry is something in the history of a lock: either a hold, or a loss of history.
type HistoryEntry struct {
	// Hold is one that somebody had, or has.
	Hold *HoldRecord
	// Loss is a part of the history that the database lost, as by a failover to a copy that was behind. Holds of that time are
	// missing, and one that lasted over it may have ended earlier than it says.
	Loss *HistoryLoss
}

// HistoryLoss is a part of the history that the database lost.
type HistoryLoss struct {
	// AfterRevision is the last one before the loss.
	AfterRevision uint64
	// Revision is the first one after it.
	Revision uint64
	// Time is when it was noticed, by the wall clock of the server that did.
	Time time.Time
}

// HoldRecord is a hold, from its grant to its end. What is no longer in history, or not known to the server that answered, is
// zero. Times are wall clocks of the servers that wrote them, for people.
type HoldRecord struct {
	// ClaimID is the revision of the event that created the claim.
	ClaimID uint64
	// Names are all names of the claim, in byte order.
	Names []string
	// Token is the fencing token.
	Token uint64
	// SessionID is the session that held it.
	SessionID string
	// Owner is that session's owner label.
	Owner string
	// Metadata is what was attached to the claim.
	Metadata map[string]string
	// Priority is the claim's among waiters.
	Priority int32
	// Queued is when it was asked for.
	Queued time.Time
	// Granted is when it was granted.
	Granted time.Time
	// Ended is when it ended. Zero: it lasts.
	Ended time.Time
	// Waited is how long the claim waited for the grant.
	Waited time.Duration
	// Held is how long it was held, or has been held until now.
	Held time.Duration
	// LongestPause is the longest time without a renewal of the session during the hold. Close to the TTL: the holder was about to
	// lose its locks.
	LongestPause time.Duration
	// SinceRenewal is, for a hold that lasts, how long ago the session was renewed.
	SinceRenewal time.Duration
	// TTL is what the session was opened with.
	TTL time.Duration
	// EndReason is why it ended. Empty: it lasts.
	EndReason EndReason
	// Operator is who ended it, if an operator did.
	Operator string
	// Note is the operator's.
	Note string
}

// History tells who held a lock, as far back as history is kept: the holds that last first, then those that are over, what ended
// last first. Asked for page by page, so that stopping early costs nothing. An error ends it.
func (c *Client) History(ctx context.Context, name string) iter.Seq2[HistoryEntry, error] {
	return pages(func(token string) ([]HistoryEntry, string, error) {
		request := &tenurev1.ListHistoryRequest{Namespace: c.Namespace(), Name: name, PageToken: token}
		page, err := call(ctx, c, retrySafe, 0, request,
			func(conn grpc.ClientConnInterface) method[*tenurev1.ListHistoryRequest, *tenurev1.ListHistoryResponse] {
				return tenurev1.NewLockServiceClient(conn).ListHistory
			})
		return historyOf(page.GetEntries()), page.GetNextPageToken(), err
	})
}

// Without what this version does not know.
func historyOf(wires []*tenurev1.HistoryEntry) []HistoryEntry {
	var entries []HistoryEntry
	for _, wire := range wires {
		switch kind := wire.Kind.(type) {
		case *tenurev1.HistoryEntry_Hold:
			entries = append(entries, HistoryEntry{Hold: holdRecordOf(kind.Hold)})
		case *tenurev1.HistoryEntry_Loss:
			entries = append(entries, HistoryEntry{Loss: &HistoryLoss{
				AfterRevision: kind.Loss.AfterRevision, Revision: kind.Loss.Revision, Time: timeOf(kind.Loss.Time),
			}})
		}
	}
	return entries
}

func holdRecordOf(wire *tenurev1.HoldRecord) *HoldRecord {
	return &HoldRecord{
		ClaimID: wire.ClaimId, Names: wire.Names, Token: wire.Token, SessionID: wire.SessionId, Owner: wire.Owner,
		Metadata: wire.Metadata, Priority: wire.Priority, Queued: timeOf(wire.QueuedTime), Granted: timeOf(wire.GrantedTime),
		Ended: timeOf(wire.EndedTime), Waited: wire.Waited.AsDuration(), Held: wire.Held.AsDuration(),
		LongestPause: wire.LongestPause.AsDuration(), SinceRenewal: wire.SinceRenewal.AsDuration(), TTL: wire.Ttl.AsDuration(),
		EndReason: endReasonOf(wire.EndReason), Operator: wire.Operator, Note: wire.Note,
	}
}
