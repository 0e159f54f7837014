package tenure_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The driver of the scenarios: a process with a client in it, which can be ended and frozen.
type driver struct {
	process *os.Process
	input   io.Writer
	lines   *bufio.Scanner
}

// The folder of what is built once for all tests.
var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder = must(os.MkdirTemp("", "tenure-go-driver"))
		defer func() { _ = os.RemoveAll(folder) }()
		return m.Run()
	}())
}

var builtDriver = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "driver")
	return path, exec.Command("go", "build", "-o", path, "../driver").Run()
})

func startDriver(t *testing.T) *driver {
	t.Helper()
	command := exec.Command(must(builtDriver()))
	command.Stderr = os.Stderr
	input, output := must(command.StdinPipe()), must(command.StdoutPipe())
	must(0, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return &driver{process: command.Process, input: input, lines: bufio.NewScanner(output)}
}

// One request and its answer.
func (d *driver) ask(t *testing.T, request map[string]any) map[string]any {
	t.Helper()
	request["id"] = 1
	must(d.input.Write(append(must(json.Marshal(request)), '\n')))
	answers := make(chan map[string]any, 1)
	go func() {
		var answer map[string]any
		if d.lines.Scan() {
			_ = json.Unmarshal(d.lines.Bytes(), &answer)
		}
		answers <- answer
	}()
	answer := receive(t, "the driver's answer", answers)
	ok, isOk := answer["ok"].(map[string]any)
	if !isOk {
		t.Fatalf("%v: %v", request, answer)
	}
	return ok
}

func TestDriverKnowsAllRequests(t *testing.T) {
	page := string(must(os.ReadFile("../../../tests/blackbox/scenarios/README.md")))
	page, _, _ = strings.Cut(page, "\n## A scenario")
	_, page, _ = strings.Cut(page, "| `do` |")
	var documented []any
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(page, -1) {
		documented = append(documented, row[1])
	}
	if len(documented) < 40 {
		t.Fatalf("only %v", documented)
	}
	does, _ := startDriver(t).ask(t, map[string]any{"do": "hello"})["does"].([]any)
	for _, name := range documented {
		if !slices.Contains(does, name) {
			t.Errorf("%v is not known", name)
		}
	}
}
