// Command try_lock is a job that starts on several hosts at once: one runs, the others print which.
//
// go run ./try_lock HOST, with a server of TENURE_ENDPOINTS (default: this machine's port 7420).
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func main() {
	host := "host"
	if len(os.Args) > 1 {
		host = os.Args[1]
	}
	if err := run(context.Background(), host); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, host string) error {
	client, err := tenure.Connect(tenure.FromEnv())
	if err != nil {
		return err
	}
	// The hosts' clocks may differ by some seconds, and the job is shorter than that.
	job := client.Lock("hourly-job", &tenure.LockOptions{
		Session: tenure.SessionOptions{Owner: host}, MinHold: 5 * time.Second,
	})
	busy, err := job.TryDo(ctx, func(_ context.Context, hold *tenure.Hold) error {
		fmt.Printf("running token=%d\n", hold.Token())
		return nil
	})
	switch {
	case err != nil:
		return err
	case busy == nil:
		fmt.Println("done")
	case busy.Holder == nil:
		fmt.Println("busy holder=unknown")
	default:
		fmt.Printf("busy holder=%s\n", busy.Holder.Owner)
	}
	return client.Close(ctx)
}
