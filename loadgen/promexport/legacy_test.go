package promexport

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

func TestOldNamesAreServedWithTheNewOnesForOneRelease(t *testing.T) {
	b := newBench(t)
	b.put(Of(whole("r1", 0)))
	lines := func(page, name string) (values []string) {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, name+"{") {
				values = append(values, strings.TrimSpace(strings.TrimPrefix(line, name)))
			}
		}
		return values
	}
	without := b.page(t)
	b.LegacyNames = true
	with := b.page(t)
	for _, name := range metric.RenamedSeries() {
		now := lines(with, name.New)
		if len(now) != 1 || strings.Join(lines(with, name.Old), "\n") != now[0] {
			t.Errorf("%s is %q, and %s is %q", name.New, now, name.Old, lines(with, name.Old))
		}
		if strings.Contains(without, name.Old) || len(lines(without, name.New)) != 1 {
			t.Errorf("without old names: %s is %q, %s is %q", name.Old, lines(without, name.Old), name.New, lines(without, name.New))
		}
		if !strings.Contains(with, "# HELP "+name.Old+" Old name of "+name.New) {
			t.Errorf("the help of %s does not name %s", name.Old, name.New)
		}
	}
}
