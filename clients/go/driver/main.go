// Command driver executes the requests of the scenarios in tests/blackbox/scenarios with this client: requests on
// standard input, answers on standard output, one JSON object a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

// The longest line that is read.
const longestLine = 4 << 20

// An answer.
type facts map[string]any

// Adds a value unless it is nil.
func (f facts) add(name string, value any) facts {
	if value != nil {
		f[name] = value
	}
	return f
}

type handler func(ctx context.Context, asked *request) (facts, error)

var errCancelled = errors.New("cancelled by the scenario")

// A mistake of the scenario.
type mistake string

func (m mistake) Error() string { return string(m) }

type driver struct {
	handlers map[string]handler
	log      *slog.Logger

	mu       sync.Mutex
	out      *json.Encoder
	underWay map[int64]context.CancelCauseFunc

	clients   registry[*tenure.Client]
	sessions  registry[*tenure.Session]
	guards    registry[*tenure.Guard]
	runs      registry[*run]
	elections registry[*election]
	watches   registry[*watch]
	members   registry[*member]
}

func main() {
	d := &driver{
		log:      slog.New(slog.NewTextHandler(os.Stderr, nil)),
		out:      json.NewEncoder(os.Stdout),
		underWay: map[int64]context.CancelCauseFunc{},
		clients:  registry[*tenure.Client]{kind: "client"}, sessions: registry[*tenure.Session]{kind: "session"},
		guards: registry[*tenure.Guard]{kind: "guard"}, runs: registry[*run]{kind: "run"},
		elections: registry[*election]{kind: "election"}, watches: registry[*watch]{kind: "watch"},
		members: registry[*member]{kind: "member"},
	}
	d.handlers = map[string]handler{"hello": d.hello, "cancel": d.cancel}
	for _, handlers := range []map[string]handler{
		d.sessionHandlers(), d.lockHandlers(), d.electionHandlers(), d.watchHandlers(), d.groupHandlers(), d.operatorHandlers(),
		d.measureHandlers(),
	} {
		maps.Copy(d.handlers, handlers)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		asked := &request{}
		if err := json.Unmarshal(lines.Bytes(), asked); err != nil {
			d.answer(asked.ID, nil, mistake(err.Error()))
			continue
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		d.mu.Lock()
		d.underWay[asked.ID] = cancel
		d.mu.Unlock()
		switch asked.Do {
		case "lead", "take_part", "watch", "observe":
			// Answered at once: the next request may name what they make.
			d.carryOut(ctx, asked)
		case "run":
			d.runs.put(asked.Run, newRun())
			go d.carryOut(ctx, asked)
		case "release", "drop", "transfer_to":
			go d.carryOut(ctx, asked)
			// From the request on the hold is over, also for the next request.
			if guard, err := d.guards.get(asked.Guard); err == nil {
				<-guard.Lost()
			}
		default:
			go d.carryOut(ctx, asked)
		}
	}
}

func (d *driver) carryOut(ctx context.Context, asked *request) {
	handle := d.handlers[asked.Do]
	if handle == nil {
		d.answer(asked.ID, nil, mistake(fmt.Sprintf("there is no request %q", asked.Do)))
		return
	}
	ok, err := handle(ctx, asked)
	d.answer(asked.ID, ok, err)
}

func (d *driver) answer(id int64, ok facts, err error) {
	if ok == nil {
		ok = facts{}
	}
	answer := facts{"id": id, "ok": ok}
	if err != nil {
		answer = facts{"id": id, "error": errorFacts(err)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.underWay, id)
	if err := d.out.Encode(answer); err != nil {
		d.log.Error("the answer was not written", "error", err)
	}
}

func (d *driver) hello(context.Context, *request) (facts, error) {
	return facts{"client": "go", "does": slices.Sorted(maps.Keys(d.handlers))}, nil
}

func (d *driver) cancel(_ context.Context, asked *request) (facts, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if cancel := d.underWay[asked.Request]; cancel != nil {
		cancel(errCancelled)
	}
	return nil, nil
}

func errorFacts(err error) facts {
	var (
		refused *tenure.RefusedError
		lost    *tenure.LostError
		invalid *tenure.InvalidError
	)
	of := func(kind string) facts { return facts{"kind": kind, "message": err.Error()} }
	switch {
	case errors.As(err, &refused):
		answer := of("refused")
		answer["reason"], answer["metadata"] = refused.Refusal.Reason, refused.Refusal.Metadata
		return answer
	case errors.As(err, &lost):
		return of("lost").add("lost", lostFacts(lost))
	case errors.As(err, &invalid):
		return of("invalid").add("field", invalid.Field)
	case errors.Is(err, tenure.ErrUnavailable):
		return of("unavailable")
	case errors.Is(err, tenure.ErrClosed):
		return of("closed")
	case errors.Is(err, errCancelled), errors.Is(err, context.Canceled):
		return of("cancelled")
	default:
		return of("driver")
	}
}

// Why something is lost, of an error that has the reason; nil otherwise.
func lostFacts(err error) any {
	var lost *tenure.LostError
	if !errors.As(err, &lost) {
		return nil
	}
	reason := string(lost.Reason)
	if lost.Reason == tenure.LostUnrenewed {
		reason = "expired"
	}
	ended := lost.Ended
	if ended == nil {
		return facts{"reason": reason}
	}
	answer := facts{"reason": reason, "end_reason": word(ended.Reason, "END_REASON_")}
	return answer.add("operator", text(ended.Operator)).add("note", text(ended.Note))
}

// A value of an enumeration of the contract in one lowercase word.
func word(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}

// Nil instead of an empty text.
func text(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Nil instead of zero.
func number(number uint64) any {
	if number == 0 {
		return nil
	}
	return number
}
