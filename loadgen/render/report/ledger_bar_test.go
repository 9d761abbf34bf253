package report

import (
	"math"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
)

func TestTheBarOfALedgerAddsUpToThePool(t *testing.T) {
	lines := map[string]float64{ledger.GPUProcess: 60 << 30, ledger.Anon: 10 << 30, ledger.PageCache: 20 << 30, ledger.SwapCache: 1 << 30, ledger.Free: 30 << 30, ledger.Unattributed: -1 << 30}
	f := LedgerBar("Now", "", lines)
	wide, end := 0.0, 0.0
	for _, s := range f.Desk.Shapes {
		if math.Abs(s.X-end) > 0.11 { // positions are rounded to tenths
			t.Errorf("a gap before %s: %v, %v", s.Title, end, s.X)
		}
		wide, end = wide+s.W, s.X+s.W
	}
	if len(f.Desk.Shapes) != 4 || math.Abs(wide-f.Desk.Width) > 0.5 {
		t.Errorf("%d parts, %v of %v wide", len(f.Desk.Shapes), wide, f.Desk.Width)
	}
	legend := ""
	for _, item := range f.Legend {
		legend += item.Text + "\n"
	}
	if !strings.Contains(legend, "page cache and reclaimable 21 GiB") || !strings.Contains(legend, "unattributed -1") {
		t.Errorf("legend %s", legend)
	}
	if LedgerBar("Now", "", nil).Drawn() {
		t.Error("no ledger is drawn")
	}
}
