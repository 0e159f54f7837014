package tenure

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/grpc"

	"github.com/tenure-lock/tenure/clients/go/internal/backoff"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// GroupOptions tell how to take part in a group. The zero value and nil are the defaults.
type GroupOptions struct {
	// Session is how to open the session of its own, for a group of a client. No effect in a group of a session.
	Session SessionOptions
	// Metadata are free labels on the membership, such as what this member can take. At most 4096 bytes in all.
	Metadata map[string]string
}

// Assignments are what is assigned to each member of a group, by the members' numbers. Each at most 16384 bytes; all together at
// most 1048576.
type Assignments = map[uint64]string

// Group is a group to take part in.
type Group struct {
	client *Client
	// Nil: each membership has one of its own.
	session *Session
	name    string
	options GroupOptions
}

// Group is a group to take part in, in a session of its own, which ends with the membership.
func (c *Client) Group(name string, options *GroupOptions) *Group {
	return newGroup(c, nil, name, options)
}

// Group is a group to take part in, as a member of this session: all that the session holds and joins ends together.
func (s *Session) Group(name string, options *GroupOptions) *Group {
	return newGroup(s.client, s, name, options)
}

func newGroup(client *Client, session *Session, name string, options *GroupOptions) *Group {
	group := &Group{client: client, session: session, name: name}
	if options != nil {
		group.options = *options
	}
	return group
}

// Join joins the group. If the session is a member already, it stays the member that it is.
//
// Any member may come to lead, and a leader that assigns nothing leaves all without assignments: have Membership.Lead run, unless
// assignments are of no use to the group.
func (g *Group) Join(ctx context.Context) (*Membership, error) {
	session := g.session
	if session == nil {
		var err error
		if session, err = g.client.OpenSession(ctx, &g.options.Session); err != nil {
			return nil, err
		}
	}
	request := &tenurev1.JoinGroupRequest{
		Namespace: g.client.Namespace(), Group: g.name, SessionId: session.id, Metadata: g.options.Metadata,
	}
	answer, err := call(ctx, g.client, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.JoinGroupRequest, *tenurev1.JoinGroupResponse] {
			return tenurev1.NewGroupServiceClient(conn).JoinGroup
		})
	if err != nil {
		if lost := session.Err(); lost != nil {
			err = lost
		}
		if g.session == nil {
			session.drop()
		}
		return nil, err
	}
	return newMembership(g, session, answer.Member, groupOf(answer.Group)), nil
}

// TakePart joins the group and stays in it: it leads whenever it is this member's turn, which is computing with divide what each
// member is assigned, each time that members or config have changed; and it calls told with where this member stands, at once and
// after each change. When the membership is lost, told is told so, and it joins again, as a new member. Both functions should be
// quick; they are not called at once.
//
// It ends with the context, and with what trying again cannot cure: the loss of a session that the group was given, and refusals
// other than those of a passing outage, such as assignments that do not fit the members. It leaves then.
func (g *Group) TakePart(ctx context.Context, divide func(*GroupInfo) Assignments, told func(Standing)) error {
	pauses := backoff.New(firstPause, longestPause)
	for {
		member, err := g.Join(ctx)
		if err != nil {
			if isOver(ctx, err) || !g.mayJoinLater(err) {
				return err
			}
			g.client.options.Logger.Warn("did not join, and tries again", "group", g.name, "error", err)
			if !pause(ctx, pauses.Next()) {
				return context.Cause(ctx)
			}
			continue
		}
		pauses.Reset()
		if err := member.takePart(ctx, divide, told); err != nil {
			leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.client.callTimeout())
			defer cancel()
			return errors.Join(err, ignoreLost(member.Leave(leaving)))
		}
		if g.session != nil {
			return member.Err()
		}
		// The membership may have ended without its session.
		member.session.drop()
	}
}

func (g *Group) mayJoinLater(err error) bool {
	reason := reasonOf(err)
	isLost := errors.Is(err, ErrLost) || reason == ReasonSessionNotFound || reason == ReasonSessionEnded
	return IsTransient(err) || isLost && g.session == nil
}

// A membership that has ended need not be left.
func ignoreLost(err error) error {
	if errors.Is(err, ErrLost) || errors.Is(err, ErrRefused) {
		return nil
	}
	return err
}

// GetGroup reads one group. A group that nobody ever joined is an empty group, not an error.
func (c *Client) GetGroup(ctx context.Context, name string) (*GroupInfo, error) {
	request := &tenurev1.GetGroupRequest{Namespace: c.Namespace(), Group: name}
	answer, err := call(ctx, c, retrySafe, 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.GetGroupRequest, *tenurev1.GetGroupResponse] {
			return tenurev1.NewGroupServiceClient(conn).GetGroup
		})
	if err != nil {
		return nil, err
	}
	group := groupOf(answer.Group)
	group.Name = name
	return &group, nil
}

// ListGroups tells the groups that have members or a config and whose names begin with prefix (empty: all), in byte order of their
// names. Asked for page by page; each page is true at a revision of its own. An error ends it.
func (c *Client) ListGroups(ctx context.Context, prefix string) iter.Seq2[GroupInfo, error] {
	return pages(func(token string) ([]GroupInfo, string, error) {
		request := &tenurev1.ListGroupsRequest{Namespace: c.Namespace(), Prefix: prefix, PageToken: token}
		page, err := call(ctx, c, retrySafe, 0, request,
			func(conn grpc.ClientConnInterface) method[*tenurev1.ListGroupsRequest, *tenurev1.ListGroupsResponse] {
				return tenurev1.NewGroupServiceClient(conn).ListGroups
			})
		return each(page.GetGroups(), groupOf), page.GetNextPageToken(), err
	})
}

// ConfigureGroup sets the value that a group shares, or clears it with nil, and answers the revision of the event that set it (0 if
// there is none). With an expected revision: only if that is the revision of the config that is there; 0: only if there is none;
// else it is refused with ReasonConfigConflict. Needs neither a session nor members. After ErrUnavailable it may or may not have
// taken effect.
func (c *Client) ConfigureGroup(ctx context.Context, name string, config *string, expected *uint64) (uint64, error) {
	request := &tenurev1.ConfigureGroupRequest{
		Namespace: c.Namespace(), Group: name, Config: config, ExpectedRevision: expected,
	}
	// Done twice, the second would find what the first has set, and not what is expected.
	answer, err := call(ctx, c, retry(expected == nil), 0, request,
		func(conn grpc.ClientConnInterface) method[*tenurev1.ConfigureGroupRequest, *tenurev1.ConfigureGroupResponse] {
			return tenurev1.NewGroupServiceClient(conn).ConfigureGroup
		})
	return answer.GetConfigRevision(), err
}
