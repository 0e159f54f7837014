// Package leaderelection lets the leader election of Kubernetes' client-go use a lock of Tenure in place of a Lease. A controller
// switches by one line:
//
//	Lock: leaderelection.NewLock(client, "my-controller", identity, renewDeadline, retryPeriod)
//
// The lock of Tenure is what decides; the record that client-go looks at is made from it.
package leaderelection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

const (
	// The TTL, as quarters of the time for which the hold has to be good: when a renewal is due, which is after a third of the TTL,
	// it still is (less drift and margin, which are six in a hundred of the TTL).
	ttlQuarters = 7
	// What an elector may take longer than it is set to, as a part of the renew deadline.
	slackDivisor = 10
	// The label of a claim that has the record.
	recordLabel = "leader-election-record"
)

// Lock is a lock of Tenure as client-go's leader election wants it.
type Lock struct {
	client   *tenure.Client
	name     string
	identity string
	// For how long after an update the elector may go on leading, whatever happens.
	term time.Duration

	mu    sync.Mutex
	guard *tenure.Guard
	// The one under which it was taken.
	record resourcelock.LeaderElectionRecord
	// Until then the elector may believe that it still leads by a hold that was lost.
	barredUntil time.Time
}

var _ resourcelock.Interface = (*Lock)(nil)

// NewLock is a candidate's part in the election of this name. The identity tells candidates apart: at most 255 bytes.
//
// The renew deadline and the retry period are those of the elector (LeaderElectionConfig). An elector that hears of nothing goes on
// leading for both together: so it is told to go on only while the hold is good for that long and a tenth of the renew deadline more.
// The session's TTL is one and three quarters of that; as long is a leader that died waited for.
func NewLock(client *tenure.Client, name, identity string, renewDeadline, retryPeriod time.Duration) *Lock {
	return &Lock{
		client: client, name: name, identity: identity, term: renewDeadline + retryPeriod + renewDeadline/slackDivisor,
	}
}

// Hold is what is held while this candidate leads, with the fencing token; nil else.
func (l *Lock) Hold() *tenure.Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.guard == nil {
		return nil
	}
	return l.guard.Hold
}

// Get tells who leads. Not found: nobody. Of itself it is told without asking: an elector that is about to stop must not wait for
// a server that does not answer.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	guard, record := l.guard, l.record
	l.mu.Unlock()
	switch {
	case guard != nil && guard.IsValid():
	case guard != nil || l.isBarred():
		return nil, nil, errLost
	default:
		lock, err := l.client.GetLock(ctx, l.name)
		if err != nil {
			return nil, nil, err
		}
		holder := lock.Holder()
		if holder == nil {
			return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "locks"}, l.name)
		}
		record = resourcelock.LeaderElectionRecord{HolderIdentity: holder.Owner}
		if text := holder.Metadata[recordLabel]; text != "" {
			if err := json.Unmarshal([]byte(text), &record); err != nil {
				return nil, nil, fmt.Errorf("the label %s of lock %q: %w", recordLabel, l.name, err)
			}
		}
	}
	// It is held at this very moment: to the elector, which looks for changes, that is a renewal.
	record.RenewTime = metav1.NewTime(time.Now())
	raw, err := json.Marshal(record)
	return &record, raw, err
}

// Create takes the lock if nobody has it.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

// Update keeps the lock, or takes it if nobody has it. With a record that names no holder it gives it back.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case record.HolderIdentity == "":
		return l.release(ctx)
	case l.guard != nil:
		return l.keep(ctx)
	default:
		return l.take(ctx, record)
	}
}

// Gives the lock back. Waits for that only while it is safe to go on leading meanwhile; it is tried further all the same.
func (l *Lock) release(ctx context.Context) error {
	guard := l.guard
	l.guard = nil
	if guard == nil {
		return nil
	}
	left := time.Until(guard.Session().ValidUntil())
	waiting, cancel := context.WithTimeout(ctx, max(0, left-l.term/2))
	defer cancel()
	return guard.Release(waiting)
}

func (l *Lock) keep(ctx context.Context) error {
	if err := l.guard.Err(); err != nil {
		// An evicted hold leaves its session, which ends with this.
		_ = l.guard.Release(ctx)
		l.guard = nil
		// Taken again at once it would be another term, of which the elector would not know.
		l.barredUntil = time.Now().Add(l.term)
		return err
	}
	if left := time.Until(l.guard.Session().ValidUntil()); left < l.term {
		return fmt.Errorf("lock %q is good for %v only: a renewal is overdue", l.name, left)
	}
	return nil
}

func (l *Lock) take(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if time.Now().Before(l.barredUntil) {
		return errLost
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	guard, busy, err := l.client.Lock(l.name, &tenure.LockOptions{
		Session:  tenure.SessionOptions{TTL: l.term / 4 * ttlQuarters, Owner: l.identity},
		Metadata: map[string]string{recordLabel: string(text)},
	}).TryAcquire(ctx)
	switch {
	case err != nil:
		return err
	case busy != nil:
		return apierrors.NewConflict(schema.GroupResource{Resource: "locks"}, l.name, errHeld)
	}
	l.guard, l.record = guard, record
	return nil
}

func (l *Lock) isBarred() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.barredUntil)
}

var (
	errHeld = errors.New("another candidate holds it")
	errLost = errors.New("the lock was lost, and is not taken again before this candidate has stopped")
)

// RecordEvent does nothing: the history of the lock has what happened.
func (l *Lock) RecordEvent(string) {}

// Identity is this candidate's.
func (l *Lock) Identity() string { return l.identity }

// Describe tells which lock it is, for people.
func (l *Lock) Describe() string { return "tenure/" + l.client.Namespace() + "/" + l.name }
