package compose

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen"
)

// object is a Kubernetes object as its file has it. That every field is one is checked in .ci/proofs/kubernetes, by the types of
// Kubernetes and of the Prometheus operator.
type object map[string]any

// in finds a member by its way there; nil if there is none.
func (o object) in(way ...string) any {
	var v any = map[string]any(o)
	for _, name := range way {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (o object) name() string { name, _ := o.in("metadata", "name").(string); return name }
func (o object) kind() string { kind, _ := o["kind"].(string); return kind }

func objects(t *testing.T, text []byte) []object {
	t.Helper()
	var all []object
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o map[string]any // and so all maps in it
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		if o != nil {
			all = append(all, object(o))
		}
	}
}

func objectsIn(t *testing.T, path string) []object {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return objects(t, text)
}

// manifests are the objects of all files but those of kustomize.
func manifests(t *testing.T) []object {
	t.Helper()
	var all []object
	for _, pattern := range []string{"kubernetes/*.yaml", "kubernetes/load/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			if filepath.Base(path) != "kustomization.yaml" {
				all = append(all, objectsIn(t, path)...)
			}
		}
	}
	return all
}

// pod is the template of a workload, and its one container.
func (o object) pod(t *testing.T) (spec, container object) {
	t.Helper()
	template, _ := o.in("spec", "template", "spec").(map[string]any)
	containers, _ := template["containers"].([]any)
	if len(containers) != 1 {
		t.Fatalf("%s has %d containers", o.name(), len(containers))
	}
	one, _ := containers[0].(map[string]any)
	return template, one
}

func workloads(t *testing.T) map[string]object {
	t.Helper()
	found := map[string]object{}
	for _, o := range manifests(t) {
		if o.in("spec", "template", "spec") != nil {
			found[o.name()] = o
		}
	}
	if len(found) != 4 {
		t.Fatalf("%d workloads", len(found))
	}
	return found
}

func stringsOf(v any) []string {
	list, _ := v.([]any)
	var all []string
	for _, s := range list {
		text, _ := s.(string)
		all = append(all, text)
	}
	return all
}

// TestArgumentsInPodsAreTheProgramsOwn parses them as the pods would.
func TestArgumentsInPodsAreTheProgramsOwn(t *testing.T) {
	for name, workload := range workloads(t) {
		_, container := workload.pod(t)
		run := func(args []string) (int, string) {
			var stderr strings.Builder
			if container["image"] == "umascope/uma-exporter:dev" {
				return exporter.Run(t.Context(), args, io.Discard, &stderr), stderr.String()
			}
			return loadgen.Run(t.Context(), args, io.Discard, &stderr), stderr.String()
		}
		args := stringsOf(container["args"])
		for i := range args {
			args[i] = strings.NewReplacer("=START", "=1900000000", "=RUN", "=load1").Replace(args[i])
		}
		lines := [][]string{args}
		if probe, is := container.in("livenessProbe", "exec", "command").([]any); is {
			lines = append(lines, stringsOf(any(probe))[1:])
			if probe[0] != "/usr/local/bin/uma-load" {
				t.Errorf("%s: health is asked by %v", name, probe)
			}
		}
		for _, line := range lines {
			if code, complaint := run(append(slices.Clone(line), "--help")); code != 0 {
				t.Errorf("%s: %v: exit %d, %s", name, line, code, complaint)
			}
			if code, _ := run(append(slices.Clone(line), "--no-such-flag")); code == 0 {
				t.Errorf("%s: %v: whatever follows is taken, so that nothing was checked", name, line)
			}
		}
	}
}

func TestPodsListenWhereMonitorsAndProbesAsk(t *testing.T) {
	for name, want := range map[string]string{"uma-exporter": exporter.DefaultAddress, "uma-load": loadgen.DefaultAddress, "uma-results": loadgen.DefaultResultsAddress} {
		workload := workloads(t)[name]
		_, container := workload.pod(t)
		_, port, err := net.SplitHostPort(want)
		must(t, err)
		listens := argument(stringsOf(container["args"]), "web.listen-address")
		ports, _ := container["ports"].([]any)
		one, _ := ports[0].(map[string]any)
		if listens != ":"+port || len(ports) != 1 || one["name"] != "metrics" || portText(one["containerPort"]) != port {
			t.Errorf("%s listens on %s and has the ports %v, want %s", name, listens, ports, port)
		}
		labels, _ := workload.in("spec", "template", "metadata", "labels").(map[string]any)
		monitor := objectNamed(t, "PodMonitor", name)
		if chosen, _ := monitor.in("spec", "selector", "matchLabels").(map[string]any); chosen["app.kubernetes.io/name"] != labels["app.kubernetes.io/name"] || chosen == nil {
			t.Errorf("the monitor of %s looks for %v, its pods have %v", name, chosen, labels)
		}
		if labels["app.kubernetes.io/part-of"] != "umascope" {
			t.Errorf("no policy is for pods of %s", name)
		}
	}
}

func portText(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

func objectNamed(t *testing.T, kind, name string) object {
	t.Helper()
	for _, o := range manifests(t) {
		if o.kind() == kind && o.name() == name {
			return o
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

// TestMonitorsMakeTheJobsAndHostsOfTheRules: dashboards and alerts know jobs by these names and machines by host, and
// series of runs carry theirs themselves. What uma-load serve tells is of no one machine, as in compose.
func TestMonitorsMakeTheJobsAndHostsOfTheRules(t *testing.T) {
	for job, honors := range map[string]bool{metric.JobExporter: false, metric.JobLoad: true, metric.JobResults: true} {
		monitor := objectNamed(t, "PodMonitor", job)
		if monitor.in("spec", "scrapeNativeHistograms") != true {
			t.Errorf("%s: latencies lose their buckets", job)
		}
		endpoints, _ := monitor.in("spec", "podMetricsEndpoints").([]any)
		if len(endpoints) != 1 {
			t.Fatalf("%s has %d endpoints", job, len(endpoints))
		}
		one := object(endpoints[0].(map[string]any))
		var calls, tells, drops bool
		relabelings, _ := one["relabelings"].([]any)
		for _, r := range relabelings {
			rule := object(r.(map[string]any))
			calls = calls || rule["targetLabel"] == "job" && rule["replacement"] == job
			tells = tells || rule["targetLabel"] == string(metric.LabelHost) && reflect.DeepEqual(stringsOf(rule["sourceLabels"]), []string{"__meta_kubernetes_pod_node_name"})
			pattern, _ := rule["regex"].(string)
			drops = drops || rule["action"] == "labeldrop" && strings.Contains(pattern, string(metric.LabelNamespace))
		}
		if !calls || tells != (job != metric.JobResults) || !drops || (one["honorLabels"] == true) != honors || one["port"] != "metrics" {
			t.Errorf("%s: job %v, host %v, drops what pods carry %v, honors labels %v", job, calls, tells, drops, one["honorLabels"])
		}
	}
}

// TestTheExporterInAPodHasWhatItsCollectorsNeedAndNoMore, as exporter/PRIVILEGES.md and the compose file have it.
func TestTheExporterInAPodHasWhatItsCollectorsNeedAndNoMore(t *testing.T) {
	spec, container := workloads(t)["uma-exporter"].pod(t)
	stack := project(t, stackFile).Services["exporter"]
	added, dropped := stringsOf(container.in("securityContext", "capabilities", "add")), stringsOf(container.in("securityContext", "capabilities", "drop"))
	if !slices.Equal(added, stack.CapAdd) || !slices.Equal(dropped, []string{"ALL"}) {
		t.Errorf("capabilities %v and %v, in compose %v", added, dropped, stack.CapAdd)
	}
	if spec["hostPID"] != true || spec["hostNetwork"] != false || spec["hostIPC"] != nil || container.in("securityContext", "privileged") != nil ||
		container.in("securityContext", "allowPrivilegeEscalation") != false || container.in("securityContext", "readOnlyRootFilesystem") != true {
		t.Errorf("pod %v, container %v", spec, container["securityContext"])
	}
	for _, flag := range []string{"path.procfs", "path.sysfs", "path.cgroupfs"} {
		args := stringsOf(container["args"])
		if argument(args, flag) != argument(stack.Command, flag) {
			t.Errorf("--%s is %q, in compose %q", flag, argument(args, flag), argument(stack.Command, flag))
		}
	}
	mounts, _ := container["volumeMounts"].([]any)
	for _, m := range mounts {
		if mount := object(m.(map[string]any)); mount["readOnly"] != true {
			t.Errorf("%v may be written to", mount["mountPath"])
		}
	}
	requests, _ := container.in("resources", "limits").(map[string]any)
	if requests["nvidia.com/gpu"] != nil {
		t.Error("the exporter takes a GPU away from the engines")
	}
}

// TestPodsOfOursAreHeldTight: nothing but the exporter needs a privilege, and nothing has a token of the cluster.
func TestPodsOfOursAreHeldTight(t *testing.T) {
	for name, workload := range workloads(t) {
		spec, container := workload.pod(t)
		if spec["automountServiceAccountToken"] != false || container.in("resources", "limits", "memory") == nil {
			t.Errorf("%s: token %v, limits %v", name, spec["automountServiceAccountToken"], container.in("resources", "limits"))
		}
		if image, _ := container["image"].(string); !strings.HasPrefix(image, "umascope/") || strings.HasSuffix(image, ":latest") {
			t.Errorf("%s: image %s", name, image)
		}
		if name == "uma-exporter" {
			continue
		}
		if object(spec).in("securityContext", "runAsNonRoot") != true || spec.in("securityContext", "seccompProfile", "type") != "RuntimeDefault" ||
			container.in("securityContext", "allowPrivilegeEscalation") != false || !slices.Equal(stringsOf(container.in("securityContext", "capabilities", "drop")), []string{"ALL"}) ||
			container.in("securityContext", "readOnlyRootFilesystem") != true {
			t.Errorf("%s does not meet the restricted standard", name)
		}
	}
}

// TestTheIndexedJobIsOneLoad: as many ranks as pods at once, none of which comes again or, if it fails, ends the others, and all
// of them are merged.
func TestTheIndexedJobIsOneLoad(t *testing.T) {
	job, merge := workloads(t)["uma-load"], workloads(t)["uma-load-merge"]
	_, container := job.pod(t)
	n := portText(job.in("spec", "completions"))
	if job.in("spec", "completionMode") != "Indexed" || portText(job.in("spec", "parallelism")) != n || argument(stringsOf(container["args"]), "world") != n || portText(job.in("spec", "backoffLimitPerIndex")) != "0" || job.in("spec", "backoffLimit") != nil {
		t.Errorf("%s completions, spec %v", n, job["spec"])
	}
	_, merging := merge.pod(t)
	var ranks []string
	for _, arg := range stringsOf(merging["args"]) {
		if strings.HasPrefix(arg, "/") {
			ranks = append(ranks, arg)
		}
	}
	for i, rank := range ranks {
		if want := "/runs/RUN-rank" + portText(i) + "of" + n; rank != want {
			t.Errorf("merges %s, want %s", rank, want)
		}
	}
	if portText(len(ranks)) != n {
		t.Errorf("%d ranks of %s are merged", len(ranks), n)
	}
}

// TestTheStartOfTheJobIsAWhileAway, and what is no name of a run goes into no manifest.
func TestTheStartOfTheJobIsAWhileAway(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "kubernetes/load/start", "load7", "90").Output()
	must(t, err)
	_, container := objects(t, output)[0].pod(t)
	args := stringsOf(container["args"])
	if argument(args, "run-id") != "load7" || len(argument(args, "start-at")) != len("1900000000") || bytes.Contains(output, []byte("START")) {
		t.Errorf("%v", args)
	}
	for _, bad := range [][]string{{}, {"a b"}, {"x/../y"}, {"x", "soon"}, {"-x"}} {
		if err := exec.CommandContext(t.Context(), "kubernetes/load/start", bad...).Run(); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestRulesOfTheClusterAreThoseOfTheStack: the script only wraps them.
func TestRulesOfTheClusterAreThoseOfTheStack(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "kubernetes/rules").Output()
	must(t, err)
	paths, err := filepath.Glob("../alerts/*.yaml")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	made := objects(t, output)
	if len(made) != len(paths) {
		t.Fatalf("%d objects of %d files", len(made), len(paths))
	}
	for i, path := range paths {
		want := objectsIn(t, path)[0]
		if made[i].kind() != "PrometheusRule" || made[i].name() != "umascope-"+strings.TrimSuffix(filepath.Base(path), ".yaml") || !reflect.DeepEqual(made[i]["spec"], any(map[string]any(want))) {
			t.Errorf("%s became another %s %s", path, made[i].kind(), made[i].name())
		}
	}
}

// TestKustomizeHasEveryFile, but what is applied by itself.
func TestKustomizeHasEveryFile(t *testing.T) {
	listed := stringsOf(objectsIn(t, "kubernetes/kustomization.yaml")[0]["resources"])
	paths, err := filepath.Glob("kubernetes/*.yaml")
	must(t, err)
	for _, path := range paths {
		if name := filepath.Base(path); name != "kustomization.yaml" && name != "rules.yaml" && !slices.Contains(listed, name) {
			t.Errorf("%s is not listed", name)
		}
	}
	for _, name := range listed {
		if _, err := os.Stat(filepath.Join("kubernetes", name)); err != nil {
			t.Error(err)
		}
	}
}
