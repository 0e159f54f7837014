package tenure

import (
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// GroupInfo is a named set of members with a leader, one shared config value and an assignment for each member.
type GroupInfo struct {
	// Name is the group's.
	Name string
	// Leader is the member that has been there longest. Nil: there are no members.
	Leader *GroupLeader
	// Members in order of joining.
	Members []GroupMember
	// MembershipRevision is that of the last event by which a member came or went. 0: none ever did.
	MembershipRevision uint64
	// Config is the shared value. Nil: there is none.
	Config *string
	// ConfigRevision is that of the event that set the config. 0: there is none.
	ConfigRevision uint64
	// AssignmentsCurrent is whether the assignments are those for these members and this config.
	AssignmentsCurrent bool
	// AssignmentsRevision is that of the event of the last assignments. 0: there were none.
	AssignmentsRevision uint64
	// AssignedMembershipRevision is the membership revision that the last assignments were computed from.
	AssignedMembershipRevision uint64
	// AssignedConfigRevision is the config revision that the last assignments were computed from.
	AssignedConfigRevision uint64
}

// GroupLeader is who leads a group.
type GroupLeader struct {
	// Number is the leader's.
	Number uint64
	// Token is the leader's, greater than that of every leader before.
	Token uint64
	// SessionID is the leader's session.
	SessionID string
	// Owner is the owner label of that session.
	Owner string
}

// GroupMember is one session's membership.
type GroupMember struct {
	// Number rises in order of joining.
	Number uint64
	// SessionID is the session that joined.
	SessionID string
	// Owner is the owner label of that session.
	Owner string
	// Metadata is what the session attached to its membership.
	Metadata map[string]string
	// Assignment is what the leader assigned to it last. Nil: nothing since it joined.
	Assignment *string
}

// GroupEvent is something that happened to one group.
type GroupEvent struct {
	// Revision is the namespace's that this event made.
	Revision uint64
	// Group is its name.
	Group string
	// Kind is what happened: joined, left, configured or assigned.
	Kind string
	// Member is the one that joined or left.
	Member *GroupMember
	// EndReason is why the member left, if it did.
	EndReason EndReason
	// Leader is the number of the member that leads after this event. 0: nobody, or not told of a config.
	Leader uint64
	// Token is the leader's.
	Token uint64
	// Config is the one that was set. Nil if it was cleared.
	Config *string
	// Time is the wall clock of the server that wrote it, for people.
	Time time.Time
}

// Member is the one of this number. Nil: there is none.
func (g *GroupInfo) Member(number uint64) *GroupMember {
	for place := range g.Members {
		if g.Members[place].Number == number {
			return &g.Members[place]
		}
	}
	return nil
}

// Assign makes assignments for all members: what value says of each, given its place in the order of joining, from 0.
func (g *GroupInfo) Assign(value func(place int, member *GroupMember) string) Assignments {
	assignments := Assignments{}
	for place := range g.Members {
		assignments[g.Members[place].Number] = value(place, &g.Members[place])
	}
	return assignments
}

func groupOf(wire *tenurev1.Group) GroupInfo {
	group := GroupInfo{
		Name: wire.GetName(), Members: each(wire.GetMembers(), memberOf), MembershipRevision: wire.GetMembershipRevision(),
		ConfigRevision: wire.GetConfigRevision(), AssignmentsCurrent: wire.GetAssignmentsCurrent(),
		AssignmentsRevision:        wire.GetAssignmentsRevision(),
		AssignedMembershipRevision: wire.GetAssignedMembershipRevision(),
		AssignedConfigRevision:     wire.GetAssignedConfigRevision(),
	}
	if wire != nil {
		group.Config = wire.Config
	}
	if leader := wire.GetLeader(); leader != nil {
		group.Leader = &GroupLeader{
			Number: leader.Member, Token: leader.Token, SessionID: leader.SessionId, Owner: leader.Owner,
		}
	}
	return group
}

func memberOf(wire *tenurev1.GroupMember) GroupMember {
	return GroupMember{
		Number: wire.Number, SessionID: wire.SessionId, Owner: wire.Owner, Metadata: wire.Metadata, Assignment: wire.Assignment,
	}
}

func groupEventOf(wire *tenurev1.GroupEvent) GroupEvent {
	event := GroupEvent{
		Revision: wire.Revision, Group: wire.Group, Kind: word(wire.Type.String(), "GROUP_EVENT_TYPE_"),
		EndReason: endReasonOf(wire.EndReason), Leader: wire.Leader, Token: wire.Token, Config: wire.Config,
		Time: timeOf(wire.Time),
	}
	if wire.Member != nil {
		member := memberOf(wire.Member)
		event.Member = &member
	}
	return event
}
