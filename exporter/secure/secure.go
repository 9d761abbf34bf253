// Package secure makes the files to serve a page with TLS and a password, and to read it: one folder, the same on every
// machine that it names.
package secure

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// The files of a folder. The files for serving refer to the others by names without a folder, so that the folder can be
// moved.
const (
	CertificateFile = "certificate.pem"
	KeyFile         = "key.pem"
	PasswordFile    = "password"
	// ServeFile is for --web.config.file of the program that serves a page.
	ServeFile = "web.yml"
	// ReadFile is for --http.config.file of the program that reads it; Prometheus takes the same keys in a scrape job.
	ReadFile = "client.yml"
)

// User is the name of the user who may read.
const User = "umascope"

const (
	validity      = 2 * 365 * 24 * time.Hour
	passwordBytes = 24
	serialBits    = 128
)

// ErrThere reports that the folder exists already: its password is in use somewhere.
var ErrThere = errors.New("exists already; remove it first to make new ones")

// ErrName reports that a text is neither the name of a machine nor an address.
var ErrName = errors.New("neither the name of a machine nor an address")

// hostName is the name of a machine: labels of letters, digits, - and _ with dots between.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*$`)

// Folder makes the folder. The names and addresses are those that readers will use; this machine's own loopback is
// always included, for health checks.
func Folder(path string, names []string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certificate, err := certify(key, names, now)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	secret := make([]byte, passwordBytes)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	password := base64.RawURLEncoding.EncodeToString(secret)
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	if err != nil {
		return err
	}
	return write(path, map[string]string{
		CertificateFile: block("CERTIFICATE", certificate),
		KeyFile:         block("PRIVATE KEY", private),
		PasswordFile:    password + "\n",
		ServeFile: "tls_server_config:\n  cert_file: " + CertificateFile + "\n  key_file: " + KeyFile + "\n  min_version: TLS13\n" +
			"basic_auth_users:\n  " + User + ": " + string(hash) + "\n",
		ReadFile: "basic_auth:\n  username: " + User + "\n  password_file: " + PasswordFile + "\n" +
			"tls_config:\n  ca_file: " + CertificateFile + "\n",
	})
}

// certify signs a certificate with its own key: a client that has the file trusts only this certificate.
func certify(key *ecdsa.PrivateKey, names []string, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "umascope"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity), // clocks of machines differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, name := range names {
		switch address := net.ParseIP(name); {
		case address != nil:
			template.IPAddresses = append(template.IPAddresses, address)
		case hostName.MatchString(name):
			template.DNSNames = append(template.DNSNames, strings.ToLower(name))
		default:
			return nil, fmt.Errorf("%q: %w", name, ErrName)
		}
	}
	return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
}

func block(kind string, bytes []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}

// write makes the folder in one step: it gets its name when all its files are in it, readable for its owner only.
func write(path string, files map[string]string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return ErrThere
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(filepath.Clean(path)), ".secure-*") // mode 0700
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(partial)
		}
	}()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(partial, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.Rename(partial, path)
}
