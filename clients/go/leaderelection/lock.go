// Package leaderelection lets the leader election of Kubernetes' client-go use a lock of Tenure in place of a Lease. A controller
// switches by one line:
//
//	Lock: leaderelection.NewLock(client, "my-controller", identity, renewDeadline)
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
	// The TTL, as quarters of the renew deadline: when a renewal is due, which is after a third of the TTL, the hold still is good
	// for the renew deadline (less drift and margin, which are six in a hundred of the TTL).
	ttlQuarters = 7
	// The label of a claim that has the record.
	recordLabel = "leader-election-record"
)

// Lock is a lock of Tenure as client-go's leader election wants it.
type Lock struct {
	client        *tenure.Client
	name          string
	identity      string
	renewDeadline time.Duration

	mu    sync.Mutex
	guard *tenure.Guard
	// Until then the elector may believe that it still leads by a hold that was lost.
	barredUntil time.Time
}

var _ resourcelock.Interface = (*Lock)(nil)

// NewLock is a candidate's part in the election of this name. The identity tells candidates apart: at most 255 bytes. The renew
// deadline is that of the elector (LeaderElectionConfig.RenewDeadline): the session's TTL follows from it, one and three quarters of
// it, and so how long a leader that died is waited for. A leader is told to go on only while the hold is good for the whole renew
// deadline: so that it has stopped before another leads, also when it hears of nothing.
func NewLock(client *tenure.Client, name, identity string, renewDeadline time.Duration) *Lock {
	return &Lock{client: client, name: name, identity: identity, renewDeadline: renewDeadline}
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

// Get tells who leads. Not found: nobody.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	lock, err := l.client.GetLock(ctx, l.name)
	if err != nil {
		return nil, nil, err
	}
	holder := lock.Holder()
	if holder == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "locks"}, l.name)
	}
	record := resourcelock.LeaderElectionRecord{HolderIdentity: holder.Owner}
	if text := holder.Metadata[recordLabel]; text != "" {
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			return nil, nil, fmt.Errorf("the label %s of lock %q: %w", recordLabel, l.name, err)
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
		return l.keep()
	default:
		return l.take(ctx, record)
	}
}

func (l *Lock) release(ctx context.Context) error {
	guard := l.guard
	l.guard = nil
	if guard == nil {
		return nil
	}
	return guard.Release(ctx)
}

func (l *Lock) keep() error {
	if err := l.guard.Err(); err != nil {
		l.guard = nil
		// Taken again at once it would be another term, of which the elector would not know.
		l.barredUntil = time.Now().Add(l.renewDeadline)
		return err
	}
	if left := time.Until(l.guard.Session().ValidUntil()); left < l.renewDeadline {
		return fmt.Errorf("lock %q is good for %v only: a renewal is overdue", l.name, left)
	}
	return nil
}

func (l *Lock) take(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if time.Now().Before(l.barredUntil) {
		return fmt.Errorf("lock %q was lost: it is not taken again before this candidate has stopped", l.name)
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	guard, busy, err := l.client.Lock(l.name, &tenure.LockOptions{
		Session:  tenure.SessionOptions{TTL: l.renewDeadline / 4 * ttlQuarters, Owner: l.identity},
		Metadata: map[string]string{recordLabel: string(text)},
	}).TryAcquire(ctx)
	switch {
	case err != nil:
		return err
	case busy != nil:
		return apierrors.NewConflict(schema.GroupResource{Resource: "locks"}, l.name, errHeld)
	}
	l.guard = guard
	return nil
}

var errHeld = errors.New("another candidate holds it")

// RecordEvent does nothing: the history of the lock has what happened.
func (l *Lock) RecordEvent(string) {}

// Identity is this candidate's.
func (l *Lock) Identity() string { return l.identity }

// Describe tells which lock it is, for people.
func (l *Lock) Describe() string { return "tenure/" + l.client.Namespace() + "/" + l.name }
