package view

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALineThatRepeatsIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(newOnceLog(slog.NewTextHandler(&text, nil)))
		for range 3 * 60 {
			log.Error("cannot be read", "path", "a")
			log.Error("cannot be read", "path", "b")
			log.With("job", "x").Error("cannot be read", "path", "a")
			time.Sleep(time.Second)
		}
		for part, want := range map[string]int{" path=a\n": 6, " path=b\n": 3, "job=x": 3} {
			if got := strings.Count(text.String(), part); got != want {
				t.Errorf("%q: %d times, want %d", part, got, want)
			}
		}
	})
}
