//go:build proof

package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

// play opens a stage whose pages are served.
func play(t *testing.T, factor int) *stage {
	t.Helper()
	m, err := openMachine("spark", stageSettings{seed: 1, weights: weightBytes, factor: factor}, func(int) (listener, error) { return listenHere() })
	if err != nil {
		t.Fatal(err)
	}
	var pages servers
	m.serve(&pages, m.stage.exporterHandler())
	t.Cleanup(func() {
		m.stage.close()
		pages.close()
	})
	return m.stage
}

// ready begins an arm and waits until its engine serves.
func (s *stage) ready(t *testing.T, a arm) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.begin(ctx, a, engineOptions{seed: 1}); err != nil {
		t.Fatal(err)
	}
	for {
		w := httptest.NewRecorder()
		s.engineHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", nil))
		if w.Code == http.StatusOK {
			break
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			t.Fatal("the engine does not serve: ", err)
		}
	}
	if err := pause(ctx, 300*time.Millisecond); err != nil { // until the machine has what the engine has
		t.Fatal(err)
	}
}

// page is what the exporter shows now.
type page map[string]float64

// look reads the page: a value by the name of its series and labels, as they are written.
func (s *stage) look(t *testing.T) page {
	t.Helper()
	w := httptest.NewRecorder()
	s.exporterHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, exporter.DefaultTelemetryPath, nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v", w.Code, err)
	}
	values := page{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			values[name+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return values
}

// sum adds up the series of a metric that have all these labels.
func (p page) sum(d metric.Definer, labels ...string) (sum float64, found bool) {
	for series, value := range p {
		if !strings.HasPrefix(series, d.Def().Name+"{") {
			continue
		}
		all := true
		for _, label := range labels {
			all = all && strings.Contains(series, label)
		}
		if all {
			sum, found = sum+value, true
		}
	}
	return sum, found
}

// must is sum of series that have to be there.
func (p page) must(t *testing.T, d metric.Definer, labels ...string) float64 {
	t.Helper()
	sum, found := p.sum(d, labels...)
	if !found {
		t.Fatalf("no %s %v", d.Def().Name, labels)
	}
	return sum
}

func TestArmsDifferByWhatIsReadAndNotByAnyFigureOfTheirs(t *testing.T) {
	s := play(t, timeFactor)
	pages := map[string]page{}
	for _, a := range []arm{nativeArm(), containerArm()} {
		a.dropsCaches = true
		s.ready(t, a)
		pages[a.name] = s.look(t)
		s.agrees(t, pages[a.name])
	}
	native, container := pages[metric.ArmNative], pages[metric.ArmContainer]
	for name, p := range pages {
		if p.must(t, metric.ExporterMode, "mode=simulated") != 1 || p.must(t, metric.EngineUp) != 1 || p.must(t, metric.KVBMUp) != 1 {
			t.Errorf("%s: mode simulated, engine and KVBM are not all 1", name)
		}
	}
	read := map[string]map[string]int64{
		metric.ArmNative:    {weightsFile: weightBytes, containerWeightsFile: 0, imageFile: 0},
		metric.ArmContainer: {weightsFile: 0, containerWeightsFile: weightBytes, imageFile: imageBytes},
	}
	for _, a := range s.accounts() {
		for file, want := range read[a.arm] {
			if a.cachedBytes[file] != want {
				t.Errorf("%s: %d bytes of %s in the page cache, want %d", a.arm, a.cachedBytes[file], file, want)
			}
		}
	}
	// The engine takes a share of what it finds free: of what the layers took and the shared memory, it lacks that share.
	lost := native.must(t, metric.EngineKVCapacityBytes) - container.must(t, metric.EngineKVCapacityBytes)
	want := kvShare * (imageBytes + float64(containerArm().shmemBytes))
	if lost < want-gib/2 || lost > want+gib/2 {
		t.Errorf("the KV cache is %.1f GiB smaller in the container, want about %.1f", lost/gib, want/gib)
	}
	if _, limited := native.sum(metric.CgroupLimitUncoveredRatio); limited {
		t.Error("a limit is told of the native arm")
	}
	if uncovered := container.must(t, metric.CgroupLimitUncoveredRatio); uncovered < 0.5 {
		t.Errorf("the limit of the container covers all but %.2f of its memory", uncovered)
	}
	// All of it is more than the limit, and nothing has come of that.
	held := container.must(t, metric.GPUMemoryHeldBytes)
	stopped, _ := container.sum(metric.CgroupMemoryEventsTotal, "cgroup="+containerArm().cgroup, "event=max")
	if limit := float64(containerArm().limits.MaxBytes); held < limit || stopped != 0 {
		t.Errorf("the GPU holds %.1f GiB for a container whose limit is %.1f, which stopped it %v times", held/gib, limit/gib, stopped)
	}
}

// agrees holds the newest account against what the exporter shows of an engine that is ready.
func (s *stage) agrees(t *testing.T, p page) {
	t.Helper()
	all := s.accounts()
	a := all[len(all)-1]
	if shown := int64(p.must(t, metric.EngineKVCapacityBytes)); shown != a.kvBytes {
		t.Errorf("%s: the engine says %d bytes of KV cache, its account %d", a.arm, shown, a.kvBytes)
	}
	var cached int64
	for _, bytes := range a.cachedBytes {
		cached += bytes
	}
	for _, line := range []struct {
		name       string
		least      int64 // of the engine
		mostOthers int64 // what services have beside it
	}{
		{ledger.GPUProcess, a.deviceBytes + a.pinnedBytes + a.kvBytes, gib / 4},
		{ledger.Shmem, a.shmemBytes, gib / 4},
		{ledger.PageCache, cached, gib},
	} {
		shown := int64(p.must(t, metric.MemoryLedgerBytes, "line="+line.name))
		if shown < line.least || shown > line.least+line.mostOthers {
			t.Errorf("%s: %.2f GiB in line %s, by the account at least %.2f and at most %.2f more",
				a.arm, inGiB(shown), line.name, inGiB(line.least), inGiB(line.mostOthers))
		}
	}
	// What is taken together with the KV cache: page tables of the GPU, 2 MiB a GiB.
	excluding := int64(p.must(t, metric.MemoryPoolBytes)-p.must(t, metric.MemoryCUDAFreeBytes)) - a.kvBytes
	if !near(excluding, inGiB(a.occupiedWithoutKVBytes), 0.25) {
		t.Errorf("%s: %.2f GiB occupied without KV cache on the page, %.2f in the account", a.arm, inGiB(excluding), inGiB(a.occupiedWithoutKVBytes))
	}
}

func TestBetweenTwoEnginesNobodyAnswersInTheirPlace(t *testing.T) {
	s := play(t, timeFactor)
	s.ready(t, nativeArm())
	s.end()
	for name, handler := range map[string]http.Handler{"engine": s.engineHandler(), "KVBM": s.kvbmHandler()} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, pagePath, nil))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
	if up := s.look(t).must(t, metric.EngineUp); up != 0 {
		t.Errorf("the exporter says up %v", up)
	}
}

func TestAnArmThatIsNotWaitedForLeavesNoProcess(t *testing.T) {
	s := play(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.begin(ctx, containerArm(), engineOptions{seed: 1}); err == nil {
		t.Fatal("8 GiB were read in no time")
	}
	if held, there := s.look(t).sum(metric.CgroupLimitUncoveredRatio); there {
		t.Errorf("the container is there still: %v", held)
	}
}
