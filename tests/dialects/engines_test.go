package dialects

import (
	"os"
	"testing"
)

// statements is all that databases are asked; its file is named by DIALECTS.
func statements(t *testing.T) []Said {
	t.Helper()
	file := os.Getenv("DIALECTS")
	if file == "" {
		t.Fatal("DIALECTS must name the file that server/examples/dialects.rs has printed: run tests/dialects/check")
	}
	all, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEnginesUnderstandAllButWhatIsListed(t *testing.T) {
	all := statements(t)
	for _, engine := range engines {
		t.Run(engine.Name, func(t *testing.T) {
			refused := map[string]bool{}
			understood := 0
			for _, said := range all {
				if said.Dialect != engine.Dialect {
					continue
				}
				err := engine.Parse(said.SQL)
				_, listed := engine.Refuses[said.Name]
				switch {
				case err == nil && listed:
					t.Errorf("%s (%s) is understood, and yet listed as refused: take it off the list", said.Name, said.Flavour)
				case err == nil:
					understood++
				case listed:
					refused[said.Name] = true
				default:
					t.Errorf("%s (%s) is not understood: %v\n%s", said.Name, said.Flavour, err, said.SQL)
				}
			}
			for name := range engine.Refuses {
				if !refused[name] {
					t.Errorf("%s is listed as refused, but no statement of this name is", name)
				}
			}
			if understood < 40 {
				t.Errorf("there are only %d statements: too few to be all", understood)
			}
		})
	}
}

// What is wrong must be seen, or the test above says nothing.
func TestParsersRefuseWhatIsWrong(t *testing.T) {
	for _, engine := range engines {
		for _, sql := range []string{"SELECT FROM WHERE", "BEGIN; UPDATE namespaces SET", "INSERT INTO x VALUES (1"} {
			if engine.Parse(sql) == nil {
				t.Errorf("%s understands %q", engine.Name, sql)
			}
		}
	}
}
