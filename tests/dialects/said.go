// Package dialects tells whether databases that speak PostgreSQL's or MySQL's language would understand Tenure.
package dialects

import (
	"encoding/json"
	"fmt"
	"os"
)

// Said is what a database is asked at one go: statements separated by ";", as server/src/store/dialects.rs lists them.
type Said struct {
	Dialect string `json:"dialect"`
	Flavour string `json:"flavour"`
	Name    string `json:"name"`
	SQL     string `json:"sql"`
}

// read reads a list that server/examples/dialects.rs has printed.
func read(file string) ([]Said, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []Said
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}
