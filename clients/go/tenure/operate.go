package tenure

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// For how long a holder may go on if nobody says: the contract's default.
const defaultDrain = 10 * time.Second

// EvictOptions tell how to evict a holder.
type EvictOptions struct {
	// Operator is who evicts, for history: 1 to 255 bytes. Required.
	Operator string
	// Note is why, for history: at most 255 bytes.
	Note string
	// Token evicts only the hold with this token. Default: whoever holds the lock.
	Token uint64
}

// TransferOptions tell how to hand over a lock that somebody else holds.
type TransferOptions struct {
	// Operator is who asks, for history: 1 to 255 bytes. Required.
	Operator string
	// Note is why, for history: at most 255 bytes.
	Note string
	// To is the session that is to hold next, which must be waiting for the lock. Default: the first in the queue.
	To string
	// Token hands over only the hold with this token. Needed if several hold the lock.
	Token uint64
	// Drain is for how long the holder may go on, to stop its work: 100 ms to 1 h. Default: 10 s.
	Drain time.Duration
}

// ConfigureOptions tell who sets something on a lock.
type ConfigureOptions struct {
	// Operator is who sets it, for history: 1 to 255 bytes. Required.
	Operator string
	// Note is why, for history: at most 255 bytes.
	Note string
}

// Evict ends the hold of a lock against its holder's will, and answers what was ended. For operators; recorded in history. After
// ErrUnavailable it may or may not have taken effect unless a token was given.
func (c *Client) Evict(ctx context.Context, name string, options EvictOptions) ([]Claim, error) {
	request := &tenurev1.EvictRequest{
		Namespace: c.Namespace(), Name: name, Token: options.Token, Operator: options.Operator, Note: options.Note,
	}
	// Without a token a second try could evict the next holder.
	answer, err := call(ctx, c, retry(options.Token > 0), 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.EvictRequest, *tenurev1.EvictResponse] {
			return tenurev1.NewLockServiceClient(conn).Evict
		})
	return each(answer.GetEvicted(), claimOf), err
}

// Transfer hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. It returns when it is done, with
// the new hold. For operators; recorded in history. There is no moment at which nobody holds the lock. A *RefusedError with
// ReasonTransferImpossible, ReasonTransferPending, or ReasonTransferNotConfirmed if the holder did not stop in time, and holds on.
func (c *Client) Transfer(ctx context.Context, name string, options TransferOptions) (*Claim, error) {
	request := &tenurev1.TransferRequest{
		Namespace: c.Namespace(), Name: name, Token: options.Token, ToSessionId: options.To,
		Drain: optionalDuration(options.Drain), Operator: options.Operator, Note: options.Note,
	}
	drain := options.Drain
	if drain == 0 {
		drain = defaultDrain
	}
	// Without a token a second try could make the next holder hand over.
	answer, err := c.transfer(ctx, retry(options.Token > 0), drain, request)
	if err != nil {
		return nil, err
	}
	return optionalClaim(answer.Claim), nil
}

// Hands over what a session of this client holds. Answers the next token.
func (c *Client) handOver(ctx context.Context, name, sessionID string, token uint64, to string) (uint64, error) {
	request := &tenurev1.TransferRequest{
		Namespace: c.Namespace(), Name: name, Token: token, ToSessionId: to, SessionId: sessionID,
	}
	answer, err := c.transfer(ctx, retrySafe, 0, request)
	return answer.GetToken(), err
}

func (c *Client) transfer(
	ctx context.Context, safe retry, wait time.Duration, request *tenurev1.TransferRequest,
) (*tenurev1.TransferResponse, error) {
	return call(ctx, c, safe, wait, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.TransferRequest, *tenurev1.TransferResponse] {
			return tenurev1.NewLockServiceClient(conn).Transfer
		})
}

func (c *Client) updateClaim(
	ctx context.Context, name, sessionID string, token uint64, metadata map[string]string,
) error {
	request := &tenurev1.UpdateClaimRequest{
		Namespace: c.Namespace(), Name: name, SessionId: sessionID, Token: token, Metadata: metadata,
	}
	_, err := call(ctx, c, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.UpdateClaimRequest, *tenurev1.UpdateClaimResponse] {
			return tenurev1.NewLockServiceClient(conn).UpdateClaim
		})
	return err
}

// ConfigureLock sets what claims to a lock have to go by, in place of what was set before. It takes nothing from holders; waiters
// that ask for more permits than there are then, are ended. For operators; recorded in history.
func (c *Client) ConfigureLock(
	ctx context.Context, name string, settings LockSettings, options ConfigureOptions,
) (*LockInfo, error) {
	request := &tenurev1.ConfigureLockRequest{
		Namespace: c.Namespace(), Name: name, Settings: settings.toWire(), Operator: options.Operator, Note: options.Note,
	}
	answer, err := call(ctx, c, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.ConfigureLockRequest, *tenurev1.ConfigureLockResponse] {
			return tenurev1.NewLockServiceClient(conn).ConfigureLock
		})
	if err != nil {
		return nil, err
	}
	lock := lockOf(answer.Lock)
	return &lock, nil
}
