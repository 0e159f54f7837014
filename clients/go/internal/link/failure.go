package link

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

// Failure is what a call has failed with: an *engine.Refusal or an *engine.Unavailable.
func Failure(err error) error {
	answer := status.Convert(err)
	for _, detail := range answer.Details() {
		// That a deadline passed is no refusal, also where it is the server that says so.
		if answer.Code() == codes.DeadlineExceeded {
			break
		}
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Domain == "tenure" {
			return &engine.Refusal{Reason: info.Reason, Message: answer.Message(), Metadata: info.Metadata}
		}
	}
	switch answer.Code() {
	// A broken transport surfaces as unavailable or unknown, a call that was broken off as cancelled.
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown:
		return &engine.Unavailable{Problem: answer.Message()}
	default:
		return &engine.Refusal{Reason: answer.Code().String(), Message: answer.Message()}
	}
}
