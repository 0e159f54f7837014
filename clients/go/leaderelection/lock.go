// Package leaderelection lets the leader election of Kubernetes' client-go use a lock of Tenure in place of a Lease. A
// controller switches by one line:
//
//	Lock: leaderelection.NewLock(client, "my-controller", identity, nil)
//
// The lock of Tenure decides; the record that client-go reads is made from it.
package leaderelection

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// What an elector may take longer than it is configured to, as a part of the renew deadline.
	slackDivisor = 10
	// The least TTL as a part of the time for which a session is to be valid: the rest is for drift and for the client
	// to act.
	ttlNumerator, ttlDenominator = 10, 9
	// The label of a claim that has the record.
	recordLabel = "leader-election-record"
)

// Options of a Lock. The zero value and nil are the defaults.
type Options struct {
	// RenewDeadline is that of the elector (LeaderElectionConfig). Default: 10 s, as in Kubernetes.
	RenewDeadline time.Duration
	// RetryPeriod is that of the elector. Default: 2 s, as in Kubernetes.
	RetryPeriod time.Duration
	// DisconnectGrace is how long the leadership outlives the leader's connection, as in tenure.SessionOptions: at
	// least the renew deadline and the retry period together and a quarter of that, at most the lease duration.
	// Default: none, the lease duration alone applies.
	DisconnectGrace time.Duration
	// Metadata are further labels on the claim. Default: none.
	Metadata map[string]string
}

// Lock is a lock of Tenure as client-go's leader election requires it.
type Lock struct {
	client   *tenure.Client
	name     string
	identity string
	options  Options
	// How long after an update the elector may continue to lead, whatever happens.
	term time.Duration

	mu    sync.Mutex
	guard *tenure.Guard
	// The record under which it was acquired.
	record resourcelock.LeaderElectionRecord
	// Until then the elector may believe that it still leads by a hold that was lost.
	barredUntil time.Time
}

var _ resourcelock.Interface = (*Lock)(nil)

// NewLock is a candidacy in the election of this name. The identity distinguishes candidates: at most 255 bytes.
//
// The lease duration of the elector is the TTL of the session, and so the time after which a leader that died is
// replaced. An elector whose updates fail continues to lead for its renew deadline and retry period together: an update
// succeeds only while the hold is valid for that long and a tenth of the renew deadline more, and a lease duration that
// is too short for that is raised.
func NewLock(client *tenure.Client, name, identity string, options *Options) *Lock {
	lock := &Lock{client: client, name: name, identity: identity}
	if options != nil {
		lock.options = *options
	}
	deadline := cmp.Or(lock.options.RenewDeadline, 10*time.Second)
	lock.term = deadline + cmp.Or(lock.options.RetryPeriod, 2*time.Second) + deadline/slackDivisor
	return lock
}

// Hold is what is held while this candidate leads, with the fencing token; nil otherwise.
func (l *Lock) Hold() *tenure.Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.guard == nil {
		return nil
	}
	return l.guard.Hold
}

// Get is the record of the leader; without a leader, that of the last one without its identity. Not found: there never
// was one. The own record needs no call: an elector that is about to stop must not wait for a server that does not
// reply.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	guard, record, isBarred := l.guard, l.record, time.Now().Before(l.barredUntil)
	l.mu.Unlock()
	if guard != nil && !guard.IsValid() || guard == nil && isBarred {
		return nil, nil, errLost
	}
	if guard == nil {
		var err error
		if record, err = l.read(ctx); err != nil {
			return nil, nil, err
		}
	}
	// It is held at this moment: to the elector, which looks for changes, that is a renewal.
	record.RenewTime = metav1.NewTime(time.Now())
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l *Lock) read(ctx context.Context) (record resourcelock.LeaderElectionRecord, err error) {
	reply, err := l.client.GetLock(ctx, &tenurev1.GetLockRequest{Name: l.name})
	if err != nil {
		return record, err
	}
	if holder := tenure.HolderOf(reply.Lock); holder != nil {
		record, err = decode(holder.Metadata)
		record.HolderIdentity = cmp.Or(record.HolderIdentity, holder.Owner)
		return record, err
	}
	request := &tenurev1.ListHistoryRequest{Name: l.name}
	for entry, err := range tenure.Pages(ctx, l.client.ListHistory, request, (*tenurev1.ListHistoryResponse).GetEntries) {
		if err != nil {
			return record, err
		}
		if hold := entry.GetHold(); hold != nil {
			record, err = decode(hold.Metadata)
			record.HolderIdentity = ""
			return record, err
		}
	}
	return record, apierrors.NewNotFound(schema.GroupResource{Resource: "locks"}, l.name)
}

func decode(metadata map[string]string) (record resourcelock.LeaderElectionRecord, err error) {
	if text := metadata[recordLabel]; text != "" {
		if err = json.Unmarshal([]byte(text), &record); err != nil {
			err = fmt.Errorf("the label %s: %w", recordLabel, err)
		}
	}
	return record, err
}

// Create acquires the lock if it is free.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

// Update renews the hold, or acquires the lock if it is free. With a record without a holder it releases the lock.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case record.HolderIdentity == "":
		return l.release(ctx)
	case l.guard != nil:
		return l.renew(ctx)
	default:
		return l.acquire(ctx, record)
	}
}

// Releases the lock. Waits for that only while it is safe to lead meanwhile; the release is repeated in the background.
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

func (l *Lock) renew(ctx context.Context) error {
	if err := l.guard.Session().Renew(ctx); err != nil && l.guard.IsValid() {
		return err
	}
	if err := l.guard.Err(); err != nil {
		// The session of an evicted hold is still open.
		_ = l.guard.Release(ctx)
		l.guard = nil
		// Acquired again at once it would be another term, of which the elector would not know.
		l.barredUntil = time.Now().Add(l.term)
		return err
	}
	if left := time.Until(l.guard.Session().ValidUntil()); left < l.term {
		return fmt.Errorf("lock %q is valid for %v only: the elector needs %v", l.name, left, l.term)
	}
	return nil
}

func (l *Lock) acquire(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if time.Now().Before(l.barredUntil) {
		return errLost
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	metadata := map[string]string{recordLabel: string(text)}
	maps.Copy(metadata, l.options.Metadata)
	leaseDuration := time.Duration(record.LeaseDurationSeconds) * time.Second
	guard, busy, err := l.client.Lock(l.name, &tenure.LockOptions{
		Session: tenure.SessionOptions{
			TTL: max(leaseDuration, l.term*ttlNumerator/ttlDenominator), Owner: l.identity,
			DisconnectGrace: l.options.DisconnectGrace,
		},
		Metadata: metadata,
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

var (
	errHeld = errors.New("another candidate holds it")
	errLost = errors.New("the lock was lost, and is not acquired again before this candidate has stopped")
)

// RecordEvent has no effect: the history of the lock has the events.
func (l *Lock) RecordEvent(string) {}

// Identity is this candidate's.
func (l *Lock) Identity() string { return l.identity }

// Describe names the lock, for people.
func (l *Lock) Describe() string { return "tenure/" + l.client.Namespace() + "/" + l.name }
