package demo

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// freeAddress is an address below the ports that the kernel hands out by itself: one of those may be another's a
// moment later.
func unusedAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := "127.0.0.1:" + strconv.Itoa(10000+rand.IntN(20000))
		if listener, err := net.Listen("tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestBadInputOfASimulationIsOneLineAndExit2(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for names, more := range map[string][]string{
		"--exporter.listen-address " + taken.Addr().String(): {"--exporter.listen-address", taken.Addr().String()},
		"--load.listen-address " + taken.Addr().String():     {"--load.listen-address", taken.Addr().String()},
		"--engine.listen-address " + taken.Addr().String():   {"--engine.listen-address", taken.Addr().String()},
		"--kvbm.listen-address " + taken.Addr().String():     {"--kvbm.listen-address", taken.Addr().String()},
		"--kvbm.listen-address nowhere":                      {"--kvbm.listen-address", "nowhere"},
		"--runs " + file:                                     {"--runs", file},
		"--runs /proc/runs":                                  {"--runs", "/proc/runs"}, // where nobody may make a folder
		"--keep 3":                                           {"--keep", "3"},
		"--every":                                            {"--every", "0s"},
		"--host":                                             {"--host", "two words"},
		"--frobnicate":                                       {"--frobnicate"},
		"stray":                                              {"stray"},
	} {
		args := []string{"simulate"}
		for _, usual := range [][]string{
			{"--runs", t.TempDir()}, {"--exporter.listen-address", "127.0.0.1:0"}, {"--load.listen-address", "127.0.0.1:0"},
			{"--engine.listen-address", "127.0.0.1:0"}, {"--kvbm.listen-address", "127.0.0.1:0"},
		} {
			if usual[0] != more[0] { // a flag is given once
				args = append(args, usual...)
			}
		}
		var stdout, stderr bytes.Buffer
		code := program(&stdout, &stderr).Run(t.Context(), append(args, more...))
		if message := stderr.String(); code != exitInput || strings.Count(message, "\n") != 1 || !strings.HasPrefix(message, "uma-demo: ") || !strings.Contains(message, names) {
			t.Errorf("%v: exit %d, stderr %q", more, code, message)
		}
	}
}

func TestHealthcheckNamesAPageThatDoesNotAnswer(t *testing.T) {
	for url, want := range map[string]int{"nonsense": exitInput, "ftp://a/b": exitInput, "http://" + unusedAddress(t) + "/": exitFailed} {
		var stderr bytes.Buffer
		code := program(io.Discard, &stderr).Run(t.Context(), []string{"healthcheck", "--url", url})
		if code != want || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit %d, %q", url, code, stderr.String())
		}
	}
}
