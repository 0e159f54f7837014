// Command basic waits for a lock, works under it, and releases it.
//
// go run ./basic, with a server of TENURE_ENDPOINTS (default: this machine's port 7420).
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	// snippet: basic
	client, err := tenure.Connect(tenure.FromEnv())
	if err != nil {
		return err
	}
	guard, err := client.Lock("nightly-report", &tenure.LockOptions{
		Session: tenure.SessionOptions{TTL: 5 * time.Second, Owner: "basic"},
	}).Acquire(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("acquired token=%d\n", guard.Token())
	// The token is sent with each write; long work checks whether the lock is still held.
	fmt.Printf("valid=%t\n", guard.IsValid())
	if err := guard.Release(ctx); err != nil {
		return err
	}
	fmt.Println("released")
	// snippet end
	return client.Close(ctx)
}
