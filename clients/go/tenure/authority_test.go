package tenure_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A certificate authority for a test, and the folder of its files.
type authority struct {
	folder string
	// Its own certificate.
	ca          string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{folder: t.TempDir(), key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.ca = a.sign("ca.pem", a.certificate, a.key)
	return a
}

// The files of a certificate for these names, each of a host or a URI, and of its key. Existing files are replaced.
func (a *authority) certify(file string, names ...string) (cert, key string) {
	ofKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62))), Subject: pkix.Name{CommonName: file},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if strings.Contains(name, "://") {
			template.URIs = append(template.URIs, must(url.Parse(name)))
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key = a.write(file+".key", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(ofKey)))
	return a.sign(file+".crt", template, ofKey), key
}

func (a *authority) sign(file string, template *x509.Certificate, key *ecdsa.PrivateKey) string {
	signed := must(x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key))
	return a.write(file, "CERTIFICATE", signed)
}

func (a *authority) write(file, kind string, bytes []byte) string {
	path := filepath.Join(a.folder, file)
	must(0, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
	return path
}
