package dialects

import (
	postgres "github.com/pganalyze/pg_query_go/v4"
	tidb "github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // The parser needs something that makes values of literals.
)

// Engine is a database by its parser.
type Engine struct {
	Name    string
	Dialect string
	// Parse tells what the parser has against these statements, if anything.
	Parse func(sql string) error
	// Refuses are the names of what its parser does not accept, each with what that means for Tenure.
	Refuses map[string]string
}

var engines = []Engine{
	{
		// YugabyteDB 2025.1 and newer have this very parser; older ones that of 11.
		Name:    "PostgreSQL 15",
		Dialect: "postgres",
		Parse: func(sql string) error {
			_, err := postgres.Parse(sql)
			return err
		},
	},
	{
		Name:    "TiDB",
		Dialect: "mysql",
		Parse:   parseTiDB,
		Refuses: map[string]string{
			"advance_at_once": "MariaDB's alone; a server that cannot prepare it is sent four statements instead",
			"begin_snapshot":  "TiDB knows neither of the two together; rows cannot be loaded",
			"delete_sessions": jsonTable,
			"delete_claims":   jsonTable,
			"delete_groups":   jsonTable,
			"delete_members":  jsonTable,
			"forget":          jsonTable,
			"0001_initial":    jsonTable,
		},
	},
}

const jsonTable = "TiDB has no JSON_TABLE, so it cannot be Tenure's database"

// parseTiDB parses as TiDB does in a session that Tenure has begun.
func parseTiDB(sql string) error {
	parser := tidb.New()
	mode, err := mysql.GetSQLMode("STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION")
	if err != nil {
		return err
	}
	parser.SetSQLMode(mode)
	_, _, err = parser.ParseSQL(sql)
	return err
}
