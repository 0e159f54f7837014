package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-lock/tenure/clients/go/tenure"
)

// A duration in milliseconds.
type millis int64

func (m *millis) duration() time.Duration {
	if m == nil {
		return 0
	}
	return time.Duration(*m) * time.Millisecond
}

// The token of a hold; or that of connect, a text, which is a credential.
type token struct {
	fencing uint64
	secret  tenure.Secret
}

func (t *token) UnmarshalJSON(value []byte) error {
	if bytes.HasPrefix(value, []byte{'"'}) {
		return json.Unmarshal(value, &t.secret)
	}
	return json.Unmarshal(value, &t.fencing)
}

// A request. An absent field is the client's own default.
type request struct {
	ID int64  `json:"id"`
	Do string `json:"do"`

	Client   string `json:"client"`
	Session  string `json:"session"`
	Guard    string `json:"guard"`
	Run      string `json:"run"`
	Election string `json:"election"`
	Watch    string `json:"watch"`
	Member   string `json:"member"`
	Request  int64  `json:"request"`

	Endpoints       []string          `json:"endpoints"`
	Namespace       string            `json:"namespace"`
	ConnectTimeout  *millis           `json:"connect_timeout_ms"`
	CallTimeout     *millis           `json:"call_timeout_ms"`
	CACert          string            `json:"ca_cert"`
	ClientCert      string            `json:"client_cert"`
	ClientKey       string            `json:"client_key"`
	TLSServerName   string            `json:"tls_server_name"`
	TokenFile       string            `json:"token_file"`
	TTL             *millis           `json:"ttl_ms"`
	DisconnectGrace *millis           `json:"disconnect_grace_ms"`
	Owner           string            `json:"owner"`
	Metadata        map[string]string `json:"metadata"`
	SessionID       string            `json:"session_id"`
	StallAfter      *millis           `json:"stall_after_ms"`

	Name     string   `json:"name"`
	Names    []string `json:"names"`
	Wait     *millis  `json:"wait_ms"`
	Mode     string   `json:"mode"`
	Permits  uint32   `json:"permits"`
	Limit    uint32   `json:"limit"`
	Priority int32    `json:"priority"`
	MinHold  *millis  `json:"min_hold_ms"`

	State string `json:"state"`

	Prefixes      []string `json:"prefixes"`
	Groups        []string `json:"groups"`
	AfterRevision uint64   `json:"after_revision"`

	Group            string   `json:"group"`
	Leads            *bool    `json:"leads"`
	Assignment       *string  `json:"assignment"`
	Current          *bool    `json:"current"`
	MemberCount      *int     `json:"member_count"`
	Assignments      []string `json:"assignments"`
	Config           *string  `json:"config"`
	ExpectedRevision *uint64  `json:"expected_revision"`

	Token    token    `json:"token"`
	Operator string   `json:"operator"`
	Note     string   `json:"note"`
	To       string   `json:"to"`
	Drain    *millis  `json:"drain_ms"`
	Preempt  *preempt `json:"preempt"`

	Endpoint string `json:"endpoint"`
	Turns    int    `json:"turns"`
	Count    int    `json:"count"`
}

type preempt struct {
	Settling *millis `json:"settling_ms"`
	Drain    *millis `json:"drain_ms"`
}

func (r *request) sessionOptions() tenure.SessionOptions {
	return tenure.SessionOptions{
		TTL: r.TTL.duration(), DisconnectGrace: r.DisconnectGrace.duration(), Owner: r.Owner, ID: r.SessionID,
	}
}

func (r *request) lockOptions() *tenure.LockOptions {
	return &tenure.LockOptions{
		Session: r.sessionOptions(), Shared: r.Mode == "shared", Permits: r.Permits, Limit: r.Limit, Priority: r.Priority,
		Metadata: r.Metadata, MinHold: r.MinHold.duration(), StallAfter: r.StallAfter.duration(),
	}
}

// Objects of one kind, by name.
type registry[T any] struct {
	kind string
	mu   sync.Mutex
	of   map[string]T
}

func (r *registry[T]) put(name string, thing T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]T{}
	}
	r.of[name] = thing
}

func (r *registry[T]) get(name string) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	thing, some := r.of[name]
	if !some {
		return thing, mistake(fmt.Sprintf("there is no %s %q", r.kind, name))
	}
	return thing, nil
}
