package workload

import (
	"bytes"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// given returns the settings of flags, of which --endpoint is the target's.
func given(t *testing.T, args ...string) (*Settings, error) {
	t.Helper()
	s, endpoint := &Settings{}, openai.Chat
	app := kingpin.New("test", "").Terminate(func(int) { t.Error("ended") })
	terminal.Flag(app, "endpoint", "", string(openai.Chat), &endpoint, terminal.OneOf(openai.Chat, openai.Completions))
	Flags(app, s)
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	return s, s.Resolve(endpoint)
}

func TestDefaultsOfALoadAreThoseOfTheContract(t *testing.T) {
	s, err := given(t)
	if err != nil {
		t.Fatal(err)
	}
	limit := traffic.Limit{Requests: 64}
	phases := s.phases(nil)
	if len(phases) != 2 || phases[0].Limit.Requests != 8 || phases[1].Limit != limit || phases[1].Process.Arrival != traffic.Closed {
		t.Errorf("phases %+v", phases)
	}
	if s.Concurrency != 1 || s.Seed != 1337 || s.Temperature != 0 || s.TopP != 1 {
		t.Errorf("settings %+v", s)
	}
	if s.outputTokens != (traffic.Lengths{Min: 256, Max: 256}) || !slices.Equal(lengthsOf(s), []traffic.Lengths{{Min: 512, Max: 2048}}) {
		t.Errorf("lengths %+v", s)
	}
}

func TestDurationAloneReplacesTheDefaultNumberOfRequests(t *testing.T) {
	s, err := given(t, "--duration=90s")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.phases(nil)[1].Limit; got != (traffic.Limit{Duration: 90 * time.Second}) {
		t.Errorf("limit %+v", got)
	}
}

func TestWarmupIsRequestsOrATimeOrNothing(t *testing.T) {
	for text, want := range map[string]traffic.Limit{"3": {Requests: 3}, "20s": {Duration: 20 * time.Second}} {
		s, err := given(t, "--warmup", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.phases(nil)[0]; got.Name != rundir.PhaseWarmup || got.Limit != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if s, err := given(t, "--warmup=0"); err != nil || len(s.phases(nil)) != 1 {
		t.Errorf("phases %v, %v", s, err)
	}
}

func TestAnOpenLoopHasNoCapUnlessOneIsGiven(t *testing.T) {
	s, err := given(t, "--arrival=poisson", "--rate=2.5")
	if err != nil || s.Concurrency != 0 {
		t.Errorf("concurrency %d, %v", s.Concurrency, err)
	}
	if s, err = given(t, "--arrival=constant", "--rate=2.5", "--concurrency=9"); err != nil || s.Concurrency != 9 {
		t.Errorf("concurrency %d, %v", s.Concurrency, err)
	}
}

// FuzzParseWarmup: a number of requests or a time, never less than nothing.
func FuzzParseWarmup(f *testing.F) {
	for _, seed := range []string{"8", "0", "20s", "-1", "1h30m", "x", "1e3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limit, err := parseWarmup(text)
		if err == nil && (limit.Requests < 0 || limit.Duration < 0 || limit.Requests > 0 && limit.Duration > 0) {
			t.Errorf("%q became %+v", text, limit)
		}
	})
}

func FuzzSizesAreKeysAndValues(f *testing.F) {
	for _, seed := range []string{"a.requests=24", "every=30s", "=", "a=", "a.b", "a==b", "a b=1", "\x00=1", "n=3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		given, err := parseSize(text)
		if err != nil {
			return
		}
		if given.key+"="+given.value != text || !terminal.PlainName(given.key) {
			t.Errorf("%q is read as %+v", text, given)
		}
		n := 0
		s := Settings{Scenario: Scenario{Name: "x"}, sizes: []size{given}}
		if err := s.applySizes([]knob{knobOf("n", &n, terminal.Between(1, 9))}); err == nil && (given.key != "n" || n < 1 || n > 9) {
			t.Errorf("%+v sets %d", given, n)
		}
	})
}

// lockedBuffer is a writer that one goroutine fills while another reads.
type lockedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
