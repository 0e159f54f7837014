package link

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-lock/tenure/clients/go/internal/engine"
)

// Security is how connections are secured, and how this client proves who it is. What is empty is not set. Files are read for
// each connection, so that they may be replaced.
type Security struct {
	// CACert is who signs the servers' certificates. Not set: those whom the system trusts.
	CACert string
	// ClientCert and ClientKey are this client's certificate and its private key.
	ClientCert, ClientKey string
	// TLSServerName is what the servers' certificates must name. Not set: the endpoint's host.
	TLSServerName string
	// Credentials say who this is.
	Credentials
}

// Check tells what cannot be used, as far as that is known before there is a connection.
func (s Security) Check(endpoints []Endpoint) error {
	switch {
	case s.ClientCert != "" && s.ClientKey == "":
		return &engine.Invalid{Field: "client_cert", Problem: "it is set, but client_key is not"}
	case s.ClientKey != "" && s.ClientCert == "":
		return &engine.Invalid{Field: "client_key", Problem: "it is set, but client_cert is not"}
	}
	if err := s.checkTLS(endpoints); err != nil {
		return err
	}
	return s.Credentials.check(endpoints)
}

func (s Security) checkTLS(endpoints []Endpoint) error {
	if !slices.ContainsFunc(endpoints, func(endpoint Endpoint) bool { return endpoint.IsTLS }) {
		for _, option := range []struct{ field, file string }{
			{"ca_cert", s.CACert}, {"client_cert", s.ClientCert}, {"client_key", s.ClientKey},
		} {
			if option.file != "" {
				return &engine.Invalid{Field: option.field, Problem: "it is set, but no endpoint is https://"}
			}
		}
		return nil
	}
	_, err := s.tls()
	return err
}

// How to connect there.
func (s Security) dialOptions(endpoint Endpoint) ([]grpc.DialOption, error) {
	transport := insecure.NewCredentials()
	if endpoint.IsTLS {
		config, err := s.tls()
		if err != nil {
			return nil, err
		}
		transport = explained{credentials.NewTLS(config)}
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if s.isSet() {
		options = append(options, grpc.WithPerRPCCredentials(s.Credentials))
	}
	return options, nil
}

func (s Security) tls() (*tls.Config, error) {
	config := &tls.Config{ServerName: s.TLSServerName}
	if s.CACert != "" {
		pem, err := read("ca_cert", s.CACert)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &engine.Invalid{Field: "ca_cert", Problem: s.CACert + ": there is no certificate in it"}
		}
	}
	if s.ClientCert != "" {
		certificate, err := s.certificate()
		if err != nil {
			return nil, err
		}
		// Shown also to a server that asks for those of other authorities: it says what is wrong with it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	}
	return config, nil
}

func (s Security) certificate() (tls.Certificate, error) {
	cert, err := read("client_cert", s.ClientCert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := read("client_key", s.ClientKey)
	if err != nil {
		return tls.Certificate{}, err
	}
	certificate, err := tls.X509KeyPair(cert, key)
	if err != nil {
		problem := fmt.Sprintf("%s, with client_key %s: %v", s.ClientCert, s.ClientKey, err)
		return tls.Certificate{}, &engine.Invalid{Field: "client_cert", Problem: problem}
	}
	return certificate, nil
}

func read(field, file string) ([]byte, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return nil, &engine.Invalid{Field: field, Problem: err.Error()}
	}
	return bytes, nil
}
