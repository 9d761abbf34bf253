package report

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/summary/testrun"
)

func TestTheLevelsOfAHeatMapPartAllCounts(t *testing.T) {
	for _, most := range []uint32{1, 2, 3, 7, 100, 123_456} {
		next := uint32(1)
		for dark := 1; dark <= heatLevels; dark++ {
			least, largest := levelRange(dark, most)
			if least > largest {
				continue // of few counts
			}
			if least != next {
				t.Errorf("of at most %d, level %d begins at %d, want %d", most, dark, least, next)
			}
			for _, n := range []uint32{least, largest} {
				if got := level(n, most); got != dark {
					t.Errorf("of at most %d, %d has level %d, its legend says %d", most, n, got, dark)
				}
			}
			next = largest + 1
		}
		if next != most+1 || level(0, most) != 0 {
			t.Errorf("of at most %d, levels end at %d", most, next-1)
		}
	}
}

func TestThePageShowsLatenciesOverTimeOfAllRequests(t *testing.T) {
	page := example(t, time.Minute)
	text := rendered(t, page)
	for _, title := range []string{"Time to first token over time", "Request duration over time", "Gaps between chunks over time"} {
		_, figure, found := strings.Cut(text, "<h3>"+title)
		figure, _, _ = strings.Cut(figure, "</figure>")
		if !found || !strings.Contains(figure, `class="heat5"`) || !strings.Contains(figure, ">measure<") {
			t.Errorf("%s is missing, or has no darkest place or no phase", title)
		}
	}
	counted := regexp.MustCompile(`n = (\d+) gaps of all phases`).FindStringSubmatch(text)
	want := 0
	for _, r := range testrun.Loaded(time.Minute) {
		if r.Error == "" {
			want += len(r.ArrivalsNS) - 1
		}
	}
	if len(counted) == 0 || counted[1] != strconv.Itoa(want-page.Summary.Latency.ChunkGap.SameRead) {
		t.Errorf("%v gaps of %d (%s)", counted, want, page.Title)
	}
	few := rendered(t, pageOf(t, testrun.New(testrun.Steady(3)...)))
	if strings.Contains(few, "class=\"heat") {
		t.Error("a picture is made of three requests")
	}
}
