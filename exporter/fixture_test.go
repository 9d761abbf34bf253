package exporter

import (
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readText returns the text of a file.
func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// openRecorded opens a recorded or constructed host, until the test ends.
func openRecorded(t testing.TB, name string) collector.Host {
	t.Helper()
	host, err := openHost(name)
	must(t, err)
	t.Cleanup(host.Close)
	return host
}

// exporterOf returns the exporter of a host.
func exporterOf(t testing.TB, host collector.Host, settings Settings) *Exporter {
	t.Helper()
	e, err := New(host, settings)
	must(t, err)
	return e
}

// wantIn finds the texts that a page or an output lacks, wantNotIn those that it must not have.
func wantIn(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, one := range want {
		if !strings.Contains(text, one) {
			t.Errorf("%q is missing in\n%.4000s", one, text)
		}
	}
}

func wantNotIn(t *testing.T, text string, unwanted ...string) {
	t.Helper()
	for _, one := range unwanted {
		if strings.Contains(text, one) {
			t.Errorf("%q is in\n%.4000s", one, text)
		}
	}
}
