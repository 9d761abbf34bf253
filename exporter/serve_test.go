package exporter_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeFile writes a file into dir and returns its path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// certificate writes a certificate for 127.0.0.1 that signs itself, with its key.
func certificate(t *testing.T, dir string) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(text))
	return writeFile(t, dir, "cert.pem", text),
		writeFile(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))), pool
}

// aliceHash is the bcrypt hash of alice123.
const aliceHash = "$2y$12$1DpfPeqF9HzHJt.EWswy1exHluGfbhnn3yXhR7Xes6m3WJqFg0Wby"

// status asks with a password, "" for none.
func status(t *testing.T, client *http.Client, address, password string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	must(t, err)
	if password != "" {
		request.SetBasicAuth("alice", password)
	}
	response, err := client.Do(request)
	must(t, err)
	response.Body.Close()
	return response.StatusCode
}

func TestTLSAndPasswordsAreEnforcedOnEveryListener(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, pool := certificate(t, dir)
	config := writeFile(t, dir, "web.yml", fmt.Sprintf("tls_server_config: {cert_file: %s, key_file: %s}\nbasic_auth_users: {alice: %s}\n", certFile, keyFile, aliceHash))
	c := command(t, "--web.config.file="+config, "--web.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0")
	addresses := started(t, c, 2)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	for _, address := range addresses {
		https := strings.Replace(address, "http(s)", "https", 1)
		for password, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "alice123": http.StatusOK} {
			if got := status(t, client, https, password); got != want {
				t.Errorf("password %q: %d, want %d", password, got, want)
			}
		}
		if got := status(t, http.DefaultClient, strings.Replace(address, "http(s)", "http", 1), "alice123"); got != http.StatusBadRequest {
			t.Errorf("without TLS: %d", got)
		}
	}
	checkHealthOverTLS(t, dir, strings.TrimSuffix(strings.Replace(addresses[0], "http(s)", "https", 1), "/metrics")+"/-/healthy")
	if err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
		t.Error(err)
	}
}

// checkHealthOverTLS asks the health page as people would, and as they should not.
func checkHealthOverTLS(t *testing.T, dir, address string) {
	t.Helper()
	login := "basic_auth: {username: alice, password: alice123}\n"
	for _, test := range []struct {
		name, config, says string
		code               int
	}{
		{"all.yml", login + "tls_config: {ca_file: cert.pem}\n", "", 0},
		{"unchecked.yml", login + "tls_config: {insecure_skip_verify: true}\n", "", 0},
		{"wrong.yml", "basic_auth: {username: alice, password: wrong}\ntls_config: {ca_file: cert.pem}\n", "401", 1},
		{"stranger.yml", login, "certificate", 1},
		{"nocert.yml", login + "tls_config: {ca_file: nosuch.pem}\n", "nosuch.pem", 2},
		{"typo.yml", "basic_auht: {}\n", "basic_auht", 2},
	} {
		config := writeFile(t, dir, test.name, test.config)
		code, _, stderr := run(t, "healthcheck", "--url="+address, "--http.config.file="+config)
		if code != test.code || !strings.Contains(stderr, test.says) || code != 0 && strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, want %d; stderr %s", test.name, code, test.code, stderr)
		}
		if strings.Contains(stderr, "alice123") {
			t.Errorf("%s: the password is printed: %s", test.name, stderr)
		}
	}
	exporter := strings.TrimSuffix(address, "/-/healthy")
	if code, stdout, stderr := run(t, "explain", "--url="+exporter, "--http.config.file="+filepath.Join(dir, "all.yml")); code != 0 || !strings.Contains(stdout, "read by the running exporter: "+exporter+"/explain.json\n") {
		t.Errorf("explain: exit %d, %s%s", code, stdout, stderr)
	}
	for _, verb := range []string{"healthcheck", "explain"} {
		if code, _, stderr := run(t, verb, "--url="+address); code != 1 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s without credentials: exit %d: %s", verb, code, stderr)
		}
	}
}

func TestWebConfigurationThatCannotBeUsedIsExitTwo(t *testing.T) {
	dir := t.TempDir()
	certFile, _, _ := certificate(t, dir)
	for name, text := range map[string]string{
		"unknown key":        "tls_server_confg: {}\n",
		"key file missing":   fmt.Sprintf("tls_server_config: {cert_file: %s, key_file: nosuch.pem}\n", certFile),
		"certificate alone":  fmt.Sprintf("tls_server_config: {cert_file: %s}\n", certFile),
		"password not hash":  "basic_auth_users: {alice: alice123}\n",
		"header not allowed": "http_server_config: {headers: {X-Whatever: y}}\n",
		"not YAML":           "\x00",
	} {
		config := writeFile(t, dir, "web.yml", text)
		code, stdout, stderr := run(t, "--web.listen-address=127.0.0.1:0", "--web.config.file="+config)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "uma-exporter: --web.config.file "+config) {
			t.Errorf("%s: exit %d, stdout %q, stderr %s", name, code, stdout, stderr)
		}
	}
}

// started starts a server and returns its addresses.
func started(t *testing.T, c *exec.Cmd, listeners int) []string {
	t.Helper()
	stdout, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := bufio.NewReader(stdout)
	var addresses []string
	for range listeners {
		line, err := lines.ReadString('\n')
		must(t, err)
		address, found := strings.CutPrefix(strings.TrimSpace(line), "serving ")
		if !found {
			t.Fatalf("prints %q", line)
		}
		addresses = append(addresses, address)
	}
	go io.Copy(io.Discard, lines)
	return addresses
}

// TestSocketOfSystemdIsServed passes a socket as systemd does: as file descriptor 3, with the number of
// sockets and the process that they are for in the environment.
func TestSocketOfSystemdIsServed(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer socket.Close()
	file, err := socket.(*net.TCPListener).File()
	must(t, err)
	defer file.Close()
	path, err := buildCommand()
	must(t, err)
	// The shell becomes the exporter, so that the test has its process ID before.
	c := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, path, "--web.systemd-socket")
	c.Env = append(os.Environ(), "LISTEN_FDS=1")
	c.ExtraFiles = []*os.File{file}
	addresses := started(t, c, 1)
	if want := "http://" + socket.Addr().String() + "/metrics"; addresses[0] != want {
		t.Errorf("serves %s, want %s", addresses[0], want)
	}
	if got := status(t, http.DefaultClient, addresses[0], ""); got != http.StatusOK {
		t.Errorf("page: %d", got)
	}
	if err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
		t.Error(err)
	}
}

func TestSystemdSocketsThatWereNotPassedAreExitTwo(t *testing.T) {
	for name, environment := range map[string][]string{
		"none":              nil,
		"another process's": {"LISTEN_FDS=1", "LISTEN_PID=1"},
		"no number":         {"LISTEN_FDS=x", "LISTEN_PID=1"},
	} {
		c := command(t, "--web.systemd-socket")
		c.Env = append(os.Environ(), environment...)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "--web.systemd-socket") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
