package dialects

import (
	"slices"
	"testing"
)

// onlyToFindOut are asked of every server, and may be refused.
var onlyToFindOut = []string{"ask_identity", "remember_identity", "ask_whether_it_notifies", "listen", "tune_tables"}

func TestEnginesThatResemblePostgresAreAskedInCommonWords(t *testing.T) {
	used := map[string]bool{}
	for _, said := range statements(t) {
		if said.Dialect != "postgres" || !slices.Contains([]string{"any", "compatible"}, said.Flavour) ||
			slices.Contains(onlyToFindOut, said.Name) {
			continue
		}
		all, err := words(said.SQL)
		if err != nil {
			t.Fatalf("%s: %v", said.Name, err)
		}
		for _, word := range all {
			used[word] = true
			if !slices.Contains(common, word) {
				t.Errorf("%s uses %s, which may not be known everywhere", said.Name, word)
			}
		}
	}
	for _, word := range common {
		if !used[word] {
			t.Errorf("%s is used no more: take it off the list", word)
		}
	}
}

func TestWordsAreFoundWhereverTheyStand(t *testing.T) {
	sql := "WITH x AS (SELECT t.xmin, a::uuid FROM t) SELECT nextval('s'), pg_catalog.pg_advisory_lock(1) FROM x FOR UPDATE; LISTEN c"
	want := []string{"ListenStmt", "SelectStmt", "nextval()", "pg_advisory_lock()", "uuid", "xmin"}
	if got, err := words(sql); err != nil || !slices.Equal(got, want) {
		t.Errorf("found %v, %v", got, err)
	}
}
