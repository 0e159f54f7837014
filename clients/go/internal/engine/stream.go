package engine

import (
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// What an answer will be about: takes it in. A command that goes on is answered many times.
type sent struct {
	at     clock.Moment
	goesOn bool
	answer func(answer *tenurev1.Answer, sent, now clock.Moment)
}

// One stream: what is said on it, and what the answers will be about.
type stream struct {
	lastCommand uint64
	sent        map[uint64]sent
	outgoing    []*tenurev1.Command
	// When something was heard last.
	heard clock.Moment
}

// Whose commands are numbered from there on.
func streamAfter(lastCommand uint64, now clock.Moment) *stream {
	return &stream{lastCommand: lastCommand, sent: map[uint64]sent{}, heard: now}
}

func (s *stream) send(command *tenurev1.Command, what sent) uint64 {
	s.lastCommand++
	command.Id = s.lastCommand
	s.sent[command.Id] = what
	// Renewals do not wait behind other commands.
	if _, renewal := command.Kind.(*tenurev1.Command_KeepAlive); renewal {
		s.outgoing = append([]*tenurev1.Command{command}, s.outgoing...)
	} else {
		s.outgoing = append(s.outgoing, command)
	}
	return command.Id
}

// Ends a command that goes on.
func (s *stream) cancel(id uint64) {
	s.lastCommand++
	kind := &tenurev1.Command_Cancel{Cancel: &tenurev1.CancelCommand{CommandId: id}}
	s.outgoing = append(s.outgoing, &tenurev1.Command{Id: s.lastCommand, Kind: kind})
}
