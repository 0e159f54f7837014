package tenure

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/tenure-lock/tenure/clients/go/internal/link"
)

// The ports of URLs that tell none, by their schemes, of which these are all.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

func endpointsOf(urls []string) ([]link.Endpoint, error) {
	var endpoints []link.Endpoint
	for _, text := range urls {
		endpoint, problem := endpointOf(strings.TrimSpace(text))
		if problem != "" {
			return nil, &InvalidError{Field: "endpoints", Problem: fmt.Sprintf("%q %s", text, problem)}
		}
		endpoints = append(endpoints, endpoint)
	}
	return endpoints, nil
}

func endpointOf(text string) (endpoint link.Endpoint, problem string) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return endpoint, "is no URL: " + err.Error()
	}
	port, isKnown := defaultPorts[parsed.Scheme]
	if !isKnown || parsed.Hostname() == "" || strings.ContainsAny(parsed.Host, " ,") {
		return endpoint, "is not http://HOST:PORT or https://HOST:PORT"
	}
	if parsed.Port() != "" {
		port = parsed.Port()
	}
	return link.Endpoint{Address: net.JoinHostPort(parsed.Hostname(), port), IsTLS: parsed.Scheme == "https"}, ""
}
