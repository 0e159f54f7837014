// Package fence makes the user's own database reject stale fencing tokens: a process that is paused may write after it
// has lost its lock.
//
// For each name the database keeps the highest token that it has seen. A transaction begins with a check of its token:
//
//	tx, err := database.BeginTx(ctx, nil)
//	err = fence.Postgres.Check(ctx, tx, "nightly-report", guard.Token())
//	// ... and everything that the lock protects, then tx.Commit()
//
// The fence is installed once, like a migration: by [Database.Install], or with `tenure fence-sql`. It works in any
// database, not only in Tenure's own, and needs no server of Tenure. The top of each [Database.SQL] describes its views
// for people, and which settings end a wait for a transaction of a process that is paused.
package fence

import (
	"context"
	"database/sql"
	_ "embed"
)

//go:embed postgres.sql
var postgresSQL string

//go:embed mysql.sql
var mysqlSQL string

//go:embed sqlite.sql
var sqliteSQL string

// Database is a kind of database that has a fence: Postgres, MySQL or SQLite.
type Database struct {
	script, call string
	// What the script is executed in.
	begin, commit string
	// Of a database whose error does not have the highest token seen.
	highest string
}

var (
	// Postgres is PostgreSQL, 13 or newer, with pgx or lib/pq.
	Postgres = &Database{script: postgresSQL, call: "SELECT tenure_fence($1, $2)"}
	// MySQL is MySQL, 8.0 or newer, or MariaDB, 10.6 or newer, with go-sql-driver.
	MySQL = &Database{script: mysqlSQL, call: "CALL tenure_fence(?, ?)"}
	// SQLite is SQLite, 3.24 or newer, with any of its drivers.
	SQLite = &Database{
		script: sqliteSQL,
		call:   "INSERT INTO tenure_fence (name, token) VALUES (?, ?)",
		// The script drops and creates the view: in one transaction, so that it is always there.
		begin: "BEGIN IMMEDIATE;\n", commit: "\nCOMMIT;",
		highest: "SELECT token FROM tenure_fences WHERE name = ?",
	}
)

// Tx is a transaction: a *sql.Tx, or a *sql.Conn that is in one.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Check fails with a *StaleTokenError if the database has seen a higher token for the name. Call it first in the
// transaction, and not in a savepoint that may be rolled back. After any error the transaction is to be rolled back.
//
// Name is the lock's, or any other for what is protected: 1 to 255 bytes, compared byte by byte. All tokens for a name
// must come from one namespace of one Tenure.
//
// It may wait for transactions of other tokens (in SQLite: for every other writer), for as long as the settings of the
// database allow. Other errors are the driver's: after a serialization failure, a deadlock or a wait that took too long
// the transaction is to be run again.
func (d *Database) Check(ctx context.Context, tx Tx, name string, token uint64) error {
	// A token beyond what databases know is negative here, which they refuse.
	_, err := tx.ExecContext(ctx, d.call, name, int64(token))
	highest, isStale := staleness(err)
	if !isStale {
		return err
	}
	if d.highest != "" {
		// The transaction continues, and can still be queried.
		if err := tx.QueryRowContext(ctx, d.highest, name).Scan(&highest); err != nil {
			return err
		}
	}
	return &StaleTokenError{Name: name, Token: token, Highest: highest}
}

// Install installs the fence, outside of any transaction; a repetition keeps the tokens. A step of the migrations of
// the database, not of each start of a program. Connections to MySQL need several statements at once:
// multiStatements=true.
func (d *Database) Install(ctx context.Context, database *sql.DB) error {
	_, err := database.ExecContext(ctx, d.begin+d.script+d.commit)
	return err
}

// SQL is the script that installs the fence, as `tenure fence-sql` prints it.
func (d *Database) SQL() string { return d.script }
