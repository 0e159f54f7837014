// Command leader_loop has copies, of which only the leader works: once a second, while it leads.
//
// go run ./leader_loop NAME, several times, with a server of TENURE_ENDPOINTS (default: this machine's port 7420). Kill
// the one that works, and another does.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	name := fmt.Sprintf("replica-%d", os.Getpid())
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	if err := run(ctx, name); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name string) error {
	client, err := tenure.Connect(tenure.FromEnv())
	if err != nil {
		return err
	}
	// snippet: leader_loop
	election := client.Election("service_leader", &tenure.LockOptions{
		Session: tenure.SessionOptions{TTL: 1200 * time.Millisecond, Owner: name},
	})
	fmt.Printf("candidate %s\n", name)
	err = election.LeadEvery(ctx, time.Second, func(_ context.Context, leadership *tenure.Hold) error {
		fmt.Printf("work token=%d\n", leadership.Token())
		return nil
	})
	// snippet end
	if !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Println("stopping")
	return client.Close(context.Background())
}
