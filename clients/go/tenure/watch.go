package tenure

import (
	"context"
	"iter"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// Watch is the events of locks and groups: with neither names nor prefixes nor groups, as with nil, of all locks. Each
// revision once and in order, across reconnects. The parts of a snapshot are joined to one. A slow reader misses
// nothing: the watch is resumed after the last revision that the reader has received.
//
// It ends after an error, which is its last item: when the context is done, with ErrClosed when the client is closed,
// and after an error that a retry cannot fix.
func (c *Client) Watch(
	ctx context.Context, request *tenurev1.WatchRequest,
) iter.Seq2[*tenurev1.WatchResponse, error] {
	return func(yield func(*tenurev1.WatchResponse, error) bool) {
		resumed := &tenurev1.WatchRequest{}
		proto.Merge(resumed, request)
		resumed.Namespace = c.options.Namespace
		pauses := pausesOfCalls
		for {
			err := c.follow(ctx, resumed, func(response *tenurev1.WatchResponse) bool {
				pauses.Reset()
				return yield(response, nil)
			})
			switch {
			case err == nil:
				return
			case !IsTransient(err) || !pause(ctx, pauses.Next()):
				yield(nil, causeOr(ctx, err))
				return
			}
		}
	}
}

// Watches at one server, until that ends or the client leaves the server; nil if the reader has stopped. Updates the
// request to resume after what has been delivered.
func (c *Client) follow(
	ctx context.Context, request *tenurev1.WatchRequest, deliver func(*tenurev1.WatchResponse) bool,
) error {
	limited, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	conn, left, err := c.driver.Conn(limited)
	if err != nil {
		return failure(err)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	// A silent server would not end the watch.
	defer context.AfterFunc(left, stop)()
	responses, err := tenurev1.NewWatchServiceClient(conn).Watch(watching, request)
	if err != nil {
		return failure(err)
	}
	// The parts of a snapshot received so far; of a lock that changed meanwhile, the last state.
	var groups []*tenurev1.Group
	locks := map[string]*tenurev1.Lock{}
	for {
		response, err := responses.Recv()
		if err != nil {
			return failure(err)
		}
		after := response.Revision
		if snapshot := response.GetSnapshot(); snapshot != nil {
			for _, lock := range snapshot.Locks {
				locks[lock.Name] = lock
			}
			groups = append(groups, snapshot.Groups...)
			if snapshot.More {
				continue
			}
			snapshot.Groups, snapshot.Locks = groups, nil
			for _, name := range slices.Sorted(maps.Keys(locks)) {
				snapshot.Locks = append(snapshot.Locks, locks[name])
			}
		}
		if response.GetHistoryGone() != nil {
			clear(locks)
			groups, after = nil, 0
		}
		request.AfterRevision = after
		if !deliver(response) {
			return nil
		}
	}
}
