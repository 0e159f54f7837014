// Command watch prints who holds what, as it changes.
//
// go run ./watch PREFIX, with a server of TENURE_ENDPOINTS (default: this machine's port 7420).
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tenure-lock/tenure/clients/go/tenure"
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
	for told, err := range client.Watch(ctx, &tenure.WatchOptions{Prefixes: []string{prefix}}) {
		if err != nil {
			return err
		}
		switch told.Kind {
		case tenure.WatchSnapshot:
			fmt.Printf("snapshot revision=%d\n", told.Revision)
			for _, lock := range told.Locks {
				holder := "nobody"
				if claim := lock.Holder(); claim != nil {
					holder = claim.Owner
				}
				fmt.Printf("lock name=%s holder=%s waiters=%d\n", lock.Name, holder, lock.WaiterCount)
			}
		case tenure.WatchEvents:
			for _, event := range told.Events {
				owner, vacant := "", ""
				if event.Claim != nil {
					owner = event.Claim.Owner
				}
				if event.Vacant {
					vacant = " vacant"
				}
				fmt.Printf("%s name=%s revision=%d owner=%s %s%s\n",
					event.Kind, event.Name, event.Revision, owner, event.EndReason, vacant)
			}
		case tenure.WatchHistoryGone:
			fmt.Printf("history is gone: %s\n", told.Cause)
		case tenure.WatchProgress:
		}
	}
	return nil
}
