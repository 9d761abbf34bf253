package grafana

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestAnswersOfEveryKindAreRead(t *testing.T) {
	for answer, want := range map[string]string{
		`{"resultType":"scalar","result":[1700000000.5,"3"]}`:                                                `[{"name":"","labels":{},"points":[[1700000000500,"3"]]}]`,
		`{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"+Inf"]}]}`:                         `[{"name":"","labels":{"a":"b"},"points":[[1000,"+Inf"]]}]`,
		`{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"buckets":[[3,"-1","+Inf","2"]]}]}]}`: `[{"name":"","labels":{},"histograms":[[1000,[["-1","+Inf","2"]]]]}]`,
		`{"resultType":"matrix","result":[]}`:                                                                `[]`,
	} {
		found, err := decode(json.RawMessage(answer))
		if err != nil {
			t.Errorf("%s: %v", answer, err)
		}
		if got, err := json.Marshal(found.series); err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s (%v)", answer, got, want, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"2"]],"histograms":[[1,{"buckets":[[0,"1","2","3"]]}]]}]}`)
	f.Add(`{"resultType":"scalar","result":[1e300,"x"]}`)
	f.Add(`{"resultType":"vector","result":[{"value":[1]}]}`)
	f.Fuzz(func(t *testing.T, answer string) {
		found, err := decode(json.RawMessage(answer))
		if err != nil {
			return
		}
		if _, err := json.Marshal(found.series); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

func TestTimesThatAreAStepApartAreOneEvent(t *testing.T) {
	labels := map[string]string{"run": "r"}
	q := Query{Step: time.Minute}
	valued := func(ms int64, value string) point { return point{time.UnixMilli(ms), value} }
	found := result{series: []series{{Labels: labels, Points: []point{valued(0, "1"), valued(60_000, "1"), valued(120_000, "0"), valued(180_000, "2"), valued(240_000, "NaN")}}}}
	events := marks(Annotation{TitleFormat: "run {{run}}"}, q, found)
	if len(events) != 2 || events[0].To != 60_000 || events[1].From != 180_000 || events[0].Title != "run r" {
		t.Errorf("events %+v", events)
	}
	if got := valueOf("+Inf"); !math.IsInf(got, 1) {
		t.Errorf("infinity is %v", got)
	}
}
