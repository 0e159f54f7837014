// Command watch prints who holds what, as it changes.
//
// go run ./watch PREFIX, with a server of TENURE_ENDPOINTS (default: this machine's port 7420).
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

func main() {
	prefix := ""
	if len(os.Args) > 1 {
		prefix = os.Args[1]
	}
	if err := run(context.Background(), prefix); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, prefix string) error {
	client, err := tenure.Connect(tenure.FromEnv())
	if err != nil {
		return err
	}
	for response, err := range client.Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{prefix}}) {
		if err != nil {
			return err
		}
		switch kind := response.Kind.(type) {
		case *tenurev1.WatchResponse_Snapshot:
			fmt.Printf("snapshot revision=%d\n", response.Revision)
			for _, lock := range kind.Snapshot.Locks {
				holder := "none"
				if claim := tenure.HolderOf(lock); claim != nil {
					holder = claim.Owner
				}
				fmt.Printf("lock name=%s holder=%s waiters=%d\n", lock.Name, holder, lock.WaiterCount)
			}
		case *tenurev1.WatchResponse_Events:
			for _, event := range kind.Events.Events {
				report(event)
			}
		case *tenurev1.WatchResponse_HistoryGone:
			fmt.Printf("history is gone: %s\n", word(kind.HistoryGone.Cause, "HISTORY_GONE_CAUSE_"))
		}
	}
	return nil
}

// Prints an event once for each of its locks.
func report(event *tenurev1.Event) {
	reason := ""
	if event.EndReason != tenurev1.EndReason_END_REASON_UNSPECIFIED {
		reason = word(event.EndReason, "END_REASON_")
	}
	for _, name := range event.Names {
		vacant := ""
		if slices.Contains(event.VacantNames, name) {
			vacant = " vacant"
		}
		fmt.Printf("%s name=%s revision=%d owner=%s %s%s\n",
			word(event.Type, "EVENT_TYPE_"), name, event.Revision, event.GetClaim().GetOwner(), reason, vacant)
	}
}

// A value of an enumeration of the contract in one lowercase word.
func word(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}
