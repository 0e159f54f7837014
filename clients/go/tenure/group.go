package tenure

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// The pause before a watch of a group that was refused is started again.
const pauseOfWatch = 500 * time.Millisecond

// GroupOptions are how to join a group. The zero value and nil are the defaults.
type GroupOptions struct {
	// Session is the options of the session that is opened for the membership. No effect in an existing session.
	Session SessionOptions
	// Metadata are free labels on the membership, such as its capacity. At most 4096 bytes in all, keys and values
	// together.
	Metadata map[string]string
}

// Assignments of a group, by the members' numbers. Each at most 16384 bytes; all together at most 1048576.
type Assignments = map[uint64]string

// Assign is assignments for all members: value returns that of a member, given its index in the order of joining.
func Assign(group *tenurev1.Group, value func(index int, member *tenurev1.GroupMember) string) Assignments {
	assignments := Assignments{}
	for index, member := range group.Members {
		assignments[member.Number] = value(index, member)
	}
	return assignments
}

// Group is a request for a membership in a group.
type Group struct {
	target   target
	name     string
	metadata map[string]string
}

// Group requests a membership in a session of its own, which ends with the membership.
func (c *Client) Group(name string, options *GroupOptions) *Group {
	return newGroup(c, nil, name, options)
}

// Group requests a membership of this session: all holds and memberships of the session end together.
func (s *Session) Group(name string, options *GroupOptions) *Group {
	return newGroup(s.client, s, name, options)
}

func newGroup(client *Client, session *Session, name string, options *GroupOptions) *Group {
	group := &Group{target: target{client: client, session: session}, name: name}
	if options != nil {
		group.target.options, group.metadata = options.Session, options.Metadata
	}
	return group
}

// Join joins the group. A session joins a group once: ErrRefused with MEMBERSHIP_OVERLAP if it is a member already;
// ErrLost if the session is; ErrUnavailable.
//
// Any member may become the leader, and while a leader assigns nothing, no member has an assignment: see TakePart.
func (g *Group) Join(ctx context.Context) (*Membership, error) {
	declared := &tenurev1.DeclaredMembership{Group: g.name, Metadata: g.metadata}
	declaration := &tenurev1.Declaration{Memberships: []*tenurev1.DeclaredMembership{declared}}
	part, state, err := g.target.obtain(ctx, declaration, 0, 0)
	if err != nil {
		return nil, err
	}
	reply, err := g.target.client.GetGroup(ctx, &tenurev1.GetGroupRequest{Group: g.name})
	if err != nil {
		_ = part.withdraw()
		return nil, err
	}
	member := &Membership{part: part, number: state.GetJoined().GetMember(), group: reply.Group}
	go member.follow()
	return member, nil
}

// TakePart joins the group and remains in it. While this member leads, it computes the assignments with divide, each
// time that members or config have changed. Calls onChange with the member's standing, at once and after each change.
// When the membership is lost, calls onChange with the loss, and joins again, as a new member. Both functions should be
// quick; they are called one at a time.
//
// It ends when the context is done, and with an error that a retry cannot fix: the loss of a session that the request
// was given, and refusals other than those of a temporary outage, such as assignments that do not fit the members. It
// then leaves.
func (g *Group) TakePart(ctx context.Context, divide func(*tenurev1.Group) Assignments, onChange func(Standing)) error {
	pauses := pausesOfRoles
	for {
		member, err := g.Join(ctx)
		if err == nil {
			pauses.Reset()
			err = member.takePart(ctx, divide, onChange)
		}
		isLost := errors.Is(err, ErrLost) || isRefused(err, "SESSION_NOT_FOUND", "SESSION_ENDED")
		if !IsTransient(err) && !(isLost && g.target.session == nil) {
			return err
		}
		g.target.client.options.Logger.Warn("not a member, and joins again", "group", g.name, "error", err)
		if !pause(ctx, pauses.Next()) {
			return context.Cause(ctx)
		}
	}
}

// Standing is the standing of a member in its group.
type Standing struct {
	// Number is the member's.
	Number uint64
	// Group is the last known state of the group. Not to be changed.
	Group *tenurev1.Group
	// Lost is why the membership is lost, a *LostError; nil if it is not. The group may continue without this member.
	Lost error
}

// Assignment is that of this member. False without one, and after a loss.
func (s Standing) Assignment() (assignment string, isAssigned bool) {
	member := memberOf(s.Group, s.Number)
	return member.GetAssignment(), s.Lost == nil && member != nil && member.Assignment != nil
}

// IsCurrent is whether the assignment was computed from the current members and config. If not, the leader has yet to
// compute it.
func (s Standing) IsCurrent() bool { return s.Lost == nil && s.Group.AssignmentsCurrent }

// Leads is whether this member leads.
func (s Standing) Leads() bool { return s.Token() != 0 }

// Token is that by which this member leads; 0 if it does not.
func (s Standing) Token() uint64 {
	if s.Lost != nil || s.Group.Leader.GetMember() != s.Number {
		return 0
	}
	return s.Group.Leader.GetToken()
}

func memberOf(group *tenurev1.Group, number uint64) *tenurev1.GroupMember {
	for _, member := range group.Members {
		if member.Number == number {
			return member
		}
	}
	return nil
}

// Membership keeps this program a member of a group, until Leave or the loss of its session.
type Membership struct {
	*part
	number uint64
	// Used under the lock of the driver, like the item, which is notified of its changes.
	group *tenurev1.Group
}

// Number is this member's: rises in order of joining.
func (m *Membership) Number() uint64 { return m.number }

// Session is the session that is the member.
func (m *Membership) Session() *Session { return m.session }

// Standing is the standing of this member. Whether the membership has expired is decided by the clock at this moment: a
// process that was paused for too long sees the loss when it resumes.
func (m *Membership) Standing() Standing {
	m.client.driver.Lock()
	defer m.client.driver.Unlock()
	return m.standing()
}

func (m *Membership) standing() Standing {
	return Standing{Number: m.number, Group: m.group, Lost: lostError(m.item.Loss)}
}

// Standings is the standing of this member, now and after each change: members, leader, config, assignments, and the
// loss, which is the last. A slow reader gets the latest. It ends with the membership and with the context.
func (m *Membership) Standings(ctx context.Context) iter.Seq[Standing] {
	return func(yield func(Standing) bool) {
		var standing, last Standing
		look := func(clock.Moment) (isDone bool, next clock.Moment) {
			standing = m.standing()
			return standing.Group != last.Group || standing.Lost != nil, clock.Never
		}
		for last.Lost == nil && m.await(ctx, look) == nil && yield(standing) {
			last = standing
		}
	}
}

// Assign assigns something to every member, as the leader of this state of the group: it is from a Standing in which
// this member leads. ErrRefused with STALE_ASSIGNMENT if the group has changed since, with NOT_LEADER if this member
// does not lead, with INVALID_FIELD if the assignments do not fit the members; ErrLost; ErrUnavailable.
func (m *Membership) Assign(ctx context.Context, group *tenurev1.Group, assignments Assignments) error {
	if err := m.Err(); err != nil {
		return err
	}
	if group.Leader.GetMember() != m.number {
		return &InvalidError{Field: "group", Problem: "this member does not lead it"}
	}
	_, err := m.client.services.AssignGroup(ctx, &tenurev1.AssignGroupRequest{
		Group: group.Name, SessionId: m.session.ID(), Token: group.Leader.Token, Assignments: assignments,
		MembershipRevision: group.MembershipRevision, ConfigRevision: group.ConfigRevision,
	})
	return err
}

// Leave leaves the group, and returns when the server has recorded it. A session that was opened for the membership is
// closed. ErrLost if the membership had ended before; ErrUnavailable if no server answered in time: it then ends by the
// session's TTL, or with the session in which it was made.
func (m *Membership) Leave(ctx context.Context) error { return m.end(ctx) }

// One membership's part in TakePart: until the membership is lost, or the context is done.
func (m *Membership) takePart(
	ctx context.Context, divide func(*tenurev1.Group) Assignments, onChange func(Standing),
) error {
	defer func() { _ = m.Leave(context.WithoutCancel(ctx)) }()
	member, cancel := whileHeld(ctx, m.part)
	defer cancel()
	for standing := range m.Standings(ctx) {
		onChange(standing)
		if standing.Lost != nil {
			return standing.Lost
		}
		if !standing.Leads() || standing.Group.AssignmentsCurrent {
			continue
		}
		err := m.Assign(member, standing.Group, divide(standing.Group))
		for pauses := pausesOfRoles; IsTransient(err) && pause(member, pauses.Next()); {
			err = m.Assign(member, standing.Group, divide(standing.Group))
		}
		// The group has changed meanwhile, and the next standing shows it; or the membership is lost.
		isOver := isRefused(err, "STALE_ASSIGNMENT", "NOT_LEADER") || member.Err() != nil
		if err != nil && !isOver {
			return err
		}
	}
	return context.Cause(ctx)
}

// Updates the group by a watch, until the membership is lost.
func (m *Membership) follow() {
	ctx, cancel := whileHeld(context.Background(), m.part)
	defer cancel()
	client, request := m.session.client, &tenurev1.WatchRequest{Groups: []string{m.group.Name}}
	for ctx.Err() == nil {
		for response, err := range client.Watch(ctx, request) {
			if err != nil && ctx.Err() == nil {
				client.options.Logger.Warn("the group cannot be watched", "group", request.Groups, "error", err)
			}
			for _, group := range append(response.GetSnapshot().GetGroups(), response.GetEvents().GetGroups()...) {
				m.update(group)
			}
		}
		_ = pause(ctx, pauseOfWatch)
	}
}

func (m *Membership) update(group *tenurev1.Group) {
	m.client.driver.Lock()
	defer m.client.driver.Unlock()
	// A state without this member is from before it joined, or its end is about to be reported.
	if memberOf(group, m.number) != nil && !proto.Equal(m.group, group) {
		m.group = group
		m.item.Notify()
	}
}
