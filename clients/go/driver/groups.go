package main

import (
	"context"
	"strconv"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
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
	latest *tenure.Standing
	// Of a member by join.
	membership *tenure.Membership
	// Of one that takes part.
	stop  context.CancelFunc
	ended bool
}

func (m *member) set(standing tenure.Standing) { m.change(func() { m.latest = &standing }) }

func (m *member) standing() (tenure.Standing, error) {
	if m.membership != nil {
		return m.membership.Standing(), nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		return tenure.Standing{}, mistake("it has not joined yet")
	}
	return *m.latest, nil
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
			of.set(standing)
		}
	}()
	standing := membership.Standing()
	answer := facts{
		"number": membership.Number(), "session_id": membership.Session().ID(), "leads": standing.Leads(),
	}
	return answer.add("token", number(standing.Token())), nil
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
		if of.latest == nil {
			return false
		}
		standing = *of.latest
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
	return nil, of.membership.Assign(ctx, group, assignments)
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
		err := group.TakePart(ctx, func(group *tenurev1.Group) tenure.Assignments {
			return tenure.Assign(group, func(index int, _ *tenurev1.GroupMember) string { return strconv.Itoa(index + 1) })
		}, of.set)
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
	reply, err := client.ConfigureGroup(ctx, &tenurev1.ConfigureGroupRequest{
		Group: asked.Group, Config: asked.Config, ExpectedRevision: asked.ExpectedRevision,
	})
	return facts{"config_revision": reply.GetConfigRevision()}, err
}

func (d *driver) getGroup(ctx context.Context, asked *request) (facts, error) {
	client, err := d.clients.get(asked.Client)
	if err != nil {
		return nil, err
	}
	reply, err := client.GetGroup(ctx, &tenurev1.GetGroupRequest{Group: asked.Group})
	if err != nil {
		return nil, err
	}
	return facts{"group": groupFacts(reply.Group)}, nil
}

func standingFacts(standing tenure.Standing) facts {
	answer := facts{"leads": standing.Leads(), "number": standing.Number, "current": standing.IsCurrent()}
	answer.add("token", number(standing.Token())).add("lost", lostFacts(standing.Lost))
	if standing.Group.Config != nil {
		answer["config"] = *standing.Group.Config
	}
	if assignment, isAssigned := standing.Assignment(); isAssigned {
		answer["assignment"] = assignment
	}
	numbers := []uint64{}
	for _, member := range standing.Group.Members {
		numbers = append(numbers, member.Number)
	}
	answer["members"] = numbers
	return answer
}

func groupFacts(group *tenurev1.Group) facts {
	answer := facts{
		"name": group.Name, "members": list(group.Members, memberFacts), "config": group.Config,
		"config_revision": group.ConfigRevision, "current": group.AssignmentsCurrent, "leader": nil,
	}
	if leader := group.Leader; leader != nil {
		answer["leader"] = facts{"number": leader.Member, "token": leader.Token, "session_id": leader.SessionId}
	}
	return answer
}

func memberFacts(member *tenurev1.GroupMember) facts {
	return facts{
		"number": member.Number, "session_id": member.SessionId, "owner": member.Owner, "assignment": member.Assignment,
		"metadata": metadataFacts(member.Metadata),
	}
}

func groupEventFacts(event *tenurev1.GroupEvent) facts {
	answer := facts{"revision": event.Revision, "group": event.Group, "kind": word(event.Type, "GROUP_EVENT_TYPE_")}
	if event.Config != nil {
		answer["config"] = *event.Config
	}
	if event.Member != nil {
		answer["session_id"], answer["number"] = event.Member.SessionId, event.Member.Number
	}
	if event.EndReason != 0 {
		answer["end_reason"] = word(event.EndReason, "END_REASON_")
	}
	return answer.add("leader", number(event.Leader))
}
