package collector

import (
	"fmt"
	"math"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/metric"
)

func declared() []metric.Definer {
	return []metric.Definer{metric.MemoryPoolBytes, metric.MemoryLedgerBytes, metric.VmstatOOMKillsTotal}
}

// closed returns the series of a batch that nothing was refused of, one a line.
func closed(t *testing.T, b *Batch) string {
	t.Helper()
	found, err := b.close()
	if err != nil {
		t.Fatal(err)
	}
	return seriesText(found)
}

func seriesText(found []*dto.MetricFamily) string {
	var text strings.Builder
	for _, family := range found {
		for _, m := range family.GetMetric() {
			fmt.Fprintln(&text, family.GetName()+labelText(m), m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	return text.String()
}

func TestBatchAcceptsDeclaredSeries(t *testing.T) {
	b := newBatch(newFamilies(declared()))
	b.Gauge(metric.MemoryPoolBytes, 128)
	b.Gauge(metric.MemoryLedgerBytes, -1, "unattributed")
	b.Gauge(metric.MemoryLedgerBytes, 0, "free")
	b.Counter(metric.VmstatOOMKillsTotal, 0)
	page := closed(t, b)
	if got := strings.Count(page, "\n"); got != 4 {
		t.Errorf("%d series accepted, 4 given:\n%s", got, page)
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
			found, err := b.close()
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "uma_") {
				t.Errorf("got error %v, want one that names the series and says %q", err, test.says)
			}
			if page := seriesText(found); !strings.Contains(page, `{line="kept"} 1`) || strings.Contains(page, " 2") {
				t.Errorf("the good series was lost with the bad one, or the bad one was kept:\n%s", page)
			}
		})
	}
}

func TestBatchTellsSeriesApartWhoseLabelsWouldRunTogether(t *testing.T) {
	b := newBatch(newFamilies([]metric.Definer{metric.NVMeTemperatureCelsius}))
	b.Gauge(metric.NVMeTemperatureCelsius, 1, "a", "bc")
	b.Gauge(metric.NVMeTemperatureCelsius, 1, "ab", "c")
	if page := closed(t, b); strings.Count(page, "\n") != 2 {
		t.Errorf("not two series:\n%s", page)
	}
}

func TestBatchReplacesBytesThatAreNoTextOrThatTerminalsObey(t *testing.T) {
	given := []string{"a\xffb\x1b]0;c\x07\u009bd\n"}
	b := newBatch(newFamilies(declared()))
	b.Gauge(metric.MemoryLedgerBytes, 1, given...)
	found, err := b.close()
	if err != nil || given[0] != "a\xffb\x1b]0;c\x07\u009bd\n" {
		t.Fatalf("error %v, caller's labels %q", err, given)
	}
	if got := found[0].GetMetric()[0].GetLabel()[0].GetValue(); got != "a\uFFFDb\uFFFD]0;c\uFFFD\uFFFDd\uFFFD" {
		t.Errorf("label is %q", got)
	}
}

func TestBatchBoundsWhatItSaysOfRefusals(t *testing.T) {
	b := newBatch(newFamilies(nil))
	for range 1000 {
		b.Gauge(metric.MemoryPoolBytes, 1)
	}
	_, err := b.close()
	if got := err.Error(); len(got) > 2000 || !strings.Contains(got, "and 995 more") {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
}

func TestBatchCarriesTheHelpOfTheVocabulary(t *testing.T) {
	b := newBatch(newFamilies(declared()))
	b.Gauge(metric.MemoryPoolBytes, 1)
	found, err := b.close()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := found[0].GetHelp(), metric.MemoryPoolBytes.Def().HelpText(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBatchSortsSeriesByTheirLabelsInTheOrderOfNames(t *testing.T) {
	b := newBatch(newFamilies([]metric.Definer{metric.NVMeInfo}))
	// The definition's order is device, controller, model, firmware; a page's is that of the alphabet.
	b.Gauge(metric.NVMeInfo, 1, "nvme1n1", "nvme0", "m", "f")
	b.Gauge(metric.NVMeInfo, 1, "nvme0n2", "nvme0", "m", "f")
	b.Gauge(metric.NVMeInfo, 1, "nvme9n1", "nvme0", "m", "e")
	want := strings.Join([]string{
		`uma_nvme_info{controller="nvme0",device="nvme0n2",firmware="f",model="m"} 1`,
		`uma_nvme_info{controller="nvme0",device="nvme1n1",firmware="f",model="m"} 1`,
		`uma_nvme_info{controller="nvme0",device="nvme9n1",firmware="e",model="m"} 1`,
	}, "\n") + "\n"
	if got := closed(t, b); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
