package tenure_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func place(group *tenurev1.Group) tenure.Assignments {
	return tenure.Assign(group, func(index int, _ *tenurev1.GroupMember) string {
		return strconv.Itoa(index+1) + " of " + strconv.Itoa(len(group.Members))
	})
}

func TestMembersAreAssignedAgainWhenTheyChange(t *testing.T) {
	server, ctx := startServer(t), patiently(t)
	take := func() (<-chan string, context.CancelFunc, <-chan error) {
		assigned, ended := make(chan string, 100), make(chan error, 1)
		ctx, stop := context.WithCancel(ctx)
		client := server.client()
		go func() {
			ended <- client.Group("team", nil).TakePart(ctx, place, func(standing tenure.Standing) {
				if assignment, isAssigned := standing.Assignment(); isAssigned && standing.IsCurrent() {
					assigned <- assignment
				}
			})
		}()
		return assigned, stop, ended
	}
	until := func(assigned <-chan string, want string) {
		t.Helper()
		for receive(t, want, assigned) != want {
		}
	}
	first, stopFirst, firstEnded := take()
	until(first, "1 of 1")
	second, _, _ := take()
	until(second, "2 of 2")
	until(first, "1 of 2")
	stopFirst()
	if err := receive(t, "its end", firstEnded); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	until(second, "1 of 1")
	server.Kill()
	server.Restart()
	third, _, _ := take()
	until(third, "2 of 2")
}

func TestOnlyTheLeaderAssigns(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	first := must(client.Group("team", nil).Join(ctx))
	session := must(client.OpenSession(ctx, nil))
	second := must(session.Group("team", nil).Join(ctx))
	if !first.Standing().Leads() || second.Standing().Leads() || second.Number() <= first.Number() {
		t.Fatalf("%+v %+v", first.Standing(), second.Standing())
	}
	stale := first.Standing().Group
	for standing := range first.Standings(ctx) {
		if len(standing.Group.Members) == 2 {
			break
		}
	}
	current := first.Standing().Group
	if len(stale.Members) == 1 {
		err := first.Assign(ctx, stale, place(stale))
		var refused *tenure.RefusedError
		if !errors.As(err, &refused) || refused.Reason() != tenurev1.ErrorReason_ERROR_REASON_STALE_ASSIGNMENT {
			t.Errorf("%v", err)
		}
	}
	if err := second.Assign(ctx, current, place(current)); !errors.Is(err, tenure.ErrInvalid) {
		t.Errorf("%v", err)
	}
	must(0, first.Assign(ctx, current, place(current)))
	for standing := range second.Standings(ctx) {
		if assignment, isAssigned := standing.Assignment(); isAssigned {
			if assignment != "2 of 2" || !standing.IsCurrent() {
				t.Errorf("%+v", standing)
			}
			break
		}
	}
	must(0, first.Leave(ctx))
	for standing := range second.Standings(ctx) {
		if standing.Leads() {
			break
		}
	}
	must(0, session.Close(ctx))
	receive(t, "the loss of the membership", second.Lost())
}

func TestConfigIsComparedAndSet(t *testing.T) {
	client, ctx := startServer(t).client(), patiently(t)
	config, none := "7", uint64(0)
	first := &tenurev1.ConfigureGroupRequest{Group: "team", Config: &config, ExpectedRevision: &none}
	revision := must(client.ConfigureGroup(ctx, first)).ConfigRevision
	_, err := client.ConfigureGroup(ctx, first)
	var refused *tenure.RefusedError
	if !errors.As(err, &refused) || refused.Reason() != tenurev1.ErrorReason_ERROR_REASON_CONFIG_CONFLICT {
		t.Errorf("%v", err)
	}
	get := &tenurev1.GetGroupRequest{Group: "team"}
	if group := must(client.GetGroup(ctx, get)).Group; *group.Config != config || group.ConfigRevision != revision {
		t.Errorf("%+v", group)
	}
	must(client.ConfigureGroup(ctx, &tenurev1.ConfigureGroupRequest{Group: "team", ExpectedRevision: &revision}))
	if group := must(client.GetGroup(ctx, get)).Group; group.Config != nil {
		t.Errorf("%+v", group)
	}
}
