package exporter

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

// ownHost is a machine that was booted at second 1,000 with an exporter, two uma-load and an engine.
func ownHost(t *testing.T) collector.Host {
	t.Helper()
	text := func(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
	files := fstest.MapFS{
		"meminfo": text("MemTotal: 1048576 kB\nMemFree: 524288 kB\n"), "stat": text("btime 1000\n"),
	}
	process := func(pid int, comm string, userTicks, startTicks int) {
		files[fmt.Sprintf("%d/stat", pid)] = text(fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 18 0 %d 0 0 0", pid, comm, userTicks, startTicks) + strings.Repeat(" 0", 30) + "\n")
		files[fmt.Sprintf("%d/status", pid)] = text("Name:\t" + comm + "\nRssAnon:\t2048 kB\nRssFile:\t1024 kB\nRssShmem:\t0 kB\n")
	}
	process(30, "uma-load", 500, 0)
	process(20, "uma-load", 100, 90_000)
	process(10, "uma-exporter", 500, 0)
	process(40, "VLLM::EngineCor", 900, 0)
	host := integratedHost(t, "x")
	host.Proc = onDisk(t, files)
	return host
}

func TestExplainNamesWhatUmascopeItselfTakes(t *testing.T) {
	own := ownProcesses(ownHost(t).Proc, time.Unix(2000, 0))
	var out bytes.Buffer
	printOwn(&out, own)
	if want := `
umascope itself
        MiB   % of a core       pid  program
        3.0          0.50        10  uma-exporter
        3.0          1.00        20  uma-load
        3.0          0.50        30  uma-load
`; out.String() != want {
		t.Errorf("got %s\nwant %s", out.String(), want)
	}
	wantIn(t, explained(t, ownHost(t)), "\numascope itself\n", "        3.0       unknown        10  uma-exporter\n") // a simulated machine has no clock
}

func TestWithoutProcessesOfItsOwnExplainHasNoSuchTable(t *testing.T) {
	if got := explained(t, integratedHost(t, "x")); strings.Contains(got, "umascope itself") {
		t.Error(got)
	}
}

// TestTheCommandThatExplainsIsNotListed holds that a process that ends with the answer is not in it.
func TestTheCommandThatExplainsIsNotListed(t *testing.T) {
	x := explanation{Own: ownProcesses(ownHost(t).Proc, time.Unix(2000, 0))}
	if x.leaveOut("10"); len(x.Own) != 2 || x.Own[0].Program != "uma-load" {
		t.Errorf("%+v", x.Own)
	}
}
