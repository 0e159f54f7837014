package link

import (
	"net"
	"net/netip"
)

// Endpoint is where a server is.
type Endpoint struct {
	// Address is HOST:PORT.
	Address string
	// IsTLS tells whether it speaks TLS.
	IsTLS bool
}

// The URL.
func (e Endpoint) String() string {
	if e.IsTLS {
		return "https://" + e.Address
	}
	return "http://" + e.Address
}

// Whether what goes there stays on this machine.
func (e Endpoint) isThisMachine() bool {
	host, _, _ := net.SplitHostPort(e.Address)
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
