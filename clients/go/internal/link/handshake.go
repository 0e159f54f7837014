package link

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// How long it may take to read what came before the end.
const lastWords = 100 * time.Millisecond

// TLS by which a client learns why its certificate is refused. A server looks at that only when the client has finished its part of
// the handshake and sends already; then it hangs up, and the sending fails before the reason is read.
type explained struct {
	credentials.TransportCredentials
}

func (e explained) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := e.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	return explainedConn{conn}, info, nil
}

func (e explained) Clone() credentials.TransportCredentials {
	return explained{e.TransportCredentials.Clone()}
}

type explainedConn struct{ net.Conn }

func (c explainedConn) Write(bytes []byte) (int, error) {
	count, err := c.Conn.Write(bytes)
	if err != nil {
		_ = c.SetReadDeadline(time.Now().Add(lastWords))
		_, ending := c.Read(make([]byte, 1))
		var alert *net.OpError
		if errors.As(ending, &alert) && alert.Op == "remote error" {
			err = ending
		}
	}
	return count, err
}
