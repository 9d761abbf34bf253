package loadgen

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

func TestServersThatCannotShareALoadAreRefusedInOneLine(t *testing.T) {
	const first, second = "--url=http://127.0.0.1:1", "--url=http://127.0.0.1:2"
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--url: http://localhost:1 is given twice", []string{"run", first, second, "--url=http://localhost:1"}},
		{"--url: http://127.0.0.1:1 is given twice", []string{"run", first, second, "--url=http://127.0.0.1:1/v1"}},
		{`--url: URL "127.0.0.1:2" does not begin with http://`, []string{"run", first, "--url=127.0.0.1:2"}},
		{"--scenario eviction_replay: it is for one server, and --url names 2", []string{"run", first, second, "--scenario=eviction_replay"}},
		{"--scenario reuse_verify: it is for one server, and --url names 2", []string{"run", first, second, "--scenario=reuse_verify"}},
		{"--scenario arena: it is for one server, and --url names 2", []string{"run", first, second, "--scenario=arena"}},
		{"--expect: it is for one server, and --url names 3", []string{"run", first, second, "--url=http://127.0.0.1:3", "--expect=kv=off"}},
		{"--engine-log: it is for one server, and --url names 2", []string{"run", first, second, "--engine-log=server.log"}},
		{"--container: it is for one server, and --url names 2", []string{"run", first, second, "--container=engine"}},
		{"--world: it is for one server, and --url names 2", []string{"run", first, second, "--rank=0", "--world=2", "--start-at=" + time.Now().Add(time.Hour).Format(time.RFC3339)}},
		{"concurrency 1: --container: it is for one server, and --url names 2", []string{"sweep", first, second, "--over=concurrency=1,2", "--container=engine"}},
		{"flag 'url' cannot be repeated", []string{"check", first, second}},
		{"flag 'url' cannot be repeated", []string{"arena", first, second}},
	} {
		code, _, stderr := invokeVerb(t, c.args...)
		if code != exitUsage || !strings.HasPrefix(stderr, "uma-load: "+c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", c.args, code, stderr)
		}
	}
}

func TestARunOnOneServerDoesNotNameIt(t *testing.T) {
	folder, stdout, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=4", "--warmup=0", "--output-tokens=4")
	for file, member := range map[string]string{rundir.RequestsFile: `"server":`, rundir.ManifestFile: `"replicas"`, rundir.SummaryFile: `"servers"`} {
		if strings.Contains(text(t, filepath.Join(folder, file)), member) {
			t.Errorf("%s has %s", file, member)
		}
	}
	if strings.Contains(stdout, "by server") {
		t.Errorf("printed %s", stdout)
	}
}

func TestEveryPointOfASweepGoesToAllServers(t *testing.T) {
	urls := []string{engine(t, time.Millisecond), engine(t, time.Millisecond)}
	dir, _, _ := sweptWhole(t, "--url", urls[0], "--url", urls[1], "--over=concurrency=1,2", "--requests=4", "--warmup=0", "--pause=0s")
	for _, run := range []string{"s1-01-concurrency-1", "s1-02-concurrency-2"} {
		if m := manifestOf(t, dir.Path(run)); !slices.Equal(m.ServerURLs(), urls) || m.Flags["url"] != "["+urls[0]+"] ["+urls[1]+"]" {
			t.Errorf("%s: %v, flag %s", run, m.ServerURLs(), m.Flags["url"])
		}
	}
}

func TestAPlanOfACampaignListsServers(t *testing.T) {
	o := orderOf(t, planned(t, `scenarios: [{name: s, run: {requests: 7}}]
flags: {url: ["http://127.0.0.1:1", "http://127.0.0.1:2"]}
`))
	line, err := orderLine(o)
	if err != nil {
		t.Fatal(err)
	}
	if s := line.settings; s.Target.URL != "http://127.0.0.1:1" || !slices.Equal(s.Replicas, []string{"http://127.0.0.1:2"}) {
		t.Errorf("%q and %q", s.Target.URL, s.Replicas)
	}
	given := newCommandLine(&bytes.Buffer{})
	if got := argumentsOf(given.run, orderFlags(o, given.run)); !slices.Contains(got, "--url=http://127.0.0.1:1") || !slices.Contains(got, "--url=http://127.0.0.1:2") {
		t.Errorf("%q", got)
	}
}

// TestARunOfACampaignGoesToAllServers, whose pages it reads under names of their own.
func TestARunOfACampaignGoesToAllServers(t *testing.T) {
	t.Parallel()
	dir, urls := t.TempDir(), []string{engine(t, time.Millisecond), engine(t, time.Millisecond)}
	path := filepath.Join(dir, "plan.yaml")
	overwrite(t, path, fmt.Sprintf(`schema: umascope.plan/1
name: both
models: [{name: m}]
arms: [{name: one}]
scenarios: [{name: s, run: {requests: 6, warmup: 2, output-tokens: 4}}]
flags: {url: [%q, %q], engine: vllm, validity: [client_lag=off, client_stall=off, stream_buffered=off]}
iterations: 1
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
`, urls[0], urls[1]))
	code, stdout, stderr := invokeVerb(t, "campaign", "run", path, "--out", dir, "--web.listen-address=127.0.0.1:0")
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	facts, err := campaign.ReadFacts(filepath.Join(dir, "both"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := summary.Open(filepath.Join(dir, "both", facts.Slots[0].Runs[0]))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(run.Manifest.ServerURLs(), urls) || len(run.Summary.Servers) != 2 || run.Summary.Servers[1].Requests[openai.StatusOK] != 3 {
		t.Errorf("%v: %+v", run.Manifest.ServerURLs(), run.Summary.Servers)
	}
	log, err := run.Telemetry()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server", "server_2"} {
		if page := log.Source(name); page == nil || len(page.Samples) == 0 {
			t.Errorf("no samples of the page %s", name)
		}
	}
}

// TestTheLoadOfTheReadmeGoesToBothServers types the command of the page, and holds the table that the page shows to the
// one that is printed.
func TestTheLoadOfTheReadmeGoesToBothServers(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(text(t, "README.md"), "## Several servers\n")
	_, section, typed := strings.Cut(section, "uma-load run ")
	command, section, ends := strings.Cut(section, "\n")
	_, section, shown := strings.Cut(section, "```text\n")
	if !found || !typed || !ends || !shown {
		t.Fatal("the page has no command, or no table")
	}
	urls := strings.NewReplacer("http://spark-1:8000", engine(t, time.Millisecond), "http://spark-2:8000", engine(t, 2*time.Millisecond))
	_, stdout, stderr := completed(t, append(strings.Fields(urls.Replace(command)), "--output-tokens=8")...)
	var printed [][]string
	for line := range strings.Lines(stdout[strings.Index(stdout, "by server"):]) {
		if printed = append(printed, strings.Fields(line)); len(printed) == 3 {
			break
		}
	}
	for i, line := range strings.Split(section, "\n")[:3] {
		row := strings.Fields(urls.Replace(line))
		if len(row) != len(printed[i]) || i == 0 && !slices.Equal(row, printed[i]) || i > 0 && !slices.Equal(row[:3], printed[i][:3]) {
			t.Errorf("the page shows %q, printed is %q: %s", row, printed[i], stderr)
		}
	}
}
