package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// onTwo is a run on two servers, the second of which lost a request.
func onTwo() testrun.Run {
	urls := []string{"http://spark-1:8000", "http://spark-2:8000"}
	var records []openai.Record
	for i := range 40 {
		r := testrun.Answered(i, int64(i)*300, 100, 120, 140, 160)
		if i%2 == 1 {
			r = testrun.Answered(i, int64(i)*300, 200, 240)
		}
		r.Server = urls[i%2]
		records = append(records, r)
	}
	records[39].Status = openai.StatusConnect
	run := testrun.New(records...)
	run.Manifest.Server.URL, run.Manifest.Replicas = urls[0], []rundir.Server{{URL: urls[1]}}
	return run
}

func TestServersAreShownSideBySide(t *testing.T) {
	table := serverTable(summarize(t, onTwo()))
	header := []string{"by server", "requests", "errors", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", "output tokens per second", "share of tokens"}
	if !slices.Equal(table.Header, header) {
		t.Fatalf("%q", table.Header)
	}
	for i, want := range [][]string{
		{"http://spark-1:8000", "20", "0", "100 ms", "–", "20 ms", "–", "", "67.8 %"},
		{"http://spark-2:8000", "20", "1", "200 ms", "–", "40 ms", "–", "", "32.2 %"},
	} {
		got := slices.Clone(table.Rows[i].Cells)
		if got[7] = ""; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if one := serverTable(summarize(t, testrun.New(testrun.Steady(4)...))); !one.Empty() {
		t.Errorf("one server has %q", one.Rows)
	}
}

func TestServersWhoseAnswersCameWholeAreShownByTheirEnd(t *testing.T) {
	run := onTwo()
	run.Manifest.Judging.Streaming = false
	table := serverTable(summarize(t, run))
	if !slices.Equal(table.Header[3:5], []string{"E2E p50", "E2E p99"}) || table.Rows[0].Cells[3] != "160 ms" || table.Rows[1].Cells[3] != "240 ms" {
		t.Errorf("%q: %q", table.Header, table.Rows)
	}
}

func TestTheReportSaysWhatIsNotObservableWithSeveralServers(t *testing.T) {
	var page, printed bytes.Buffer
	s := summarize(t, onTwo())
	if err := Markdown(&page, s); err != nil {
		t.Fatal(err)
	}
	if err := Text(&printed, s); err != nil {
		t.Fatal(err)
	}
	for text, wants := range map[string][]string{page.String(): {"## By server", "not observable with several servers"}, printed.String(): {"by server", "http://spark-2:8000"}} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing:\n%s", want, text)
			}
		}
	}
}

func TestTheTableOfRequestsNamesServersWhereThereAreSeveral(t *testing.T) {
	for _, c := range []struct {
		run   testrun.Run
		named bool
	}{{onTwo(), true}, {testrun.New(testrun.Steady(4)...), false}} {
		table := RequestSheet(summarize(t, c.run), testrun.Sequence(c.run.Records...))
		last := table.Header[len(table.Header)-1]
		if row := rowsOf(t, table)[1]; (last == "server") != c.named || c.named && row[len(row)-1] != "http://spark-2:8000" {
			t.Errorf("the last column is %s: %v", last, row[len(row)-1])
		}
	}
}
