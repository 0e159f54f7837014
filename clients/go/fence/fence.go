// Package fence has the user's own database turn away stale fencing tokens: a process that is paused may write after it has lost
// its lock.
//
// For each name the database keeps the highest token that it has seen. A transaction begins with a check of its token:
//
//	tx, err := database.BeginTx(ctx, nil)
//	err = fence.Postgres.Check(ctx, tx, "nightly-report", guard.Token())
//	// ... and all that the lock protects, then tx.Commit()
//
// The fence is installed once, like a migration: by [Database.Install], or with `tenure fence-sql`. It works in any database, not
// only in Tenure's own, and asks no server of Tenure. What there is for people, and which settings end a wait for a transaction
// of a process that is paused, stands at the top of each [Database.SQL].
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
	// Of a database whose refusal does not tell the highest token seen.
	highest string
}

var (
	// Postgres is PostgreSQL, 13 or newer, by way of pgx or lib/pq.
	Postgres = &Database{script: postgresSQL, call: "SELECT tenure_fence($1, $2)"}
	// MySQL is MySQL, 8.0 or newer, or MariaDB, 10.6 or newer, by way of go-sql-driver.
	MySQL = &Database{script: mysqlSQL, call: "CALL tenure_fence(?, ?)"}
	// SQLite is SQLite, 3.24 or newer, by way of any of its drivers.
	SQLite = &Database{
		script: sqliteSQL,
		call:   "INSERT INTO tenure_fence (name, token) VALUES (?, ?)",
		// The script takes the view away for a moment, which nobody is to see.
		begin: "BEGIN IMMEDIATE;\n", commit: "\nCOMMIT;",
		highest: "SELECT token FROM tenure_fences WHERE name = ?",
	}
)

// Tx is what a transaction is spoken to by: a *sql.Tx, or a *sql.Conn that is in one.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Check lets a transaction in, unless the database has seen a higher token for the name: then it fails with a *StaleTokenError.
// First of all in the transaction, and not in a savepoint that may be rolled back. After any error the transaction is to be rolled
// back.
//
// Name is the lock's, or any other for what is protected: 1 to 255 bytes, compared as they are. All tokens for a name must come
// from one namespace of one Tenure.
//
// It may wait for transactions of other tokens (in SQLite: for every other writer), for as long as the settings of the database
// allow. Other errors are the driver's: after a serialization failure, a deadlock or a wait that took too long the transaction is
// to be run again.
func (d *Database) Check(ctx context.Context, tx Tx, name string, token uint64) error {
	// A token beyond what databases know is negative here, which they refuse.
	_, err := tx.ExecContext(ctx, d.call, name, int64(token))
	highest, isStale := staleness(err)
	if !isStale {
		return err
	}
	if d.highest != "" {
		// The transaction goes on, and so can still be asked.
		if err := tx.QueryRowContext(ctx, d.highest, name).Scan(&highest); err != nil {
			return err
		}
	}
	return &StaleTokenError{Name: name, Token: token, Highest: highest}
}

// Install installs the fence, outside of any transaction; or does it again, which keeps the tokens. A step for whoever migrates the
// database, like the migrations of other tables, not for each start of a program. The connections of MySQL have to take several
// statements at once: multiStatements=true.
func (d *Database) Install(ctx context.Context, database *sql.DB) error {
	_, err := database.ExecContext(ctx, d.begin+d.script+d.commit)
	return err
}

// SQL is the script that installs the fence, as `tenure fence-sql` prints it.
func (d *Database) SQL() string { return d.script }
