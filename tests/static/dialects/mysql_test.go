// Package dialects tells whether a parser of MySQL's language, other than MariaDB's, understands what MySQL is asked.
package dialects

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // The parser needs something that makes values of literals.
)

const (
	jsonTable = "it has no JSON_TABLE, which MySQL has since 8.0"
	snapshot  = "it has the two only one by one; MySQL takes both at once"
	compound  = "it is MariaDB's alone; a server that cannot prepare it is sent append.sql instead"
)

// refused are the files that the parser does not understand, each with the reason.
var refused = map[string]string{
	"append_at_once.sql":  compound,
	"begin_snapshot.sql":  snapshot,
	"delete_claims.sql":   jsonTable,
	"delete_clients.sql":  jsonTable,
	"delete_groups.sql":   jsonTable,
	"delete_members.sql":  jsonTable,
	"delete_sessions.sql": jsonTable,
	"forget.sql":          jsonTable,
	"0001_initial.sql":    jsonTable,
}

// literal matches an argument that is written into its statement.
var literal = regexp.MustCompile(`\$[0-9]`)

// parse parses as in a session that Tenure has begun.
func parse(t *testing.T, sql string) error {
	t.Helper()
	mode, err := mysql.GetSQLMode("STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION")
	if err != nil {
		t.Fatal(err)
	}
	parser := parser.New()
	parser.SetSQLMode(mode)
	_, _, err = parser.ParseSQL(sql)
	return err
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMySQLUnderstandsAllButWhatIsListed(t *testing.T) {
	const statements = "../../../server/src/store/mysql/sql"
	var files []string
	for _, pattern := range []string{statements + "/*.sql", "../../../migrations/mysql/*.sql"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	filled := strings.NewReplacer(
		"{identity}", "@@server_uuid", "{bound}", "5", "{role}", "source", "{schema}", "performance_schema",
		"{head}", strings.ReplaceAll(read(t, statements+"/advance_head.sql"), "{identity}", "@@server_uuid"),
	)
	for _, file := range files {
		name := filepath.Base(file)
		err := parse(t, literal.ReplaceAllString(filled.Replace(read(t, file)), "'x'"))
		_, listed := refused[name]
		if err == nil && listed {
			t.Errorf("%s is understood, and yet listed as refused: take it off the list", name)
		}
		if err != nil && !listed {
			t.Errorf("%s is not understood: %v", name, err)
		}
	}
}

// What is wrong must be seen, or the test above says nothing.
func TestParserRefusesWhatIsWrong(t *testing.T) {
	for _, sql := range []string{"SELECT FROM WHERE", "BEGIN; UPDATE namespaces SET", "INSERT INTO x VALUES (1"} {
		if parse(t, sql) == nil {
			t.Errorf("%q is understood", sql)
		}
	}
}
