//go:build proof

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// saying is what a program has said so far, read while it goes on.
type saying struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *saying) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *saying) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestADemoThatIsServedStaysOpenUntilItIsEnded reads the pages of uma-view, and what its Prometheus answers of the
// machines, of finished runs and of their comparisons.
func TestADemoThatIsServedStaysOpenUntilItIsEnded(t *testing.T) {
	p := program(t, "--quick", "--serve", "--web.listen-address", "127.0.0.1:0")
	output := &saying{}
	p.Stdout = output
	p.begin(t)
	var address string
	for deadline := time.Now().Add(4 * time.Minute); address == ""; time.Sleep(50 * time.Millisecond) {
		if found := regexp.MustCompile(`(?m)^open +(http://\S+/) until Ctrl-C$`).FindStringSubmatch(output.String()); found != nil {
			address = found[1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not say that it is open: %s%s", output, p.stderr.String())
		}
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}, Timeout: time.Minute}
	get := func(path string) string {
		t.Helper()
		response, err := client.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("/%s: %s, %v: %.200s", path, response.Status, err, page)
		}
		return string(page)
	}
	for path, want := range map[string]string{
		"":            "SIMULATED",
		"runs":        "native",
		"alerts":      "GPUHot",
		"dashboards/": "Unified memory",
	} {
		if page := get(path); !strings.Contains(page, want) {
			t.Errorf("/%s does not say %s", path, want)
		}
	}
	for query, atLeast := range map[string]int{
		`uma_exporter_mode{mode="simulated"}==1`:      5,
		`count%20by(host)(uma_run_info)`:              3,
		`ALERTS{alertname="Watchdog"}`:                1,
		`count%20by(comparison)(uma_comparison_info)`: 3,
	} {
		var answer struct {
			Data struct{ Result []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(get("api/v1/query?query="+query)), &answer); err != nil || len(answer.Data.Result) < atLeast {
			t.Errorf("%s: %d series, want at least %d, %v", query, len(answer.Data.Result), atLeast, err)
		}
	}
	foreign, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "attacker.example"
	response, err := client.Do(foreign)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a name that is not of the loopback: %s", response.Status)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code, took := p.ends(t); code != 0 && !strings.Contains(p.stderr.String(), "not all could be made") {
		t.Errorf("after %v: exit code %d: %s", took, code, p.stderr.String())
	}
	p.expectNothingLeft(t, 0)
	if _, err := client.Get(address); err == nil {
		t.Errorf("%s still answers", address)
	}
}
