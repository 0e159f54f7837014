package dialects

import (
	"encoding/json"
	"slices"
	"strings"

	postgres "github.com/pganalyze/pg_query_go/v4"
)

// common are the words of PostgreSQL's language in which Tenure talks to engines that only resemble it. As far as their
// documentation tells, CockroachDB and YugabyteDB have all of them: whoever needs another one looks it up there first.
var common = []string{
	// Statements.
	"AlterTableStmt", "CopyStmt", "CreateStmt", "DeleteStmt", "InsertStmt", "SelectStmt", "TransactionStmt", "UpdateStmt",
	"VariableSetStmt", "ViewStmt",
	// Types.
	"bool", "int8", "jsonb", "oid", "regclass", "text",
	// Functions of values, rows and JSON.
	"count()", "extract()", "jsonb_array_elements()", "jsonb_array_elements_text()", "max()", "min()", "octet_length()",
	"row_number()", "strpos()", "substr()", "sum()", "to_timestamp()", "translate()",
	// What they tell of themselves.
	"clock_timestamp()", "current_schema()", "current_setting()", "pg_is_in_recovery()",
}

// systemColumns are PostgreSQL's own, which hardly any other engine has.
var systemColumns = []string{"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"}

// words are the kinds of statements, the functions, the types and the system columns in what PostgreSQL is asked.
func words(sql string) ([]string, error) {
	text, err := postgres.ParseToJSON(sql)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	var found []string
	collect(tree, &found)
	slices.Sort(found)
	return slices.Compact(found), nil
}

func collect(node any, found *[]string) {
	switch node := node.(type) {
	case []any:
		for _, each := range node {
			collect(each, found)
		}
	case map[string]any:
		for key, each := range node {
			switch fields, _ := each.(map[string]any); {
			case strings.HasSuffix(key, "Stmt") && strings.ToUpper(key[:1]) == key[:1]:
				*found = append(*found, key)
			case key == "FuncCall":
				*found = append(*found, last(fields["funcname"])+"()")
			case key == "typeName":
				*found = append(*found, last(fields["names"]))
			case key == "ColumnRef":
				if column := last(fields["fields"]); slices.Contains(systemColumns, column) {
					*found = append(*found, column)
				}
			}
			collect(each, found)
		}
	}
}

// last is the last part of a name, without what it belongs to; nothing if that is a "*".
func last(parts any) string {
	list := parts.([]any)
	text, _ := list[len(list)-1].(map[string]any)["String"].(map[string]any)
	value, _ := text["sval"].(string)
	return value
}
