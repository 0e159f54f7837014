package engine

import (
	"github.com/tenure-lock/tenure/clients/go/internal/clock"
	"github.com/tenure-lock/tenure/clients/go/tenurev1"
)

// Received takes in what was received on the stream.
func (e *Engine) Received(response *tenurev1.StreamResponse, now clock.Moment) {
	for _, answer := range response.Answers {
		if e.stream == nil {
			return
		}
		e.stream.heard = now
		if answer.Id == 0 {
			e.noticed(answer, now)
			continue
		}
		// An answer to something that was cancelled is not looked for any more.
		about, known := e.stream.sent[answer.Id]
		if !known {
			continue
		}
		if !about.goesOn {
			delete(e.stream.sent, answer.Id)
		}
		about.answer(answer, about.at, now)
	}
}

// The server said something that does not fit.
func (e *Engine) misfit(answer *tenurev1.Answer) {
	e.log.Error("the server gave an answer that does not fit the question", "answer", answer)
	e.judge(Broken)
}

func (e *Engine) noticed(notice *tenurev1.Answer, now clock.Moment) {
	switch kind := notice.Kind.(type) {
	case *tenurev1.Answer_SessionEnded:
		e.sessionEnded(kind.SessionEnded.SessionId, ended(EndReason(kind.SessionEnded.Reason)), now)
	case *tenurev1.Answer_HoldEnded:
		e.holdEnded(kind.HoldEnded, now)
	case *tenurev1.Answer_TransferRequested:
		e.transferRequested(kind.TransferRequested, now)
	case *tenurev1.Answer_SessionMoved:
		e.log.Info("the session was moved, and is attached again", "session", kind.SessionMoved.SessionId)
		e.moved(kind.SessionMoved.SessionId, now)
	case *tenurev1.Answer_GoingAway:
		e.log.Info("the server is going away")
		e.judge(Leave)
	default:
		e.log.Debug("a notice that this version does not know", "notice", notice)
	}
}
