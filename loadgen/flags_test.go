package loadgen

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/server"
)

// parsed returns the settings of a command line after run --url.
func parsed(t *testing.T, args ...string) (*settings, error) {
	t.Helper()
	line := newCommandLine(&bytes.Buffer{})
	if _, _, err := line.parse(append([]string{"run", "--url", "http://127.0.0.1:8000/v1/"}, args...)); err != nil {
		return nil, err
	}
	return line.settings, line.settings.resolve("spark1")
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	s, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	if s.Target.URL != "http://127.0.0.1:8000" || s.Target.Endpoint != "chat" || s.Target.Engine != server.EngineAuto || s.Target.ReadyConsecutive != 2 {
		t.Errorf("target %+v", s.Target)
	}
	if s.Concurrency != 1 || s.Grace != 30*time.Second || s.Seed != 1337 || s.Temperature != 0 || s.TopP != 1 {
		t.Errorf("settings %+v", s)
	}
	if s.RequestTimeout != 600*time.Second || s.FirstTokenTimeout != s.RequestTimeout || s.ChunkTimeout != 120*time.Second {
		t.Errorf("timeouts %s, %s, %s", s.RequestTimeout, s.FirstTokenTimeout, s.ChunkTimeout)
	}
	if s.label("arm") != "default" || s.label("host") != "spark1" || s.Out != "runs" || s.web.HostPort != DefaultAddress || s.web.Explicit {
		t.Errorf("settings %+v", s)
	}
}

// TestTheAddressOfLiveMetricsCanStandInTheEnvironment: it is a default there, which gives way to the next free port
// and to the flag.
func TestTheAddressOfLiveMetricsCanStandInTheEnvironment(t *testing.T) {
	t.Setenv(AddressVariable, "127.0.0.1:7777")
	s, err := parsed(t)
	if err != nil || s.web.HostPort != "127.0.0.1:7777" || s.web.Explicit {
		t.Errorf("address %+v, %v", s.web, err)
	}
	s, err = parsed(t, "--web.listen-address", "127.0.0.1:7778")
	if err != nil || s.web.HostPort != "127.0.0.1:7778" || !s.web.Explicit {
		t.Errorf("address %+v, %v", s.web, err)
	}
	t.Setenv(AddressVariable, "nowhere")
	if _, err := parsed(t); err == nil || !strings.Contains(err.Error(), "--web.listen-address") {
		t.Errorf("a bad address in the environment is taken: %v", err)
	}
}

func TestLabelsThatEveryRunHasCanBeGiven(t *testing.T) {
	s, err := parsed(t, "--label", "arm=native", "--label", "host=spark2", "--label", "kv=off")
	if err != nil || s.label("arm") != "native" || s.label("host") != "spark2" || s.Labels["kv"] != "off" {
		t.Errorf("labels %v, %v", s.labels, err)
	}
}

// Whoever sends load to machines elsewhere is not what is measured, and need not say so.
func TestTheMeasuredHostIsTheFirstThatTelemetryNames(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  []string
	}{
		{nil, []string{"spark1"}},
		{[]string{"--telemetry=spark2=http://10.0.0.2:10420", "--telemetry=spark3=http://10.0.0.3:10420"}, []string{"spark2", "spark3"}},
		{[]string{"--telemetry=spark2=http://10.0.0.2:10420", "--telemetry=spark1=http://10.0.0.1:10420"}, []string{"spark1", "spark2"}},
		{[]string{"--telemetry=here=http://127.0.0.1:10420", "--telemetry=spark2=http://10.0.0.2:10420"}, []string{"spark1", "here", "spark2"}},
		{[]string{"--telemetry=here=http://[::1]:10420"}, []string{"spark1", "here"}},
		{[]string{"--telemetry=here=http://localhost:10420"}, []string{"spark1", "here"}},
		{[]string{"--label=host=spark3", "--telemetry=spark2=http://10.0.0.2:10420", "--telemetry=spark3=http://10.0.0.3:10420"}, []string{"spark3", "spark2"}},
	} {
		s, err := parsed(t, c.flags...)
		if err != nil || !slices.Equal(s.Hosts(), c.want) {
			t.Errorf("%v: %v, want %v (%v)", c.flags, s.Hosts(), c.want, err)
		}
	}
}

func TestBadFlagsAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		flag string
		args []string
	}{
		{"--rate", []string{"--arrival=poisson", "--rate", "-1"}},
		{"--rate", []string{"--arrival=poisson", "--rate=0"}},
		{"--rate", []string{"--arrival=poisson", "--rate=NaN"}},
		{"--rate", []string{"--arrival=poisson", "--rate=1e9"}},
		{"--rate", []string{"--arrival=poisson"}},
		{"--rate", []string{"--rate=5"}},
		{"--concurrency", []string{"--concurrency=0"}},
		{"--concurrency", []string{"--concurrency=-2"}},
		{"--concurrency", []string{"--concurrency=1.5"}},
		{"--requests", []string{"--requests=0"}},
		{"--requests", []string{"--requests=99999999999"}},
		{"--duration", []string{"--duration=0s"}},
		{"--duration", []string{"--duration=60"}},
		{"--grace", []string{"--grace=-1s"}},
		{"--ramp", []string{"--ramp=-1s"}},
		{"--ramp", []string{"--arrival=poisson", "--rate=1", "--ramp=5s"}},
		{"--ramp", []string{"--stages=30s:4", "--ramp=5s"}},
		{"--warmup", []string{"--warmup=-1"}},
		{"--warmup", []string{"--warmup=some"}},
		{"--arrival", []string{"--arrival=sine"}},
		{"--rate", []string{"--arrival=gamma"}},
		{"--burstiness", []string{"--arrival=gamma", "--rate=1", "--burstiness=0"}},
		{"--burstiness", []string{"--arrival=poisson", "--rate=1", "--burstiness=2"}},
		{"--stages", []string{"--arrival=poisson", "--stages=30s"}},
		{"--stages", []string{"--stages=30s:1.5"}},
		{"--stages", []string{"--stages=30s:99999"}},
		{"--rate", []string{"--arrival=poisson", "--rate=1", "--stages=30s:10"}},
		{"--duration", []string{"--duration=1m", "--stages=30s:10"}},
		{"--concurrency", []string{"--concurrency=2", "--stages=30s:10"}},
		{"--trace", []string{"--arrival=trace"}},
		{"--trace", []string{"--trace=x.jsonl"}},
		{"--trace", []string{"--arrival=trace", "--trace=/nonexistent/x.jsonl"}},
		{"--trace-unit", []string{"--arrival=trace", "--trace=workload/testdata/trace.jsonl"}},
		{"--trace-unit", []string{"--arrival=trace", "--trace=workload/testdata/trace.jsonl", "--trace-unit=h"}},
		{"--trace-unit", []string{"--trace-unit=ms"}},
		{"--trace-block-tokens", []string{"--arrival=trace", "--trace=workload/testdata/trace.jsonl", "--trace-unit=ms"}},
		{"--trace-block-tokens", []string{"--arrival=trace", "--trace=workload/testdata/trace.jsonl", "--trace-unit=ms", "--trace-block-tokens=4096"}},
		{"--trace-block-tokens", []string{"--trace-block-tokens=16"}},
		{"--prompts", []string{"--arrival=trace", "--trace=x", "--prompts=long"}},
		{"--output-tokens", []string{"--arrival=trace", "--trace=x", "--output-tokens=256"}},
		{"--template", []string{"--template=llama3"}},
		{"--prompt-ids", []string{"--prompt-ids"}},
		{"--prompt-ids", []string{"--prompt-ids", "--endpoint=completions", "--template=llama3"}},
		{"--prompt-ids", []string{"--prompt-ids", "--endpoint=completions", "--prompts=flags_test.go"}},
		{"--prompt-ids", []string{"--prompt-ids", "--endpoint=completions", "--scenario=multi_turn"}},
		{"--template", []string{"--template=/nonexistent", "--endpoint=completions"}},
		{"--template", []string{"--scenario=multi_turn", "--endpoint=completions"}},
		{"--max-input-tokens", []string{"--max-input-tokens=0"}},
		{"--token-margin", []string{"--token-margin=-1"}},
		{"--shared-prefix-tokens", []string{"--shared-prefix-tokens=2000000"}},
		{"--concurrency", []string{"--scenario=multi_turn", "--concurrency=2"}},
		{"--active-conversations", []string{"--scenario=multi_turn", "--clients=4", "--active-conversations=3"}},
		{"--max-turns", []string{"--scenario=multi_turn", "--max-turns=0"}},
		{"--sampling", []string{"--scenario=multi_turn", "--sampling=best"}},
		{"--sampling", []string{"--sampling=round_robin"}},
		{"--stages", []string{"--scenario=multi_turn", "--stages=30s:4"}},
		{"--prompts", []string{"--prompts=huge"}}, // neither a set nor a file
		{"--input-tokens", []string{"--input-tokens=9:1"}},
		{"--input-tokens", []string{"--input-tokens=5", "--prompts=mixed"}},
		{"--output-tokens", []string{"--output-tokens=0"}},
		{"--output-tokens", []string{"--output-tokens=10,2"}},
		{"--endpoint", []string{"--endpoint=embeddings"}},
		{"--engine", []string{"--engine=llama"}},
		{"--temperature", []string{"--temperature=-1"}},
		{"--top-p", []string{"--top-p=2"}},
		{"--top-p", []string{"--top-p=0"}}, // no engine takes it
		{"--extra-body", []string{"--extra-body=[1]"}},
		{"--extra-body", []string{"--extra-body=null"}},
		{"--extra-body", []string{`--extra-body={"n":2}`}}, // several answers in one stream
		{"--header", []string{"--header=novalue"}},
		{"--header", []string{"--header=bad name:x"}},
		{"--label", []string{"--label=Arm=x"}},
		{"--label", []string{"--label=arm="}},
		{"--label", []string{"--label=arm=a", "--label=arm=b"}},
		{"--telemetry", []string{"--telemetry=http://127.0.0.1:1"}},
		{"--telemetry", []string{"--telemetry=a=http://u:p@127.0.0.1:1"}},
		{"--telemetry", []string{"--telemetry=a=http://127.0.0.1:1", "--telemetry=a=http://127.0.0.1:2"}},
		{"--telemetry-interval", []string{"--telemetry-interval=1ms"}},
		{"--slo", []string{"--slo=speed=1s"}},
		{"--slo", []string{"--slo=e2e=9s,ttft=1s", "--no-stream"}},
		{"--run-id", []string{"--run-id=../x"}},
		{"--run-id", []string{"--run-id=.hidden"}},
		{"--web.listen-address", []string{"--web.listen-address=nowhere"}},
		{"--log.level", []string{"--log.level=loud"}},
		{"--seed", []string{"--seed=-1"}},
		{"--scenario", []string{"--scenario=none"}},
		{"--clients", []string{"--clients=4"}}, // of another scenario
	} {
		_, err := parsed(t, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.flag) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v; want one line that names %s", c.args, err, c.flag)
		}
	}
}

func TestTheServersAddressTakesNoSecrets(t *testing.T) {
	for _, url := range []string{"http://user:hunter2@127.0.0.1", "ftp://127.0.0.1", "127.0.0.1:8000", "http://", "http://127.0.0.1/?key=hunter2"} {
		_, _, err := newCommandLine(&bytes.Buffer{}).parse([]string{"run", "--url", url})
		if err == nil || !strings.Contains(err.Error(), "--url") || strings.Contains(err.Error(), "user:hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestManifestsShowFlagsWithoutSecrets(t *testing.T) {
	line := newCommandLine(&bytes.Buffer{})
	args := []string{"run", "--url=http://127.0.0.1:1", "--header=X-Key: abc", "--header=Y:z", "--stop=a", "--stop=b", "--telemetry=spark1=http://127.0.0.1:1/metrics?token=abc"}
	if _, _, err := line.parse(args); err != nil {
		t.Fatal(err)
	}
	values := line.flagValues(line.run)
	for name, want := range map[string]string{
		"header": "[X-Key:<redacted>] [Y:<redacted>]", "stop": "[a] [b]", "telemetry": "spark1=http://127.0.0.1:1/metrics", "seed": "1337", "ignore-eos": "false",
	} {
		if values[name] != want {
			t.Errorf("%s is %q, want %q", name, values[name], want)
		}
	}
}

func FuzzJoinNegative(f *testing.F) {
	f.Add("--rate", "-1")
	f.Add("run", "-1")
	f.Add("--a=b", "-x")
	f.Fuzz(func(t *testing.T, first, second string) {
		got := joinNegative([]string{first, second})
		switch {
		case len(got) == 2 && got[0] == first && got[1] == second:
		case len(got) == 1 && got[0] == first+"="+second && strings.HasPrefix(first, "--"):
		default:
			t.Errorf("%q %q became %q", first, second, got)
		}
	})
}

func FuzzFlagValues(f *testing.F) {
	for _, seed := range []string{"1", "-1", "60s", "a=b", "a:b", `{"a":1}`, "ttft=1s", "1:2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range map[string]func(string) error{
			"label": func(s string) error {
				l, err := parseLabel(s)
				if err == nil && (!labelName(l.name) || l.value == "") {
					t.Errorf("%q became %+v", s, l)
				}
				return err
			},
		} {
			if err := parse(text); err != nil && err.Error() == "" {
				t.Errorf("%s: an error without a word", name)
			}
		}
	})
}
