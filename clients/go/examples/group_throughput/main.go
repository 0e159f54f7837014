// Command group_throughput has copies that share a total throughput: each prints what it may use, whenever that
// changes.
//
// go run ./group_throughput NAME, several times, with a server of TENURE_ENDPOINTS (default: this machine's port 7420);
// `tenure group set throughput 1000` sets the total. Start and kill copies, set another total, and see the shares. With
// `exact` after the name, the shares make the total exactly: the first members get what the division leaves over.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	name, divide := fmt.Sprintf("copy-%d", os.Getpid()), evenly
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	if len(os.Args) > 2 && os.Args[2] == "exact" {
		divide = exactly
	}
	if err := run(ctx, name, divide); err != nil {
		log.Fatal(err)
	}
}

// The total, which is the group's config: 0 while there is none.
func total(group *tenurev1.Group) int {
	if group.Config == nil {
		return 0
	}
	total, err := strconv.Atoi(*group.Config)
	if err != nil {
		return 0
	}
	return total
}

// The same for all: what the division leaves over is not used.
func evenly(group *tenurev1.Group) tenure.Assignments {
	share := total(group) / len(group.Members)
	return tenure.Assign(group, func(int, *tenurev1.GroupMember) string { return strconv.Itoa(share) })
}

// All of it: the members that joined first get one more each, as far as that goes.
func exactly(group *tenurev1.Group) tenure.Assignments {
	share, rest := total(group)/len(group.Members), total(group)%len(group.Members)
	return tenure.Assign(group, func(index int, _ *tenurev1.GroupMember) string {
		if index < rest {
			return strconv.Itoa(share + 1)
		}
		return strconv.Itoa(share)
	})
}

func run(ctx context.Context, name string, divide func(*tenurev1.Group) tenure.Assignments) error {
	client, err := tenure.Connect(tenure.FromEnv())
	if err != nil {
		return err
	}
	group := client.Group("throughput", &tenure.GroupOptions{
		Session: tenure.SessionOptions{TTL: 1200 * time.Millisecond, Owner: name},
	})
	last := ""
	err = group.TakePart(ctx, divide, func(standing tenure.Standing) {
		report := report(standing)
		if report != "" && report != last {
			fmt.Println(report)
			last = report
		}
	})
	if !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Println("stopping")
	return client.Close(context.Background())
}

func report(standing tenure.Standing) string {
	share, isAssigned := standing.Assignment()
	switch {
	case standing.Lost != nil:
		// The others no longer count this copy's use: it stops until it is a member again.
		return "lost reason=" + strings.TrimPrefix(standing.Lost.Error(), "lost: ")
	case !isAssigned || !standing.IsCurrent():
		return ""
	}
	role := "member"
	if standing.Leads() {
		role = "leader"
	}
	return fmt.Sprintf("share=%s of=%d members=%d %s", share, total(standing.Group), len(standing.Group.Members), role)
}
