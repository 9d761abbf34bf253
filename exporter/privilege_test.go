package exporter

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
)

// withheld is a need that is not met, on a recorded host that meets it otherwise.
type withheld struct {
	host  string
	apply func(*testing.T, *collector.Host)
	// gone are beginnings of series that are absent then: each must be on the whole page.
	gone []string
	// moved are beginnings of series that change or appear; nothing else does.
	moved []string
}

// withheldNeeds has every need of every collector, or a reason why it cannot be withheld here.
func withheldNeeds() (byName map[string]withheld, elsewhere map[string]string) {
	return map[string]withheld{
			"ptrace": {
				host:  "h200-load",
				apply: func(t *testing.T, h *collector.Host) { withholdGuarded(t, h.Proc) },
				gone:  []string{"uma_process_io_bytes_total{"},
			},
			"host_pid_namespace": {
				host:  "h200-load",
				apply: func(t *testing.T, h *collector.Host) { relink(t, h.Proc, "self/ns/pid", "pid:[4026532900]") },
				gone:  []string{"uma_cgroup_gpu_memory_bytes{"},
				moved: []string{"uma_gpu_process_list_trusted{"},
			},
			"host_cgroup_namespace": {
				host: "h200-load",
				apply: func(t *testing.T, h *collector.Host) {
					ownCgroupNamespace(t, h.Proc)
					put(t, h.Sys, "module/nvidia/version", nil) // which recordings of the H200 do not have
				},
				gone:  []string{"uma_cgroup_gpu_memory_bytes{"},
				moved: []string{"uma_process_", "uma_gpu_process_memory_bytes{"}, // their label cgroup
			},
			"host_cgroups": {
				host:  "h200-load",
				apply: func(t *testing.T, h *collector.Host) { h.Cgroup = onDisk(t, nil) },
				gone:  []string{"uma_cgroup_memory_current_bytes{", `uma_memory_ledger_bytes{line="managed"}`},
				moved: []string{`uma_memory_ledger_bytes{line="unattributed"}`, `uma_memory_ledger_line_known{line="managed"}`},
			},
			"host_network": {
				host:  "h200-load",
				apply: func(t *testing.T, h *collector.Host) { remove(t, h.Sys, "class/net") },
				gone:  []string{"uma_network_receive_bytes_total{"},
			},
		}, map[string]string{
			"mig_monitor": "the driver refuses, not the kernel: the tests of package nvml have a driver that does",
		}
}

// guarded is what the kernel shows of a process only to those who may trace it (man 2 ptrace,
// PTRACE_MODE_READ).
var guarded = regexp.MustCompile(`^[0-9]+/(io|environ|maps|smaps|smaps_rollup|auxv|stack|exe|cwd|root|fd|fdinfo|map_files)$`)

// withholdGuarded makes a procfs that of a reader without capabilities.
func withholdGuarded(t *testing.T, proc hostfs.Dir) {
	t.Helper()
	put(t, proc, "1/io", nil) // of root, by which a reader finds out
	put(t, proc, "2/io", nil)
	names, err := fs.Glob(os.DirFS(proc.Path), "*/*")
	must(t, err)
	for _, name := range names {
		if info, err := proc.Lstat(name); guarded.MatchString(name) && err == nil && info.Mode()&fs.ModeSymlink == 0 {
			must(t, os.Chmod(filepath.Join(proc.Path, name), 0))
		}
	}
	// The temporary folder can be removed again.
	t.Cleanup(func() {
		for _, name := range names {
			_ = os.Chmod(filepath.Join(proc.Path, name), 0o700)
		}
	})
}

// ownCgroupNamespace makes a procfs that of a container with a cgroup namespace of its own: the paths of other processes
// are relative to its own cgroup.
func ownCgroupNamespace(t *testing.T, proc hostfs.Dir) {
	t.Helper()
	outside := regexp.MustCompile(`(?m)^0::/`)
	relink(t, proc, "self/ns/cgroup", "cgroup:[4026532901]")
	editAll(t, proc, func(name string, content []byte) []byte {
		if strings.HasSuffix(name, "/cgroup") {
			return outside.ReplaceAll(content, []byte("0::/../../"))
		}
		return content
	})
}

// TestUnmetNeedTakesItsSeriesAwayAndNothingElse also holds that a value that cannot be read is absent,
// not 0: all that is left on the page is what was on it before.
func TestUnmetNeedTakesItsSeriesAwayAndNothingElse(t *testing.T) {
	if !withoutCapabilities(t) {
		return
	}
	byName, elsewhere := withheldNeeds()
	for _, spec := range collector.All() {
		for _, need := range spec.Needs {
			if _, excused := elsewhere[need.Name]; excused || need.Met == nil {
				continue // without Met only a refused call reports it, which no recording has
			}
			test, known := byName[need.Name]
			if !known {
				t.Errorf("need %s of collector %s is never withheld", need.Name, spec.Name)
				continue
			}
			t.Run(spec.Name+" "+need.Name, func(t *testing.T) { checkWithheld(t, spec.Name, need, test) })
		}
	}
}

func checkWithheld(t *testing.T, name string, need collector.Need, test withheld) {
	whole := flatPage(t, openWithheld(t, test.host, func(*testing.T, *collector.Host) {}))
	e := openWithheld(t, test.host, test.apply)
	without := flatPage(t, e)
	privilege := fmt.Sprintf(`uma_collector_privilege{collector=%q,needs=%q,}`, name, need.Name)
	if whole[privilege] != 1 {
		t.Errorf("host %s does not meet the need", test.host)
	}
	if value, there := without[privilege]; !there || value != 0 {
		t.Errorf("%s is %v (there: %v)", privilege, value, there)
	}
	hasPrefix := func(series string, beginnings []string) bool {
		return slices.ContainsFunc(beginnings, func(begin string) bool { return strings.HasPrefix(series, strings.TrimSuffix(begin, "}")) })
	}
	for _, gone := range test.gone {
		if !anySeries(whole, gone) || anySeries(without, gone) {
			t.Errorf("%s: on the whole page %v, without the need %v", gone, anySeries(whole, gone), anySeries(without, gone))
		}
	}
	for series, value := range without {
		before, there := whole[series]
		if (!there || before != value) && !hasPrefix(series, test.moved) && !strings.HasPrefix(series, "uma_collector_") {
			t.Errorf("%s is %v, with the need %v (there: %v)", series, value, before, there)
		}
	}
	checkDoctor(t, e, name, need)
}

func anySeries(page map[string]float64, begin string) bool {
	for series := range page {
		if strings.HasPrefix(series, strings.TrimSuffix(begin, "}")) {
			return true
		}
	}
	return false
}

// checkDoctor looks for the need below its collector, unless that is absent and has no use for it.
func checkDoctor(t *testing.T, e *Exporter, name string, need collector.Need) {
	t.Helper()
	var out bytes.Buffer
	must(t, e.Doctor(t.Context(), &out))
	_, after, found := strings.Cut(out.String(), "\n"+name+" ")
	section, _, _ := strings.Cut(after, "\n\n")
	lacks := fmt.Sprintf("lacks  %s\n         costs  %s\n         fix    %s\n", need.Name, need.Cost, need.Fix)
	absent := strings.HasPrefix(strings.TrimSpace(section), string(collector.Absent))
	if !found || !absent && !strings.Contains(section+"\n", lacks) {
		t.Errorf("doctor does not say what is lacking:\n%s", section)
	}
}

func openWithheld(t *testing.T, name string, apply func(*testing.T, *collector.Host)) *Exporter {
	t.Helper()
	host := openRecorded(t, name)
	host.Loopback = http.NewFileTransport(http.Dir(t.TempDir())) // a machine on which engines are looked for
	apply(t, &host)
	e := exporterOf(t, host, Settings{Options: hostOptions(name), HideOwnMetrics: true})
	return e
}

func flatPage(t *testing.T, e *Exporter) map[string]float64 {
	t.Helper()
	scrape, err := e.runner.Scrape(t.Context())
	must(t, err)
	flat := map[string]float64{}
	for family, series := range pageSeries(t, scrape) {
		for labels, value := range series {
			flat[family+"{"+labels+"}"] = value
		}
	}
	return flat
}

// TestPrivilegesTableIsThatOfTheCollectors keeps the document from drifting; -update writes it.
func TestPrivilegesTableIsThatOfTheCollectors(t *testing.T) {
	var text strings.Builder
	text.WriteString(privilegesIntroduction)
	text.WriteString("| collector | needs | without it | what gives it |\n| --- | --- | --- | --- |\n")
	cell := strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ")
	for _, spec := range collector.All() {
		for _, need := range spec.Needs {
			fmt.Fprintf(&text, "| %s | `%s` | %s | %s |\n", spec.Name, need.Name, cell.Replace(need.Cost), cell.Replace(need.Fix))
		}
	}
	compareGolden(t, filepath.Join(".", "PRIVILEGES.md"), []byte(text.String()))
}

const privilegesIntroduction = `# What the exporter may look at, and what it costs if it may not

The exporter runs as any user. What it may not read is absent from the page, never 0. The exporter shows it in three places: the series
` + "`uma_collector_privilege{collector,needs}`" + ` (1 or 0), one line of its log when that changes, and ` + "`uma-exporter doctor`" + `,
which also prints how to fix it.

Three ways to start it are tested, each with what it then shows:

| started as | user | capabilities | ` + "`ptrace`" + ` |
| --- | --- | --- | --- |
| native service ([unit](../compose/native/uma-exporter.service)) | its own user, ` + "`NoNewPrivileges=yes`" + ` | ambient ` + "`CAP_SYS_PTRACE CAP_DAC_READ_SEARCH`" + ` | yes |
| privileged container ([compose](../compose/privileged.yaml)) | root without the other capabilities, ` + "`no-new-privileges`" + `, host's /proc and /sys mounted, its PID and cgroup namespaces | ` + "`SYS_PTRACE`, `DAC_READ_SEARCH`" + ` | yes |
| unprivileged container ([compose](../compose/compose.yaml), the default), or a shell as it is | any, such as 65534 | none | no |

Capabilities of the file (` + "`setcap`" + `) are void under no-new-privileges, which systemd and container runtimes set for it; ambient ones
are not. CAP_SYS_PTRACE alone does not open ` + "`/proc/<pid>/io`" + ` of other users: its mode asks for CAP_DAC_READ_SEARCH too.

In a terminal ` + "`sudo $(command -v uma-exporter)`" + ` has all of the table. Your own user with the two capabilities alone:
` + "`sudo setpriv --reuid=$(id -u) --regid=$(id -g) --init-groups --inh-caps=+sys_ptrace,+dac_read_search --ambient-caps=+sys_ptrace,+dac_read_search $(command -v uma-exporter)`" + `.

The [flight recorder](README.md#the-last-minute-of-a-machine) needs a folder that it may write, and no capability. Without ` + "`kernel_log`" + ` it infers a kill for lack of memory from counters: *likely* where a line of the kernel makes it *proven*.

Written by ` + "`go test ./exporter -run Privileges -update`" + ` from the collectors themselves.

`
