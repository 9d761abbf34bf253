package snapshot

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestArchiveAnswersForDrivesAndThePageCache(t *testing.T) {
	a := mustRead(t, small+"-- smart/nvme0 --\n00 4801\n64\n-- cached/models/a b.gguf --\n7365834624\n-- cached/models/other --\n0\n")
	if log, err := a.SMARTLog("nvme0"); err != nil || !bytes.Equal(log, []byte{0x00, 0x48, 0x01, 0x64}) || !a.HasSMART() {
		t.Errorf("%x, %v", log, err)
	}
	if _, err := a.SMARTLog("nvme1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a drive that is not there: %v", err)
	}
	if got, want := a.CachedPaths(), []string{"/models/a b.gguf", "/models/other"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if cached, err := a.CacheResident(t.Context(), "/models/a b.gguf"); cached != 7365834624 || err != nil {
		t.Errorf("%d, %v", cached, err)
	}
	if _, err := a.CacheResident(t.Context(), "/models/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that nobody asked about: %v", err)
	}
}

func TestArchiveWithoutThemSaysSo(t *testing.T) {
	a := mustRead(t, small)
	if a.HasSMART() || len(a.CachedPaths()) > 0 {
		t.Errorf("%v, %q", a.HasSMART(), a.CachedPaths())
	}
	if _, err := a.SMARTLog("nvme0"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestEntriesThatNoDeviceGivesAreRefused(t *testing.T) {
	for entry, why := range map[string]string{
		"-- smart/nvme0 --\nhealthy\n":       "not a health log",
		"-- smart/nvme0 --\n123\n":           "not a health log",
		"-- cached/models --\nall of it\n":   "not a number of bytes",
		"-- cached/models --\n-1\n":          "not a number of bytes",
		"-- cached/models -> /proc/x --\n":   "a link where there are none",
		"-- smart --\n00\n":                  "is in none of",
		"-- cached/../proc/meminfo --\n12\n": "is no path",
	} {
		if _, err := Read([]byte(small + entry)); err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", entry, err)
		}
	}
}
