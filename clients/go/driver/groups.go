package main

import (
	"context"
	"strconv"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func (d *driver) groupHandlers() map[string]handler {
	return map[string]handler{
		"join": d.join, "standing": d.standing, "await_standing": d.awaitStanding, "assign": d.assign, "leave": d.leave,
		"take_part": d.takePart, "configure_group": d.configureGroup, "get_group": d.getGroup,
	}
}

// A member of a group, by join or by taking part.
type member struct {
	condition
	// Nil while it has not joined.
	told *tenure.Standing
	// Of a member by join.
	membership *tenure.Membership
	// Of one that takes part.
	stop  context.CancelFunc
	ended bool
}

func (m *member) tell(standing tenure.Standing) { m.change(func() { m.told = &standing }) }

func (m *member) standing() (tenure.Standing, error) {
	if m.membership != nil {
		return m.membership.Standing(), nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told == nil {
		return tenure.Standing{}, mistake("it has not joined yet")
	}
	return *m.told, nil
}

func (d *driver) groupOf(asked *request) (*tenure.Group, error) {
	options := &tenure.GroupOptions{Session: asked.sessionOptions(), Metadata: asked.Metadata}
	options.Session.StallAfter = asked.StallAfter.duration()
	if asked.Session != "" {
		session, err := d.sessions.get(asked.Session)
		if err != nil {
			return nil, err
		}
		return session.Group(asked.Group, options), nil
	}
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	return client.Group(asked.Group, options), nil
}

func (d *driver) join(ctx context.Context, asked *request) (facts, error) {
	group, err := d.groupOf(asked)
	if err != nil {
		return nil, err
	}
	membership, err := group.Join(ctx)
	if err != nil {
		return nil, err
	}
	of := &member{membership: membership}
	d.members.put(asked.Member, of)
	go func() {
		for standing := range membership.Standings(context.Background()) {
			of.tell(standing)
		}
	}()
	standing := membership.Standing()
	told := facts{
		"number": membership.Number(), "session_id": membership.Session().ID(), "leads": standing.Leads(),
	}
	return told.add("token", optional(standing.Token())), nil
}

func (d *driver) standing(_ context.Context, asked *request) (facts, error) {
	of, err := d.members.get(asked.Member)
	if err != nil {
		return nil, err
	}
	standing, err := of.standing()
	if err != nil {
		return nil, err
	}
	return standingFacts(standing), nil
}

func (d *driver) awaitStanding(ctx context.Context, asked *request) (facts, error) {
	of, err := d.members.get(asked.Member)
	if err != nil {
		return nil, err
	}
	var standing tenure.Standing
	err = of.await(ctx, func() bool {
		if of.told == nil {
			return false
		}
		standing = *of.told
		assignment, some := standing.Assignment()
		return standing.Lost != nil && of.membership != nil || (asked.Leads == nil || *asked.Leads == standing.Leads()) &&
			(asked.Assignment == nil || some && *asked.Assignment == assignment) &&
			(asked.Current == nil || *asked.Current == standing.IsCurrent()) &&
			(asked.MemberCount == nil || *asked.MemberCount == len(standing.Group.Members))
	})
	if err != nil {
		return nil, err
	}
	return standingFacts(standing), nil
}

func (d *driver) assign(ctx context.Context, asked *request) (facts, error) {
	of, err := d.members.get(asked.Member)
	if err != nil {
		return nil, err
	}
	if of.membership == nil {
		return nil, mistake("it assigns by itself")
	}
	group := of.membership.Standing().Group
	assignments := tenure.Assignments{}
	for place := range min(len(asked.Assignments), len(group.Members)) {
		assignments[group.Members[place].Number] = asked.Assignments[place]
	}
	revision, err := of.membership.Assign(ctx, group, assignments)
	return facts{"revision": revision}, err
}

func (d *driver) leave(ctx context.Context, asked *request) (facts, error) {
	of, err := d.members.get(asked.Member)
	if err != nil {
		return nil, err
	}
	if of.membership != nil {
		return nil, of.membership.Leave(ctx)
	}
	of.stop()
	return nil, of.await(ctx, func() bool { return of.ended })
}

func (d *driver) takePart(_ context.Context, asked *request) (facts, error) {
	group, err := d.groupOf(asked)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	of := &member{stop: stop}
	d.members.put(asked.Member, of)
	go func() {
		err := group.TakePart(ctx, func(group *tenure.GroupInfo) tenure.Assignments {
			return group.Assign(func(place int, _ *tenure.GroupMember) string { return strconv.Itoa(place + 1) })
		}, of.tell)
		d.log.Info("taking part has ended", "member", asked.Member, "error", err)
		of.change(func() { of.ended = true })
	}()
	return nil, nil
}

func (d *driver) configureGroup(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	revision, err := client.ConfigureGroup(ctx, asked.Group, asked.Config, asked.ExpectedRevision)
	return facts{"config_revision": revision}, err
}

func (d *driver) getGroup(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	group, err := client.GetGroup(ctx, asked.Group)
	if err != nil {
		return nil, err
	}
	return facts{"group": groupFacts(*group)}, nil
}

func standingFacts(standing tenure.Standing) facts {
	told := facts{"leads": standing.Leads(), "number": standing.Number, "current": standing.IsCurrent()}
	told.add("token", optional(standing.Token()))
	if standing.Group.Config != nil {
		told["config"] = *standing.Group.Config
	}
	if assignment, some := standing.Assignment(); some {
		told["assignment"] = assignment
	}
	numbers := []uint64{}
	for _, member := range standing.Group.Members {
		numbers = append(numbers, member.Number)
	}
	told["members"] = numbers
	if standing.Lost != nil {
		told["lost"] = lostFacts(standing.Lost)
	}
	return told
}

func groupFacts(group tenure.GroupInfo) facts {
	told := facts{
		"name": group.Name, "members": list(group.Members, memberFacts), "config": group.Config,
		"current": group.AssignmentsCurrent, "leader": nil,
	}
	if leader := group.Leader; leader != nil {
		told["leader"] = facts{"number": leader.Number, "token": leader.Token, "session_id": leader.SessionID}
	}
	return told
}

func memberFacts(member tenure.GroupMember) facts {
	return facts{
		"number": member.Number, "session_id": member.SessionID, "owner": member.Owner, "assignment": member.Assignment,
	}
}

func groupEventFacts(event tenure.GroupEvent) facts {
	told := facts{"revision": event.Revision, "group": event.Group, "kind": event.Kind}
	if event.Config != nil {
		told["config"] = *event.Config
	}
	if event.Member != nil {
		told["session_id"], told["number"] = event.Member.SessionID, event.Member.Number
	}
	if event.EndReason != "" {
		told["end_reason"] = event.EndReason
	}
	return told
}

// Nil instead of none.
func optional(token uint64) any {
	if token == 0 {
		return nil
	}
	return token
}
