package loadgen

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
)

// conversationFile is a file of two conversations of two turns each.
func conversationFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "talk.json")
	text := `[{"id":"=one","messages":[{"role":"user","content":"Hello there."},{"role":"assistant","content":"Hello."},{"role":"user","content":"How are you?"},{"role":"assistant","content":"Well."}]},
{"id":"two","messages":[{"role":"user","content":"What is that?"},{"role":"assistant","content":"A test."},{"role":"user","content":"Why?"},{"role":"assistant","content":"To know."}]}]`
	overwrite(t, path, text)
	return path
}

func TestTheFurtherFilesHoldEveryRequest(t *testing.T) {
	url := engine(t, 200*time.Microsecond)
	dir, _, _ := completed(t, "--url", url, "--requests=4", "--warmup=0", "--output-tokens=6", "--engine=vllm",
		"--scenario=multi_turn", "--prompts", conversationFile(t), "--active-conversations=1", "--save-outputs", "--xlsx", "--csv", "--conversations", "--benchstat")
	book, err := excelize.OpenFile(filepath.Join(dir, rundir.WorkbookFile))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	rows, err := book.GetRows("Raw data")
	if err != nil || len(rows) != 5 || rows[0][0] != "ttft_ms" || !slices.Equal(book.GetSheetList(), []string{"Summary", "Raw data"}) {
		t.Errorf("workbook: tabs %q, rows %q (%v)", book.GetSheetList(), rows, err)
	}
	requests := readCSV(t, filepath.Join(dir, rundir.RequestsCSVFile))
	conversation := slices.Index(requests[0], "conversation_id")
	if len(requests) != 5 || !strings.HasPrefix(requests[1][conversation], "'=one") {
		t.Errorf("%s: %q", rundir.RequestsCSVFile, requests)
	}
	figures := readCSV(t, filepath.Join(dir, rundir.SummaryCSVFile))
	if !slices.ContainsFunc(figures, func(row []string) bool { return slices.Equal(row, []string{"requests.ok", "4"}) }) {
		t.Errorf("%s: %q", rundir.SummaryCSVFile, figures)
	}
	expectConversations(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, rundir.BenchstatFile))
	if err != nil || !strings.Contains(string(text), "\nBenchmarkLoad/scenario=multi_turn 4 ") || !strings.Contains(string(text), "\narm: default\n") {
		t.Errorf("%s: %s (%v)", rundir.BenchstatFile, text, err)
	}
}

func expectConversations(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, rundir.ConversationsFile))
	if err != nil {
		t.Fatal(err)
	}
	var turns int
	for line := range strings.Lines(string(text)) {
		var c report.Conversation
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		for i, turn := range c.Turns {
			turns++
			if turn.Turn != i+1 || turn.Output == nil || *turn.Output == "" || turn.E2E == nil {
				t.Errorf("turn %d of %s: %+v", i, c.Conversation, turn)
			}
		}
	}
	if turns != 4 {
		t.Errorf("%d turns: %s", turns, text)
	}
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestWithoutFlagsThereAreNoFurtherFiles(t *testing.T) {
	url := engine(t, 200*time.Microsecond)
	dir, _, _ := completed(t, "--url", url, "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=vllm")
	for _, name := range []string{rundir.WorkbookFile, rundir.RequestsCSVFile, rundir.SummaryCSVFile, rundir.ConversationsFile, rundir.BenchstatFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was not asked for", name)
		}
	}
}
