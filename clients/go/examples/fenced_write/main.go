// Command fenced_write writes under a lock to a database that rejects a former holder, even one that was paused in the
// middle of a write.
//
// go run ./fenced_write work.db, with a server of TENURE_ENDPOINTS (default: this machine's port 7420).
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	_ "github.com/mattn/go-sqlite3"

	"github.com/tenure-lock/tenure/clients/go/fence"
	"github.com/tenure-lock/tenure/clients/go/tenure"
)

func main() {
	file := "work.db"
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	if err := run(context.Background(), file); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string) error {
	// Transactions begin with the right to write.
	database, err := sql.Open("sqlite3", "file:"+file+"?_txlock=immediate&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	if err := fence.SQLite.Install(ctx, database); err != nil {
		return err
	}
	if _, err := database.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL)"); err != nil {
		return err
	}

	client, err := tenure.Connect(tenure.FromEnv())
	if err != nil {
		return err
	}
	lock := client.Lock("nightly-report", &tenure.LockOptions{Session: tenure.SessionOptions{Owner: "fenced_write"}})
	first, err := lock.Acquire(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("acquired token=%d\n", first.Token())
	if err := write(ctx, database, first.Token()); err != nil {
		return err
	}
	fmt.Println("wrote")
	if err := first.Release(ctx); err != nil {
		return err
	}

	// Had the first holder been paused instead, the next one would have got the lock after the TTL, and gone on like
	// this.
	next, err := lock.Acquire(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("acquired token=%d\n", next.Token())
	if err := write(ctx, database, next.Token()); err != nil {
		return err
	}
	fmt.Println("wrote")

	// The first one wakes up, and does not know yet.
	var stale *fence.StaleTokenError
	if err := write(ctx, database, first.Token()); !errors.As(err, &stale) {
		return fmt.Errorf("not refused: %w", err)
	}
	fmt.Printf("refused token=%d highest=%d\n", stale.Token, stale.Highest)
	if err := next.Release(ctx); err != nil {
		return err
	}
	return client.Close(ctx)
}

// snippet: write
// One write: all that belongs to it in one transaction, and the check first.
func write(ctx context.Context, database *sql.DB, token uint64) error {
	transaction, err := database.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = transaction.Rollback() }()
	if err := fence.SQLite.Check(ctx, transaction, "nightly-report", token); err != nil {
		return err
	}
	if _, err := transaction.ExecContext(ctx, "INSERT INTO reports (pages) VALUES (1)"); err != nil {
		return err
	}
	return transaction.Commit()
}

// snippet end
