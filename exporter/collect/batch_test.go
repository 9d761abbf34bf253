package collect

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/metric"
)

func declared() []metric.Definer {
	return []metric.Definer{metric.MemoryPoolBytes, metric.MemoryLedgerBytes, metric.VmstatOOMKillsTotal}
}

func TestBatchAcceptsDeclaredSeries(t *testing.T) {
	b := newBatch(newFamilies(declared()))
	b.Gauge(metric.MemoryPoolBytes, 128)
	b.Gauge(metric.MemoryLedgerBytes, -1, "unattributed")
	b.Gauge(metric.MemoryLedgerBytes, 0, "free")
	b.Counter(metric.VmstatOOMKillsTotal, 0)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	if got := len(b.Metrics()); got != 4 {
		t.Errorf("%d series accepted, 4 given", got)
	}
}

func TestBatchRefusesWhatCannotStandOnAPage(t *testing.T) {
	tests := []struct {
		name string
		add  func(*Batch)
		says string
	}{
		{"undeclared family", func(b *Batch) { b.Gauge(metric.MemoryDirtyBytes, 1) }, "does not declare"},
		{"label missing", func(b *Batch) { b.Gauge(metric.MemoryLedgerBytes, 1) }, "0 label values for 1"},
		{"label too many", func(b *Batch) { b.Gauge(metric.MemoryPoolBytes, 1, "x") }, "1 label values for 0"},
		{"not a number", func(b *Batch) { b.Gauge(metric.MemoryPoolBytes, math.NaN()) }, "NaN"},
		{"infinite", func(b *Batch) { b.Gauge(metric.MemoryPoolBytes, math.Inf(-1)) }, "-Inf"},
		{"infinite counter", func(b *Batch) { b.Counter(metric.VmstatOOMKillsTotal, math.Inf(1)) }, "+Inf"},
		{"negative counter", func(b *Batch) { b.Counter(metric.VmstatOOMKillsTotal, -1) }, "cannot be -1"},
		{"series twice", func(b *Batch) { b.Gauge(metric.MemoryPoolBytes, 1); b.Gauge(metric.MemoryPoolBytes, 2) }, "there already"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBatch(newFamilies(declared()))
			b.Gauge(metric.MemoryLedgerBytes, 1, "kept")
			test.add(b)
			if err := b.Err(); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "uma_") {
				t.Errorf("got error %v, want one that names the series and says %q", err, test.says)
			}
			if len(b.Metrics()) == 0 {
				t.Error("the good series was lost with the bad one")
			}
		})
	}
}

func TestBatchTellsSeriesApartWhoseLabelsWouldRunTogether(t *testing.T) {
	b := newBatch(newFamilies([]metric.Definer{metric.NVMeTemperatureCelsius}))
	b.Gauge(metric.NVMeTemperatureCelsius, 1, "a", "bc")
	b.Gauge(metric.NVMeTemperatureCelsius, 1, "ab", "c")
	if b.Err() != nil || len(b.Metrics()) != 2 {
		t.Errorf("%d series, %v", len(b.Metrics()), b.Err())
	}
}

func TestBatchReplacesBytesThatAreNoTextOrThatTerminalsObey(t *testing.T) {
	given := []string{"a\xffb\x1b]0;c\x07\u009bd\n"}
	b := newBatch(newFamilies(declared()))
	b.Gauge(metric.MemoryLedgerBytes, 1, given...)
	if b.Err() != nil || given[0] != "a\xffb\x1b]0;c\x07\u009bd\n" {
		t.Fatalf("error %v, caller's labels %q", b.Err(), given)
	}
	var out dto.Metric
	if err := b.Metrics()[0].Write(&out); err != nil {
		t.Fatal(err)
	}
	if got := out.GetLabel()[0].GetValue(); got != "a\uFFFDb\uFFFD]0;c\uFFFD\uFFFDd\uFFFD" {
		t.Errorf("label is %q", got)
	}
}

func TestBatchBoundsWhatItSaysOfRefusals(t *testing.T) {
	b := newBatch(newFamilies(nil))
	for range 1000 {
		b.Gauge(metric.MemoryPoolBytes, 1)
	}
	if got := b.Err().Error(); len(got) > 2000 || !strings.Contains(got, "and 995 more") {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
}

func TestBatchCarriesTheHelpOfTheVocabulary(t *testing.T) {
	b := newBatch(newFamilies(declared()))
	b.Gauge(metric.MemoryPoolBytes, 1)
	want := prometheus.NewDesc("uma_memory_pool_bytes", metric.MemoryPoolBytes.Def().HelpText(), nil, nil)
	if got := b.Metrics()[0].Desc().String(); got != want.String() {
		t.Errorf("got %s, want %s", got, want)
	}
}
