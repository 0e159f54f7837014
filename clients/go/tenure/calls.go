package tenure

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/internal/engine"
	"github.com/tenure-lock/tenure/clients/go/internal/link"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const (
	// Pauses between tries of one call: from this ...
	firstCallPause = 20 * time.Millisecond
	// ... to this.
	longestCallPause = 500 * time.Millisecond
)

// Whether a call may be tried again when its answer was lost; if not, only when it surely had no effect.
type retry bool

// Doing it twice is doing it once.
const retrySafe retry = true

var errMoved = errors.New("the stream has gone to another server")

// A plain call: a read or an operator's means, beside the stream.
type method[Request, Answer any] func(context.Context, Request, ...grpc.CallOption) (Answer, error)

// One call to the server that the stream is connected to, tried again elsewhere until the call's deadline. For one that the
// server answers only after some wait, that comes on top.
func call[Request, Answer any](
	ctx context.Context, c *Client, safe retry, wait time.Duration, request Request,
	of func(grpc.ClientConnInterface) method[Request, Answer],
) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, wait+c.callTimeout())
	defer cancel()
	pauses := backoff.New(firstCallPause, longestCallPause)
	for {
		answer, err := callOnce(limited, c, safe, request, of)
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return answer, context.Cause(ctx)
		case errors.Is(err, errMoved):
			// When time is up as well, the next try says so.
			continue
		case limited.Err() != nil:
			return answer, err
		}
		var refused *RefusedError
		isAgain := errors.Is(err, ErrUnavailable) && safe == retrySafe || errors.As(err, &refused) && refused.IsTransient()
		deadline, _ := limited.Deadline()
		pausing := pauses.Next()
		if !isAgain || time.Now().Add(pausing).After(deadline) || !pause(limited, pausing) {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return answer, err
		}
	}
}

func callOnce[Request, Answer any](
	ctx context.Context, c *Client, safe retry, request Request, of func(grpc.ClientConnInterface) method[Request, Answer],
) (Answer, error) {
	var none Answer
	if c.closed.Load() {
		return none, ErrClosed
	}
	conn, err := c.link.Conn(ctx)
	if err != nil {
		return none, told(err)
	}
	defer conn.Release()
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if safe == retrySafe {
		// The stream has noticed that the server is gone: no need to wait for this call's deadline.
		go func() {
			select {
			case <-conn.Changed:
				cancel(errMoved)
			case <-attempt.Done():
			}
		}()
	}
	answer, err := of(conn)(attempt, request)
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(context.Cause(attempt), errMoved):
		return none, errMoved
	case ctx.Err() != nil:
		return none, told(&engine.Unavailable{Problem: "the server did not answer"})
	default:
		return none, told(link.Failure(err))
	}
}

// The items of all pages, asked for page by page.
func pages[Item any](read func(token string) ([]Item, string, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var none Item
		for token, isFirst := "", true; isFirst || token != ""; isFirst = false {
			items, next, err := read(token)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			token = next
		}
	}
}

// GetLock reads one lock. A lock that nobody ever asked for is an idle lock, not an error.
func (c *Client) GetLock(ctx context.Context, name string) (*LockInfo, error) {
	request := &tenurev1.GetLockRequest{Namespace: c.Namespace(), Name: name}
	answer, err := call(ctx, c, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.GetLockRequest, *tenurev1.GetLockResponse] {
			return tenurev1.NewLockServiceClient(conn).GetLock
		})
	if err != nil {
		return nil, err
	}
	lock := lockOf(answer.Lock)
	lock.Name = name
	return &lock, nil
}

// ListLocks tells the locks that are held or waited for and whose names begin with prefix (empty: all), in byte order of their
// names. Asked for page by page; each page is true at a revision of its own. An error ends it.
func (c *Client) ListLocks(ctx context.Context, prefix string) iter.Seq2[LockInfo, error] {
	return pages(func(token string) ([]LockInfo, string, error) {
		request := &tenurev1.ListLocksRequest{Namespace: c.Namespace(), Prefix: prefix, PageToken: token}
		page, err := call(ctx, c, retrySafe, 0, request,
			func(conn grpc.ClientConnInterface) method[*tenurev1.ListLocksRequest, *tenurev1.ListLocksResponse] {
				return tenurev1.NewLockServiceClient(conn).ListLocks
			})
		return each(page.GetLocks(), lockOf), page.GetNextPageToken(), err
	})
}

// GetSession reads one open session, with as many of its claims as fit into 1 MiB. A *RefusedError with ReasonSessionNotFound or
// ReasonSessionEnded if it is not open.
func (c *Client) GetSession(ctx context.Context, sessionID string) (*SessionInfo, error) {
	request := &tenurev1.GetSessionRequest{Namespace: c.Namespace(), SessionId: sessionID}
	answer, err := call(ctx, c, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.GetSessionRequest, *tenurev1.GetSessionResponse] {
			return tenurev1.NewSessionServiceClient(conn).GetSession
		})
	if err != nil {
		return nil, err
	}
	session := sessionOf(answer.Session)
	return &session, nil
}

// ListSessions tells the open sessions, oldest first. Asked for page by page. An error ends it.
func (c *Client) ListSessions(ctx context.Context) iter.Seq2[SessionInfo, error] {
	return pages(func(token string) ([]SessionInfo, string, error) {
		request := &tenurev1.ListSessionsRequest{Namespace: c.Namespace(), PageToken: token}
		page, err := call(ctx, c, retrySafe, 0, request,
			func(conn grpc.ClientConnInterface) method[*tenurev1.ListSessionsRequest, *tenurev1.ListSessionsResponse] {
				return tenurev1.NewSessionServiceClient(conn).ListSessions
			})
		return each(page.GetSessions(), sessionOf), page.GetNextPageToken(), err
	})
}
