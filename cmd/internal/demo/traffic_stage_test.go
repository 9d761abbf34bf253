package demo

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/metric"
)

// TestTheMachineReadsFromItsDriveWhatTheEngineBringsBack: prompts push the first ones out of the GPU's memory and of the
// tier above the drive, and these are asked again. To the last block the machine has moved what the engine has, in
// its own time.
func TestTheMachineReadsFromItsDriveWhatTheEngineBringsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nowhere = "http://127.0.0.1:1/metrics"
		s, err := openStage(stageSettings{seed: 1, weights: weightBytes, factor: timeFactor, enginePage: nowhere, kvbmPage: nowhere})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		if err := s.begin(t.Context(), containerArm(), engineOptions{seed: 1}); err != nil {
			t.Fatal(err)
		}
		s.awaitEngine(t)
		before := s.inference.process.Status()
		took := map[string]time.Duration{}
		ask := func(first, n int) (each time.Duration) {
			began := time.Now()
			for i := range n {
				s.ask(t, fmt.Sprintf("prompt %d ", first+i), 1000)
			}
			return time.Since(began) / time.Duration(n)
		}
		took["computed"] = ask(0, 6)
		took["from the GPU's memory"] = ask(0, 6)
		ask(100, 40)
		took["from the drive"] = ask(0, 6)
		time.Sleep(time.Second)
		after := s.inference.process.Status()
		for what, of := range map[string][2]int64{
			"read":    {s.blocks(t, metric.OpOnboard, metric.TierDisk, metric.TierHost) * blockBytes, int64(after.ReadBytes - before.ReadBytes)},
			"written": {s.blocks(t, metric.OpOffload, metric.TierHost, metric.TierDisk) * blockBytes, int64(after.WrittenBytes - before.WrittenBytes)},
		} {
			if of[0] < 8*gib || math.Abs(float64(of[1]-of[0])) > float64(of[0])/1000 {
				t.Errorf("%s: the engine has moved %d bytes, the machine %d", what, of[0], of[1])
			}
		}
		if took["from the drive"] > took["computed"]*3/4 || took["from the GPU's memory"] > took["from the drive"]*3/4 {
			t.Errorf("an answer takes %v", took)
		}
	})
}

// blocks is how many blocks KVBM says that it has moved between two tiers.
func (s *stage) blocks(t *testing.T, op, from, to string) int64 {
	t.Helper()
	w := httptest.NewRecorder()
	s.kvbmHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, pagePath, nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range dynamo.KVBMRoutes() {
		if family := families[route.Blocks]; family != nil && route.Op == op && route.From == from && route.To == to {
			return int64(family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	t.Fatalf("KVBM tells no blocks from %s to %s", from, to)
	return 0
}
