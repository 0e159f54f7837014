// Package examples runs the examples as the programs that they are.
package examples

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenure-lock/tenure/clients/go/internal/testserver"
	"github.com/tenure-lock/tenure/clients/go/tenure"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

const patience = 30 * time.Second

var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if folder, err = os.MkdirTemp("", "tenure-go-examples"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		build := exec.Command("go", "build", "-o", folder, "./...")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// An example that runs.
type example struct {
	t     *testing.T
	lines chan string
	run   *exec.Cmd
}

func start(t *testing.T, server, name string, arguments ...string) *example {
	t.Helper()
	run := exec.Command(filepath.Join(folder, name), arguments...)
	run.Env = append(os.Environ(), "TENURE_ENDPOINTS="+server, "TENURE_NAMESPACE=")
	run.Stderr = os.Stderr
	output, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	e := &example{t: t, lines: make(chan string, 1000), run: run}
	go func() {
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			e.lines <- scanner.Text()
		}
		close(e.lines)
	}()
	t.Cleanup(e.kill)
	return e
}

func (e *example) kill() {
	_ = e.run.Process.Kill()
	_ = e.run.Wait()
}

// Reads to the next line like this, and returns it.
func (e *example) prints(like string) string {
	e.t.Helper()
	pattern := regexp.MustCompile("^" + like + "$")
	deadline := time.After(patience)
	for {
		select {
		case line, isThere := <-e.lines:
			if !isThere {
				e.t.Fatalf("it ended before %q", like)
			}
			if pattern.MatchString(line) {
				return line
			}
		case <-deadline:
			e.t.Fatalf("it never printed %q", like)
		}
	}
}

// All that it prints until it ends by itself.
func (e *example) output() string {
	e.t.Helper()
	var all []string
	for line := range e.lines {
		all = append(all, line)
	}
	if err := e.run.Wait(); err != nil {
		e.t.Fatalf("%v after %q", err, all)
	}
	return strings.Join(all, "\n")
}

func matches(t *testing.T, printed, like string) {
	t.Helper()
	if !regexp.MustCompile("^" + like + "$").MatchString(printed) {
		t.Errorf("printed %q", printed)
	}
}

func TestBasic(t *testing.T) {
	printed := start(t, testserver.Start(t).Address, "basic").output()
	matches(t, printed, `acquired token=\d+\nvalid=true\nreleased`)
}

func TestTryLock(t *testing.T) {
	server := testserver.Start(t).Address
	matches(t, start(t, server, "try_lock", "one").output(), `running token=\d+\ndone`)
	matches(t, start(t, server, "try_lock", "two").output(), `busy holder=one`)
}

func TestLeaderLoop(t *testing.T) {
	server := testserver.Start(t).Address
	first := start(t, server, "leader_loop", "first")
	first.prints("candidate first")
	token := first.prints(`work token=\d+`)
	second := start(t, server, "leader_loop", "second")
	second.prints("candidate second")
	first.kill()
	if second.prints(`work token=\d+`) == token {
		t.Error("the same token")
	}
	if err := second.run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	second.prints("stopping")
}

func TestWatch(t *testing.T) {
	server := testserver.Start(t).Address
	watch := start(t, server, "watch", "nightly")
	watch.prints(`snapshot revision=\d+`)
	start(t, server, "basic").output()
	watch.prints(`granted name=nightly-report revision=\d+ owner=basic `)
	watch.prints(`ended name=nightly-report revision=\d+ owner=basic released vacant`)
}

func TestGroupThroughput(t *testing.T) {
	server := testserver.Start(t).Address
	client, err := tenure.Connect(&tenure.Options{Endpoints: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	total := "7"
	request := &tenurev1.ConfigureGroupRequest{Group: "throughput", Config: &total}
	if _, err := client.ConfigureGroup(ctx, request); err != nil {
		t.Fatal(err)
	}
	first := start(t, server, "group_throughput", "first", "exact")
	first.prints("share=7 of=7 members=1 leader")
	second := start(t, server, "group_throughput", "second", "exact")
	first.prints("share=4 of=7 members=2 leader")
	second.prints("share=3 of=7 members=2 member")
	first.kill()
	second.prints("share=7 of=7 members=1 leader")
}

func TestFencedWrite(t *testing.T) {
	printed := start(t, testserver.Start(t).Address, "fenced_write", filepath.Join(t.TempDir(), "work.db")).output()
	var first, next, refused, highest uint64
	_, err := fmt.Sscanf(printed, "acquired token=%d\nwrote\nacquired token=%d\nwrote\nrefused token=%d highest=%d",
		&first, &next, &refused, &highest)
	if err != nil || first >= next || refused != first || highest != next {
		t.Errorf("%v: %q", err, printed)
	}
}
