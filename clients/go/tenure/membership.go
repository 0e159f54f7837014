package tenure

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"sync"

	"google.golang.org/grpc"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// Standing is where a member stands in its group.
type Standing struct {
	// Number is the member's.
	Number uint64
	// Group as it was heard of last. Not to be changed.
	Group *GroupInfo
	// Lost is why the membership is lost, if it is. The others may go on without this member.
	Lost *LostError
}

// Assignment is what is assigned to this member. False if nothing is, and after a loss.
func (s Standing) Assignment() (string, bool) {
	member := s.Group.Member(s.Number)
	if s.Lost != nil || member == nil || member.Assignment == nil {
		return "", false
	}
	return *member.Assignment, true
}

// IsCurrent is whether that is the assignment for the members and the config that are there now. If not, the leader has yet to
// compute it.
func (s Standing) IsCurrent() bool { return s.Lost == nil && s.Group.AssignmentsCurrent }

// Leads is whether this member leads.
func (s Standing) Leads() bool { return s.Token() != 0 }

// Token is that by which this member leads. 0: it does not.
func (s Standing) Token() uint64 {
	if leader := s.Group.Leader; s.Lost == nil && leader != nil && leader.Number == s.Number {
		return leader.Token
	}
	return 0
}

// Membership keeps this program a member of a group, until Leave or the loss of its session.
type Membership struct {
	client  *Client
	session *Session
	// Whether the session is there for this membership only.
	isOwn  bool
	group  string
	number uint64
	// Ends the following of the group.
	stop context.CancelFunc

	mu       sync.Mutex
	standing Standing
	// Closed and replaced at each change.
	changed chan struct{}
	lost    chan struct{}
}

func newMembership(group *Group, session *Session, number uint64, info GroupInfo) *Membership {
	ctx, stop := context.WithCancel(context.Background())
	member := &Membership{
		client: group.client, session: session, isOwn: group.session == nil, group: group.name, number: number, stop: stop,
		standing: Standing{Number: number, Group: &info}, changed: make(chan struct{}), lost: make(chan struct{}),
	}
	go member.follow(ctx)
	go func() {
		select {
		case <-session.Lost():
			member.lose(session.Err())
		case <-ctx.Done():
		}
	}()
	return member
}

// GroupName is the group's.
func (m *Membership) GroupName() string { return m.group }

// Number is this member's: rises in order of joining.
func (m *Membership) Number() uint64 { return m.number }

// Session is the session that is the member.
func (m *Membership) Session() *Session { return m.session }

// Standing is where this member stands. That the membership is lost because its time is over is decided by the clock at this very
// moment: a process that was paused for too long is told so on waking.
func (m *Membership) Standing() Standing {
	if err := m.session.Err(); err != nil {
		m.lose(err)
	}
	standing, _ := m.look()
	return standing
}

func (m *Membership) look() (Standing, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standing, m.changed
}

// Standings tells where this member stands, now and after each change: members, leader, config, assignments, and the loss, after
// which nothing changes any more. Who is slow sees the latest. It ends with the membership and with the context.
func (m *Membership) Standings(ctx context.Context) iter.Seq[Standing] {
	return func(yield func(Standing) bool) {
		for {
			_, changed := m.look()
			standing := m.Standing()
			if !yield(standing) || standing.Lost != nil {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Lost is closed when the membership is lost: before the others could be told so, or as soon as the server says it.
func (m *Membership) Lost() <-chan struct{} { return m.lost }

// Err is nil while this is a member, and then a *LostError.
func (m *Membership) Err() error {
	if lost := m.Standing().Lost; lost != nil {
		return lost
	}
	return nil
}

// Assign assigns something to every member, as the leader of a group as it was seen: the one of a Standing that this member leads.
// A *RefusedError with ReasonStaleAssignment if the group has changed since, with ReasonNotLeader if this is not the leader any
// more, with ReasonInvalidField if the assignments do not fit the members. It answers the revision of the assignments.
func (m *Membership) Assign(ctx context.Context, group *GroupInfo, assignments Assignments) (uint64, error) {
	if err := m.Err(); err != nil {
		return 0, err
	}
	if group.Leader == nil || group.Leader.Number != m.number {
		return 0, &InvalidError{Field: "group", Problem: "this member does not lead it"}
	}
	request := &tenurev1.AssignGroupRequest{
		Namespace: m.client.Namespace(), Group: m.group, SessionId: m.session.id, Token: group.Leader.Token,
		MembershipRevision: group.MembershipRevision, ConfigRevision: group.ConfigRevision, Assignments: assignments,
	}
	answer, err := call(ctx, m.client, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.AssignGroupRequest, *tenurev1.AssignGroupResponse] {
			return tenurev1.NewGroupServiceClient(conn).AssignGroup
		})
	return answer.GetAssignmentsRevision(), err
}

// Lead computes with divide what each member is assigned, and assigns it, each time that members or config have changed while this
// member leads. Divide should be quick; GroupInfo.Assign makes assignments that fit. It ends with the context, with a *LostError when
// the membership is lost, and with refusals other than those of a passing outage.
func (m *Membership) Lead(ctx context.Context, divide func(*GroupInfo) Assignments) error {
	pauses := backoff.New(firstPause, longestPause)
	for {
		_, changed := m.look()
		standing := m.Standing()
		if standing.Lost != nil {
			return standing.Lost
		}
		if standing.Leads() && !standing.Group.AssignmentsCurrent {
			_, err := m.Assign(ctx, standing.Group, divide(standing.Group))
			switch reason := reasonOf(err); {
			case err == nil:
				pauses.Reset()
			case reason == ReasonStaleAssignment || reason == ReasonNotLeader:
				// What has changed is told next.
			case ctx.Err() == nil && IsTransient(err):
				if !pause(ctx, pauses.Next()) {
					return context.Cause(ctx)
				}
				continue
			default:
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// SetConfig sets the value that the group shares: see Client.ConfigureGroup.
func (m *Membership) SetConfig(ctx context.Context, config *string, expected *uint64) (uint64, error) {
	return m.client.ConfigureGroup(ctx, m.group, config, expected)
}

// Leave leaves the group, and returns when the server has recorded it. A session that was opened for the membership is closed. A
// *RefusedError or *LostError if the membership had ended before; ErrUnavailable if no server answered in time: it then ends by the
// session's TTL, or with the session that it was made in.
func (m *Membership) Leave(ctx context.Context) error {
	lost := m.session.Err()
	m.stop()
	m.lose(&LostError{Reason: LostReleased})
	if lost != nil {
		return lost
	}
	request := &tenurev1.LeaveGroupRequest{
		Namespace: m.client.Namespace(), Group: m.group, SessionId: m.session.id, Member: m.number,
	}
	_, err := call(ctx, m.client, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.LeaveGroupRequest, *tenurev1.LeaveGroupResponse] {
			return tenurev1.NewGroupServiceClient(conn).LeaveGroup
		})
	if !m.isOwn {
		return err
	}
	return errors.Join(err, m.session.Close(ctx))
}

// One membership's part in TakePart. Nil when the membership is lost.
func (m *Membership) takePart(ctx context.Context, divide func(*GroupInfo) Assignments, told func(Standing)) error {
	// Divide and told are not called at once.
	var calls sync.Mutex
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	led := make(chan error, 1)
	go func() {
		err := m.Lead(leading, func(group *GroupInfo) Assignments {
			calls.Lock()
			defer calls.Unlock()
			return divide(group)
		})
		// The loss is told by the other half.
		if !errors.Is(err, ErrLost) {
			cancel()
		}
		led <- err
	}()
	for standing := range m.Standings(leading) {
		calls.Lock()
		told(standing)
		calls.Unlock()
	}
	cancel()
	err := <-led
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case m.Standing().Lost != nil:
		return nil
	default:
		return err
	}
}

// Takes over what a watch tells of the group.
func (m *Membership) follow(ctx context.Context) {
	pauses := backoff.New(firstPause, longestPause)
	for {
		for event, err := range m.client.Watch(ctx, &WatchOptions{Groups: []string{m.group}}) {
			if err != nil {
				if isOver(ctx, err) {
					m.lose(&LostError{Reason: LostClosed})
					return
				}
				m.client.options.Logger.Warn("the group cannot be watched", "group", m.group, "error", err)
				break
			}
			pauses.Reset()
			if lost := m.takeOver(event); lost != nil {
				m.lose(lost)
				return
			}
		}
		if !pause(ctx, pauses.Next()) {
			return
		}
	}
}

// Answers why this member has left, if it has.
func (m *Membership) takeOver(told WatchEvent) *LostError {
	for _, event := range told.GroupEvents {
		if event.Kind == "left" && event.Member != nil && event.Member.Number == m.number {
			return &LostError{Reason: LostEnded, EndReason: event.EndReason}
		}
	}
	for place := range told.Groups {
		group := &told.Groups[place]
		if group.Name != m.group {
			continue
		}
		if group.Member(m.number) == nil {
			return &LostError{Reason: LostForgotten}
		}
		m.mu.Lock()
		if m.standing.Lost == nil && !reflect.DeepEqual(m.standing.Group, group) {
			m.standing.Group = group
			m.turn()
		}
		m.mu.Unlock()
	}
	return nil
}

func (m *Membership) lose(err error) {
	var lost *LostError
	if !errors.As(err, &lost) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.standing.Lost == nil {
		m.standing.Lost = lost
		close(m.lost)
		m.turn()
	}
	m.stop()
}

func (m *Membership) turn() {
	close(m.changed)
	m.changed = make(chan struct{})
}
