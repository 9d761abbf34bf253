package publish

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// What must not be told. Names are found anywhere, what was said only where nothing may say it.
const (
	secretHost          = "athena-7f"
	secretDomain        = "athena-7f.lab.example"
	secretUser          = "mweber"
	secretSerial        = "S6XYNX0T123456"
	secretUUID          = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
	secretBoot          = "7d444840-9dc0-11d1-b245-5ffdce74fad2"
	secretIPv4          = "203.0.113.77"
	secretIPv6          = "2001:db8::77"
	secretMAC           = "aa:bb:cc:dd:ee:77"
	secretContainer     = "4f1c0d9e8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d"
	secretMail          = "weber@lab.example"
	secretBearer        = "kJh8sPq2LmNo"
	secretKey           = "sk-proj-AbCdEf0123456789"
	secretHook          = "T00HOOK/B00HOOK"
	secretPrompt        = "plum jam recipe"
	secretContainerName = "rack-engine-3"
)

func secrets() []string {
	return []string{
		secretHost, "athena", secretUser, "/home/" + secretUser, secretSerial, secretUUID, secretBoot, secretIPv4, secretIPv6, secretMAC,
		secretContainer, secretContainer[:12], secretMail, secretBearer, secretKey, secretHook, secretPrompt, secretContainerName,
	}
}

// phrases has each secret but what was said, in words.
var phrases = []string{
	"on " + secretDomain, "(ATHENA-7F)", "by " + secretUser, "in /home/" + secretUser + "/models", "drive " + secretSerial, "GPU-" + secretUUID,
	secretBoot, "http://" + secretUser + ":x@" + secretIPv4 + ":8000/v1?key=" + secretKey, "at " + secretIPv4, "[" + secretIPv6 + "]:80", secretMAC, secretContainer,
	secretContainer[:12], secretMail, "Authorization: Bearer " + secretBearer, secretKey, "https://hooks.example/services/" + secretHook, secretContainerName,
}

// everyName has all of them.
var everyName = strings.Join(phrases, " ")

// fill puts a text into every text of a value, and something into everything else.
func fill(v reflect.Value, text string) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)))
		return
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		raw, err := json.Marshal(map[string]any{text: []any{text, 7}})
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(json.RawMessage(raw)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, text)
		for _, key := range []string{"k", text} {
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(text))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(7)
	default:
		panic(fmt.Sprint("nothing to fill a ", v.Kind(), " with"))
	}
}

// planted is a run folder that has every secret in every file and every member.
func planted(t *testing.T, out, id, arm string, minute int) rundir.Folder {
	t.Helper()
	return plantedWith(t, out, id, arm, minute, everyName)
}

// plantedWith has a text of its own in every member.
func plantedWith(t *testing.T, out, id, arm string, minute int, text string) rundir.Folder {
	t.Helper()
	f, err := rundir.New(out, id)
	if err != nil {
		t.Fatal(err)
	}
	var m rundir.Manifest
	var s summary.Summary
	fill(reflect.ValueOf(&m).Elem(), text)
	fill(reflect.ValueOf(&s).Elem(), text)
	started := time.Date(2026, 11, 5, 12, minute, 0, 0, time.UTC)
	ended := started.Add(30 * time.Second)
	m.Schema, m.Run, m.StartedAt, m.EndedAt, m.State, m.Rank = rundir.ManifestSchema, id, started, &ended, rundir.StateComplete, nil
	labels := map[string]string{"arm": arm, "host": secretDomain, "owner": secretUser, "note": everyName, "api_key": secretKey, "model": "llama"}
	m.Labels, s.Labels = labels, labels
	m.Client.Hostname, m.Client.BootID, s.BootID = secretDomain, secretBoot, secretBoot
	m.Flags = map[string]string{
		"header": "X-Any:" + secretBearer, "notify-url": "https://hooks.example/services/" + secretHook, "url": "http://" + secretIPv4 + ":8000/v1?" + secretKey,
		"ca-file": "/home/" + secretUser + "/ca.pem", "capture": secretPrompt, "extra-body": secretPrompt, "stop": secretPrompt, "trace": secretPrompt, "requests": "64",
		"label": everyName, "out": "/home/" + secretUser, "run-id": id, "telemetry": everyName, "container": secretContainerName, "prompts": everyName, "a-new-flag": secretPrompt,
	}
	m.Workload.Sampling.Stop, m.Workload.Sampling.Extra, m.Workload.Sampling.Salt = []string{secretPrompt}, map[string]any{"guided": secretPrompt}, secretPrompt
	m.Workload.SHA256, s.WorkloadSHA256 = strings.Repeat("ab", 32), strings.Repeat("ab", 32)
	m.Machines[0].Drives = []map[string]string{{"serial": secretSerial, "model": "Samsung"}}
	m.Machines[0].Source = secretHost
	m.Container.ID, m.Container.Name = secretContainer, secretContainerName
	m.Command.Borders[0].Text, m.Server.Fields.Refused[0].Says, m.Campaign.Collected[0].Output = secretPrompt, secretPrompt, secretPrompt
	s.Schema, s.Run, s.Valid = summary.Schema, id, true
	s.Throughput.OutputTokensPerSecond = new(100 + float64(minute))
	for name, value := range map[string]any{rundir.ManifestFile: m, rundir.SummaryFile: s, rundir.PhasesFile: rundir.Phases{Schema: rundir.PhasesSchema, Phases: []rundir.Span{{Name: everyName}}}} {
		if err := f.WriteJSON(name, value); err != nil {
			t.Fatal(err)
		}
	}
	plantLines(t, f)
	return f
}

// plantLines writes the files that are no single JSON object.
func plantLines(t *testing.T, f rundir.Folder) {
	t.Helper()
	var r openai.Record
	var l rundir.ScheduleLine
	fill(reflect.ValueOf(&r).Elem(), everyName+" "+secretPrompt)
	fill(reflect.ValueOf(&l).Elem(), everyName+" "+secretPrompt)
	line := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	everything := everyName + " " + secretPrompt + "\n"
	for path, text := range map[string]string{
		rundir.RequestsFile: line(r) + line(r) + `{"torn":"` + secretHost, rundir.ScheduleFile: line(l),
		rundir.OutputsFile:       line(rundir.OutputLine{Run: "r", Output: everything}),
		rundir.ConversationsFile: everything, rundir.HTMLFile: everything, rundir.ReportFile: everything, "requests.csv": everything, "notes-of-" + secretUser: everything,
		rundir.LogsFolder + "/" + secretHost + ".log": everything, rundir.CapturesFolder + "/before-env.txt": everything,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path(path)), 0o755), os.WriteFile(f.Path(path), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{"host": secretHost, "uuid": "GPU-" + secretUUID, "container": secretContainerName, "container_id": secretContainer, "cgroup": "/user.slice/" + secretUser,
		"path": "/home/" + secretUser, "source": secretIPv4 + ":8000/metrics", "serial": secretSerial, "comm": secretUser, "unknown_to_all": secretPrompt, "image": "registry.lab.example:5000/team/vllm:1", "gpu": "0"}
	telemetry := line(map[string]any{"schema": "umascope.telemetry/1", "interval_ns": 1, "series_per_source": 300, "sources": []any{map[string]any{"name": secretHost, "url": "http://" + secretDomain + ":10420/metrics"}}}) +
		line(map[string]any{"series": map[string]any{"source": 0, "name": "uma_x", "labels": labels}}) +
		line(map[string]any{"sample": map[string]any{"source": 0, "at_ns": 1000, "index": []int{0}, "values": []float64{1.5}}}) +
		line(map[string]any{"gap": map[string]any{"source": 0, "at_ns": 2000, "samples": 1, "reason": everyName}})
	for path, text := range map[string]string{rundir.TelemetryFile: telemetry, rundir.SnapshotsFolder + "/00-ready-" + secretHost + ".prom.gz": everything} {
		var packed bytes.Buffer
		compress := gzip.NewWriter(&packed)
		_, err := io.WriteString(compress, text)
		if err := errors.Join(err, compress.Flush(), os.MkdirAll(filepath.Dir(f.Path(path)), 0o755), os.WriteFile(f.Path(path), packed.Bytes(), 0o644)); err != nil { // torn: no end
			t.Fatal(err)
		}
	}
}

// observed reads runs as a comparison sees them.
func observed(paths []string) ([]compare.Run, error) {
	var all []compare.Run
	for _, path := range paths {
		r, err := summary.Open(path)
		if err != nil {
			return nil, err
		}
		all = append(all, compare.FromRun(r))
	}
	return all, nil
}

func settingsFor(out string) Settings {
	return Settings{
		Out: out, Title: "Runs", Authors: []string{"A. Tester"}, Compare: compare.Options{By: "arm", Within: []string{"model"}},
		Program: rundir.Program{Version: "v1"}, Now: time.Date(2026, 11, 6, 0, 0, 0, 0, time.UTC), Read: observed,
	}
}

// everyFile is the content of all files of a pack by path, what is compressed unpacked.
func everyFile(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filesOf(dir)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v in %s", err, dir)
	}
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err == nil && strings.HasSuffix(path, ".gz") {
			var plain *gzip.Reader
			if plain, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
				text, err = io.ReadAll(plain)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[path] = string(text)
	}
	return all
}

func checkSecrets(t *testing.T, dir string) {
	t.Helper()
	for path, text := range everyFile(t, dir) {
		lower := strings.ToLower(text)
		for _, secret := range secrets() {
			secret = strings.ToLower(secret)
			if at := strings.Index(lower, secret); at >= 0 {
				t.Errorf("%s has %s: …%s…", path, secret, lower[max(0, at-80):min(len(lower), at+40)])
			}
			if strings.Contains(strings.ToLower(path), secret) {
				t.Errorf("the name %s has %s", path, secret)
			}
		}
	}
}

// sixRuns are planted runs of two arms.
func sixRuns(t *testing.T) []rundir.Folder {
	t.Helper()
	out := t.TempDir()
	var all []rundir.Folder
	for i := range 6 {
		arm := []string{"native", "container-" + secretHost}[i%2]
		all = append(all, planted(t, out, fmt.Sprintf("%s-run-%d", secretHost, i), arm, i))
	}
	return all
}

func TestAPackHasNoSecrets(t *testing.T) {
	runs, out := sixRuns(t), filepath.Join(t.TempDir(), "pack")
	pack, err := Make(t.Context(), runs, settingsFor(out))
	if err != nil {
		t.Fatal(err)
	}
	checkSecrets(t, out)
	files := everyFile(t, out)
	for path, has := range map[string]string{
		"runs/host-2-run-0/manifest.json":      `"hostname": "host-1"`,
		"runs/host-2-run-0/telemetry.jsonl.gz": `"container":"container-`,
		"runs/host-2-run-0/requests.jsonl.gz":  `"tokens_in":7`,
		"runs/host-2-run-0/schedule.jsonl.gz":  `"max_tokens":7`,
		"runs/host-2-run-0/phases.json":        "start_ns",
		"runs.csv":                             "container-host-2", "methodology.md": "container-host-2", "comparison.html": "host-2",
	} {
		if !strings.Contains(files[path], has) {
			t.Errorf("%s lacks %q: %.600s", path, has, files[path])
		}
	}
	for _, left := range []string{"outputs.jsonl", "conversations.jsonl", "logs", "captures", "snapshots", "report.html", "notes-of-user-1"} {
		if !slices.Contains(pack.LeftOut, left) {
			t.Errorf("%s is not reported as left out: %q", left, pack.LeftOut)
		}
	}
}

// TestEachSecretAloneIsNotInAPack: a secret that stands alone in every text of a run is found by its own form or name.
func TestEachSecretAloneIsNotInAPack(t *testing.T) {
	for _, text := range phrases {
		folder := t.TempDir()
		runs := []rundir.Folder{plantedWith(t, folder, "a", "native", 0, text), plantedWith(t, folder, "b", "container", 1, text)}
		out := filepath.Join(t.TempDir(), "pack")
		if _, err := Make(t.Context(), runs, settingsFor(out)); err != nil {
			t.Fatal(err)
		}
		checkSecrets(t, out)
	}
}

// TestTextsWithoutATagNeverGoIn: answers of servers, output of commands and lines of logs.
func TestTextsWithoutATagNeverGoIn(t *testing.T) {
	var m rundir.Manifest
	fill(reflect.ValueOf(&m).Elem(), "plain")
	n := newNames(nil)
	n.clean(&m)
	for name, text := range map[string]string{
		"output of a collector": m.Campaign.Collected[0].Output, "answer of a server": m.Server.Fields.Refused[0].Says, "line of a log": m.Command.Borders[0].Text,
	} {
		if text != "" {
			t.Errorf("%s: %q", name, text)
		}
	}
	if m.Client.TimeZone != nil {
		t.Errorf("time zone %+v", m.Client.TimeZone)
	}
}

func TestExtrasGoInAsTheyAre(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	s.With = Extras()
	runs := sixRuns(t)[:2]
	pack, err := Make(t.Context(), runs, s)
	if err != nil {
		t.Fatal(err)
	}
	files := everyFile(t, s.Out)
	for _, path := range []string{"outputs.jsonl.gz", "conversations.jsonl.gz", "logs/" + secretHost + ".log.gz", "captures/before-env.txt.gz", "snapshots/00-ready-" + secretHost + ".prom.gz"} {
		if text := files["runs/host-2-run-0/"+path]; !strings.Contains(text, secretPrompt) || !strings.Contains(text, secretUser) {
			t.Errorf("%s: %.300q", path, text)
		}
	}
	if !strings.Contains(files[MethodologyFile], "as they were written: outputs") || slices.Contains(pack.LeftOut, "logs") {
		t.Errorf("%s", files[MethodologyFile])
	}
}
