package publish

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// knownNames are names after a manifest with a host, a user and a drive.
func knownNames() *names {
	n := newNames(Labels())
	n.know(kindHost, secretHost)
	n.know(kindUser, secretUser)
	n.know(kindSerial, secretSerial)
	for _, ordinary := range []string{"root", "ab", "host"} {
		n.know(kindHost, ordinary)
	}
	return n
}

func TestTextsLoseNamesAndKeepTheRest(t *testing.T) {
	n := knownNames()
	for _, step := range []struct{ in, want string }{
		{"", ""},
		{"1,024 requests in 12:30:45, p99 of 1.25 s", "1,024 requests in 12:30:45, p99 of 1.25 s"},
		{"driver 580.95.05, 0000:0f:00.0, CUDA 13.0", "driver 580.95.05, 0000:0f:00.0, CUDA 13.0"},
		{"Qwen/Qwen2.5-72B-Instruct-AWQ at 3 tokens/s", "Qwen/Qwen2.5-72B-Instruct-AWQ at 3 tokens/s"},
		{"ATHENA-7F and athena-7f athena-7f, not athena-7fx", "host-1 and host-1 host-1, not athena-7fx"},
		{"the host of root is ab", "the host of root is ab"},
		{"127.0.0.1:8000/metrics of /dev/nvme0n1", "127.0.0.1:8000/metrics of /dev/nvme0n1"},
		{"http://athena-7f:8000/v1?key=1", "value-1"},
		{"http://athena-7f:8000/v1?key=1", "value-1"},
		{"10.1.2.3 is away", "value-2"},
		{"fe80::1%eth0", "value-3"},
		{"enx00e04c680001 sent", "value-4"},
		{"enp1s0f0np0 did not, nor enxyz", "enp1s0f0np0 did not, nor enxyz"},
		{"open /home/mweber/a: permission denied", "value-5"},
		{"S/N: ABC12345", "value-6"},
		{"serial execution of kernels", "serial execution of kernels"},
		{"max_tokens: 5", "max_tokens: 5"},
		{"password: x", "value-7"},
		{"host-1 again", "host-1 again"},
		{"a\x1b[31m", "value-8"},
	} {
		if got := n.word(kindValue, step.in); got != step.want {
			t.Errorf("%q became %q and not %q", step.in, got, step.want)
		}
	}
}

func TestAddressesAndImagesLoseTheirHosts(t *testing.T) {
	n := knownNames()
	for _, step := range []struct{ tag, in, want string }{
		{"url", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"}, {"url", "http://[::1]:8000", "http://[::1]:8000"}, {"url", "http://athena-7f:8000/v1?key=1", "http://host-1:8000"},
		{"url", "https://u:p@api.example/v1", "https://host-2"}, {"url", "[2001:db8::77]:80/metrics", "host-3:80/metrics"}, {"url", "/run/engine.sock", "path-1"}, {"url", "athena-7f:x/", "host-4"},
		{"image", "vllm/vllm-openai:v1", "vllm/vllm-openai:v1"}, {"image", "registry.lab.example:5000/team/vllm:1", "host-5:5000/team/vllm:1"},
		{"image", "ghcr.io/a/b@sha256:" + strings.Repeat("ab", 32), "host-6/a/b@sha256:" + strings.Repeat("ab", 32)}, {"image", "sha256:" + strings.Repeat("ab", 32), "sha256:" + strings.Repeat("ab", 32)},
		{"version", "10.13.3.9", "10.13.3.9"}, {"version", "v0.11.1+g1234567", "v0.11.1+g1234567"}, {"sum", "none at all", "none at all"},
		{"key", `vllm:x_total{engine="0",source="10.0.0.1:80/metrics",new="athena"}`, `vllm:x_total{engine="0",source="host-7:80/metrics",new="value-1"}`}, {"key", `a{b="c" http://x}`, "value-3"},
	} {
		if got := n.text(step.tag, "", step.in); got != step.want {
			t.Errorf("%s %q became %q and not %q", step.tag, step.in, got, step.want)
		}
	}
}

func TestFlagsAndLabelsShowFiguresAndWhatIsCompared(t *testing.T) {
	n := newNames(append(Labels(), "quant"))
	n.know(kindHost, secretHost)
	for _, step := range []struct{ tag, name, value, want string }{
		{"flags", "rate", "12.5", "12.5"}, {"flags", "duration", "1m30s", "1m30s"}, {"flags", "ignore-eos", "true", "true"}, {"flags", "arrival", "poisson", "poisson"},
		{"flags", "ca-file", "/a", "value-1"}, {"flags", "trace", "/b", "value-2"}, {"flags", "ca-file", "/a", "value-1"}, {"flags", "header", "X:y", "value-3"},
		{"flags", "url", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"}, {"flags", "url", "http://athena-7f:1/v1", "value-4"}, {"flags", "never-heard-of", "x", "value-5"}, {"flags", "stop", "", ""},
		{"flags", "prompts", "corpus", "corpus"}, {"flags", "prompts", "clients/acme.jsonl", "value-6"},
		{"labels", "arm", "on-athena-7f", "on-host-1"}, {"labels", "quant", "fp8", "fp8"}, {"labels", "owner", "eva", "value-7"}, {"labels", "round", "3", "3"}, {"labels", "host", "zeus", "host-2"},
		{"series", "gpu", "0", "0"}, {"series", "serial", "X1", "serial-1"}, {"series", "container", "engine", "container-1"}, {"series", "unknown", "x y", "value-8"}, {"series", "source", "zeus:80/metrics", "host-2:80/metrics"},
	} {
		if got := n.text(step.tag, step.name, step.value); got != step.want {
			t.Errorf("%s %s %s became %q and not %q", step.tag, step.name, step.value, got, step.want)
		}
	}
}

func TestNamesOfRunsStayApart(t *testing.T) {
	n := newNames(nil)
	a, b := n.run("one run"), n.run("one-run")
	if a == b || n.run("one run") != a || plainName("..//") == "" || strings.ContainsAny(plainName("../x y"), "/ ") {
		t.Errorf("%q, %q", a, b)
	}
}

func TestALineThatIsTornIsLeftOut(t *testing.T) {
	var out bytes.Buffer
	err := lines[openai.Record](newNames(nil))(strings.NewReader("{\"status\":\"ok\",\"error\":\"x\"}\n{\"status\""), &out)
	if err != nil || strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), `"x"`) {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := lines[openai.Record](newNames(nil))(strings.NewReader("{}\nnonsense\n"), &out); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}

// TestEveryTextHasAKnownTag: a tag with a typing error would replace its text by a kind of its own. A new text gets a tag,
// or is added to those that never go in.
func TestEveryTextHasAKnownTag(t *testing.T) {
	never := []string{
		"rundir.Refusal.Says", "rundir.PrefixCacheReset.Says", "rundir.Border.Text", "rundir.Collected.Output", "rundir.TimeZone.Name", "openai.Record.Error", "openai.Record.ServerRequestID",
	}
	known := []string{
		"", "-", "word", "text", "model", "name", "sum", "version", "letters", "url", "image", "run", "source", "labels", "flags", "series",
		string(kindHost), string(kindPath), string(kindUUID), string(kindBoot), string(kindContainer), string(kindCgroup), string(kindConversation), string(kindValue),
	}
	seen, tags := map[reflect.Type]bool{}, 0
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(of.Elem())
		case reflect.Struct:
			for i := 0; i < of.NumField() && !seen[of]; i++ {
				field := of.Field(i)
				if !field.IsExported() && !field.Anonymous || field.Tag.Get("json") == "-" {
					continue // no file has it
				}
				name, tag, text := of.String()+"."+field.Name, field.Tag.Get(tag), field.Type
				for text.Kind() == reflect.Slice || text.Kind() == reflect.Map || text.Kind() == reflect.Pointer {
					text = text.Elem()
				}
				if isText := text.Kind() == reflect.String; !slices.Contains(known, tag) || isText && (tag == "") != slices.Contains(never, name) {
					t.Errorf("%s: tag %q", name, tag)
				}
				if tag != "" {
					tags++
				}
				defer walk(field.Type)
			}
			seen[of] = true
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[rundir.Manifest](), reflect.TypeFor[summary.Summary](), reflect.TypeFor[rundir.Phases](), reflect.TypeFor[rundir.ScheduleLine](),
		reflect.TypeFor[openai.Record](), reflect.TypeFor[telemetry.Header](), reflect.TypeFor[telemetry.Line](),
	} {
		walk(of)
	}
	if tags < 150 {
		t.Errorf("%d tags", tags)
	}
}

func TestEveryLabelOfTheVocabularyIsJudged(t *testing.T) {
	// These describe what was measured; a new label is added here, or is given a kind.
	shown := []metric.Label{
		metric.LabelArch, metric.LabelArchitecture, metric.LabelArm, metric.LabelBaseline, metric.LabelCPU, metric.LabelCUDAVersion,
		metric.LabelCall, metric.LabelCandidate, metric.LabelChip, metric.LabelCollector, metric.LabelComm, metric.LabelComparison,
		metric.LabelComputeInst, metric.LabelController, metric.LabelDevice, metric.LabelDirection, metric.LabelDriver, metric.LabelEnd, metric.LabelEngine,
		metric.LabelEvent, metric.LabelEvidence, metric.LabelFirmware, metric.LabelFormat, metric.LabelFrom, metric.LabelGDSVersion, metric.LabelGPU, metric.LabelGPUInst,
		metric.LabelGoVersion, metric.LabelInterface, metric.LabelJob, metric.LabelKernel, metric.LabelKind, metric.LabelLE, metric.LabelLevel,
		metric.LabelLimit, metric.LabelLine, metric.LabelLink, metric.LabelMetric, metric.LabelMinBlock, metric.LabelMode, metric.LabelModel,
		metric.LabelName, metric.LabelNeeds, metric.LabelOp, metric.LabelPCIBusID, metric.LabelPID, metric.LabelPhase, metric.LabelPort, metric.LabelPosition,
		metric.LabelProduct, metric.LabelProfile, metric.LabelReason, metric.LabelResource, metric.LabelResult, metric.LabelRevision, metric.LabelRun,
		metric.LabelRuntime, metric.LabelScenario, metric.LabelSensor, metric.LabelSetting, metric.LabelState, metric.LabelStatus, metric.LabelTier,
		metric.LabelTo, metric.LabelTrip, metric.LabelType, metric.LabelVBIOS, metric.LabelVendor, metric.LabelVerdict, metric.LabelVersion,
		metric.LabelXID, metric.LabelZone, metric.LabelModelName, metric.LabelFinishedReason, metric.LabelAlertName, metric.LabelAlertState,
		metric.LabelSeverity, metric.LabelCode, metric.LabelComparedBy, metric.LabelGrade, metric.LabelItem, metric.LabelMoment, metric.LabelOrder, metric.LabelSignal,
	}
	for name := range vocabulary() {
		_, named := kindOfLabel()[metric.Label(name)]
		if name != "__name__" && named == slices.Contains(shown, metric.Label(name)) {
			t.Errorf("%s: judged neither or both ways", name)
		}
	}
}

// FuzzWord: no text has a known name left, what is left is not changed again, and it is text.
func FuzzWord(f *testing.F) {
	for _, seed := range append(slices.Clone(phrases), everyName, "athena-7fathena-7f-", "athena-7f athena-7f athena-7f", "a@b.c", "::1", "/home/", "token=", strings.Repeat("a:", 50), "mweber@athena-7f:~$ \x1b[31m") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := knownNames()
		once := n.word(kindValue, text)
		if utf8.ValidString(text) && !utf8.ValidString(once) {
			t.Errorf("%q became %q", text, once)
		}
		if again := n.word(kindValue, once); again != once {
			t.Errorf("%q becomes %q", once, again)
		}
		if n.found.MatchString(once) {
			t.Errorf("%q has a known name", once)
		}
	})
}

// FuzzManifest: what is left of any manifest is JSON, has no known name, and is the same for the same names.
func FuzzManifest(f *testing.F) {
	f.Add(`{"schema":"umascope.manifest/1","run":"athena-7f","labels":{"host":"athena-7f"},"server":null,"machines":[{"host":{"serial":"S6XYNX0T123456"}}]}`)
	f.Add(`{"run":"athena 7f"}`)
	f.Add(`{"container":{"host_config":{"Binds":["/home/mweber:/x",{"a":1e400}]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var out, again bytes.Buffer
		n := knownNames()
		if err := object[rundir.Manifest](n)(strings.NewReader(text), &out); err != nil {
			return
		}
		if !json.Valid(out.Bytes()) || n.found.MatchString(out.String()) {
			t.Fatalf("%s", out.String())
		}
		if err := object[rundir.Manifest](knownNames())(strings.NewReader(text), &again); err != nil || again.String() != out.String() {
			t.Errorf("%v: once %s, again %s", err, out.String(), again.String())
		}
	})
}
