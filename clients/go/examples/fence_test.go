package examples

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"

	"github.com/tenure-lock/tenure/clients/go/fence"
)

// A database with a fence, by way of each driver.
func eachFence(t *testing.T, test func(t *testing.T, kind *fence.Database, database *sql.DB)) {
	t.Helper()
	for _, driver := range []struct {
		name, driver string
		kind         *fence.Database
		source       func(t *testing.T) string
	}{
		{"pgx", "pgx", fence.Postgres, postgres},
		{"pq", "postgres", fence.Postgres, func(t *testing.T) string { return postgres(t) + "?sslmode=disable" }},
		{"mysql", "mysql", fence.MySQL, mysql},
		{"sqlite3", "sqlite3", fence.SQLite, func(t *testing.T) string { return "file:" + filepath.Join(t.TempDir(), "work.db") }},
	} {
		t.Run(driver.name, func(t *testing.T) {
			database, err := sql.Open(driver.driver, driver.source(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = database.Close() })
			if err := driver.kind.Install(context.Background(), database); err != nil {
				t.Fatal(err)
			}
			test(t, driver.kind, database)
		})
	}
}

func postgres(t *testing.T) string { return fromEnvironment(t, "TEST_POSTGRES_URL") }

func mysql(t *testing.T) string {
	at, err := url.Parse(fromEnvironment(t, "TEST_MYSQL_URL"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s@tcp(%s)%s?multiStatements=true", at.User, at.Host, at.Path)
}

func fromEnvironment(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skip(variable + " is not the URL of a database")
	}
	return value
}

// A unique name.
func fenceName() string { return fmt.Sprintf("job-%d", time.Now().UnixNano()) }

// Whether a transaction with this token is let in.
func letIn(kind *fence.Database, database *sql.DB, name string, token uint64) error {
	tx, err := database.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := kind.Check(context.Background(), tx, name, token); err != nil {
		return err
	}
	return tx.Commit()
}

func TestAFenceRefusesWhatIsLowerThanTheHighestTokenSeen(t *testing.T) {
	eachFence(t, func(t *testing.T, kind *fence.Database, database *sql.DB) {
		name := fenceName()
		for _, token := range []uint64{5, 5, 7} {
			if err := letIn(kind, database, name, token); err != nil {
				t.Fatalf("token %d: %v", token, err)
			}
		}
		err := letIn(kind, database, name, 6)
		var stale *fence.StaleTokenError
		if !errors.As(err, &stale) || *stale != (fence.StaleTokenError{Name: name, Token: 6, Highest: 7}) {
			t.Errorf("%v", err)
		}
		if !errors.Is(err, fence.ErrStaleToken) {
			t.Errorf("%v is no ErrStaleToken", err)
		}
		if err := letIn(kind, database, fenceName(), 6); err != nil {
			t.Errorf("another name: %v", err)
		}
	})
}

func TestAFenceThatIsInstalledAgainKeepsItsTokens(t *testing.T) {
	eachFence(t, func(t *testing.T, kind *fence.Database, database *sql.DB) {
		name := fenceName()
		if err := letIn(kind, database, name, 7); err != nil {
			t.Fatal(err)
		}
		if err := kind.Install(context.Background(), database); err != nil {
			t.Fatal(err)
		}
		if err := letIn(kind, database, name, 6); !errors.Is(err, fence.ErrStaleToken) {
			t.Errorf("%v", err)
		}
	})
}

func TestOtherRefusalsOfAFenceAreTheDriversErrors(t *testing.T) {
	eachFence(t, func(t *testing.T, kind *fence.Database, database *sql.DB) {
		for _, call := range []struct {
			name  string
			token uint64
		}{{"", 5}, {fenceName(), 0}, {fenceName(), 1 << 63}} {
			if err := letIn(kind, database, call.name, call.token); err == nil || errors.Is(err, fence.ErrStaleToken) {
				t.Errorf("%+v: %v", call, err)
			}
		}
	})
}
