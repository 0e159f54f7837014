package tenure

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// The contract's default of TransferRequest.drain.
const defaultDrain = 10 * time.Second

// Calls are reads, and the actions of operators: the contract's own, beside the stream. The client sets the namespace
// in requests, and repeats a call at other servers until its deadline, unless it may have taken effect and a repetition
// could affect the next holder or config. ErrRefused, ErrUnavailable. Lists are page by page: see Pages.
type Calls interface {
	// GetLock reads one lock: see HolderOf. A lock that was never requested is an idle lock, not an error.
	GetLock(context.Context, *tenurev1.GetLockRequest, ...grpc.CallOption) (*tenurev1.GetLockResponse, error)
	// ListLocks is the locks that are held or waited for and whose names begin with a prefix.
	ListLocks(context.Context, *tenurev1.ListLocksRequest, ...grpc.CallOption) (*tenurev1.ListLocksResponse, error)
	// ListHistory is the holds of a lock, as far back as history is kept: current ones first, then ended ones, the last
	// end first.
	ListHistory(context.Context, *tenurev1.ListHistoryRequest, ...grpc.CallOption) (*tenurev1.ListHistoryResponse, error)
	// ListBlocked is the waiting claims, with the claims that they wait for; or only those in a deadlock.
	ListBlocked(context.Context, *tenurev1.ListBlockedRequest, ...grpc.CallOption) (*tenurev1.ListBlockedResponse, error)
	// Evict ends the holds of a lock against their holders' will, or only the one with the token of the request.
	Evict(context.Context, *tenurev1.EvictRequest, ...grpc.CallOption) (*tenurev1.EvictResponse, error)
	// Transfer hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when the
	// handoff is complete. ErrRefused with TRANSFER_IMPOSSIBLE, TRANSFER_PENDING, or TRANSFER_NOT_CONFIRMED if the
	// holder did not stop in time.
	Transfer(context.Context, *tenurev1.TransferRequest, ...grpc.CallOption) (*tenurev1.TransferResponse, error)
	// ConfigureLock sets the settings of a lock, in place of the previous ones.
	ConfigureLock(context.Context, *tenurev1.ConfigureLockRequest, ...grpc.CallOption) (*tenurev1.ConfigureLockResponse, error)
	// GetSession reads one open session. ErrRefused with SESSION_NOT_FOUND or SESSION_ENDED.
	GetSession(context.Context, *tenurev1.GetSessionRequest, ...grpc.CallOption) (*tenurev1.GetSessionResponse, error)
	// ListSessions is the open sessions, oldest first.
	ListSessions(context.Context, *tenurev1.ListSessionsRequest, ...grpc.CallOption) (*tenurev1.ListSessionsResponse, error)
	// GetGroup reads one group. A group that was never joined is an empty group, not an error.
	GetGroup(context.Context, *tenurev1.GetGroupRequest, ...grpc.CallOption) (*tenurev1.GetGroupResponse, error)
	// ListGroups is the groups that have members or a config and whose names begin with a prefix.
	ListGroups(context.Context, *tenurev1.ListGroupsRequest, ...grpc.CallOption) (*tenurev1.ListGroupsResponse, error)
	// ConfigureGroup sets the config of a group, or clears it; with an expected_revision only if that is the current
	// one: else ErrRefused with CONFIG_CONFLICT.
	ConfigureGroup(context.Context, *tenurev1.ConfigureGroupRequest, ...grpc.CallOption) (*tenurev1.ConfigureGroupResponse, error)
}

// The services of the contract whose calls are used.
type services struct {
	tenurev1.LockServiceClient
	tenurev1.SessionServiceClient
	tenurev1.GroupServiceClient
}

func newServices(conn grpc.ClientConnInterface) services {
	return services{
		tenurev1.NewLockServiceClient(conn), tenurev1.NewSessionServiceClient(conn), tenurev1.NewGroupServiceClient(conn),
	}
}

// A connection of plain calls, which are repeated at other servers until their deadline.
type repeating struct {
	*Client
	grpc.ClientConnInterface
}

// Invoke makes one call to the server that the stream is connected to.
func (r repeating) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	wait, isSafe := time.Duration(0), true
	switch request := request.(type) {
	case *tenurev1.EvictRequest:
		isSafe = request.Token != 0
	case *tenurev1.TransferRequest:
		isSafe = request.Token != 0
		switch {
		case request.Drain != nil:
			wait = request.Drain.AsDuration()
		case request.SessionId == "":
			wait = defaultDrain
		}
	case *tenurev1.ConfigureGroupRequest:
		isSafe = request.ExpectedRevision == nil
	}
	message := proto.Clone(request.(proto.Message)).ProtoReflect()
	message.Set(message.Descriptor().Fields().ByName("namespace"), protoreflect.ValueOfString(r.options.Namespace))
	timeout := wait + r.options.CallTimeout
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	mayRepeat := func(err error) bool { return IsTransient(err) && (isSafe || !errors.Is(err, ErrUnavailable)) }
	return repeat(ctx, clock.Now().After(timeout), mayRepeat, func() error {
		conn, left, err := r.driver.Conn(limited)
		if err != nil {
			return failure(err)
		}
		attempt, cancel := context.WithCancel(limited)
		defer cancel()
		if isSafe {
			// A silent server would not end the call.
			defer context.AfterFunc(left, cancel)()
		}
		if err := conn.Invoke(attempt, method, message.Interface(), reply, options...); err != nil {
			return failure(err)
		}
		return nil
	})
}

// Pages is the items of a list, page by page:
//
//	tenure.Pages(ctx, client.ListLocks, &tenurev1.ListLocksRequest{}, (*tenurev1.ListLocksResponse).GetLocks)
//
// Each page is consistent at a revision of its own. An error ends it.
func Pages[Request proto.Message, Reply interface{ GetNextPageToken() string }, Item any](
	ctx context.Context, list func(context.Context, Request, ...grpc.CallOption) (Reply, error), request Request,
	items func(Reply) []Item,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		page := proto.CloneOf(request)
		token := page.ProtoReflect().Descriptor().Fields().ByName("page_token")
		for {
			reply, err := list(ctx, page)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range items(reply) {
				if !yield(item, nil) {
					return
				}
			}
			if reply.GetNextPageToken() == "" {
				return
			}
			page.ProtoReflect().Set(token, protoreflect.ValueOfString(reply.GetNextPageToken()))
		}
	}
}

// HolderOf is the first claim that holds the lock; nil if none does. A claim that only lingers is not a holder.
func HolderOf(lock *tenurev1.Lock) *tenurev1.Claim {
	for _, claim := range lock.GetHolders() {
		if claim.State == tenurev1.ClaimState_CLAIM_STATE_HELD {
			return claim
		}
	}
	return nil
}
