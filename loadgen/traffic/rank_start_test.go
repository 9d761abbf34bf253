package traffic

import (
	"strings"
	"testing"
	"time"
)

func TestAStartIsRFC3339OrUnixSecondsToTheNanosecond(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-11-21T15:04:05Z":                time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC),
		"2026-11-21T16:04:05.25+01:00":        time.Date(2026, 11, 21, 15, 4, 5, 250e6, time.UTC),
		"1795273445":                          time.Unix(1795273445, 0),
		"1795273445.5":                        time.Unix(1795273445, 500e6),
		"1795273445.000000001":                time.Unix(1795273445, 1),
		"2026-11-21T15:04:05.123456789-07:30": time.Date(2026, 11, 21, 22, 34, 5, 123456789, time.UTC),
	} {
		got, err := ParseStart(text)
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestWhatIsNoMomentIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "now", "15:04", "2026-11-21", "2026-11-21T15:04:05", "1795273445000", "-5", "+5", "1e9", "1795273445.", ".5",
		"1795273445.1234567890", "1795273445.5.5", "0x10", " 1795273445", "١٧٩٥٢٧٣٤٤٥",
	} {
		if got, err := ParseStart(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestAStartMustBeAheadAndNotFar(t *testing.T) {
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ahead time.Duration
		says  string
	}{
		{time.Nanosecond, ""}, {MaxAhead, ""},
		{0, "is over"}, {-3 * time.Minute, "is over since 3m0s"}, {MaxAhead + 1, "ahead"}, {1 << 62, "ahead"},
	} {
		err := CheckStart(now.Add(c.ahead), now)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s ahead: %v, want %q", c.ahead, err, c.says)
		}
	}
}

func FuzzParseStartReadsBackWhatItSays(f *testing.F) {
	for _, seed := range []string{"2026-11-21T15:04:05Z", "2026-11-21T16:04:05.5+01:00", "1795273445", "1795273445.000000001", "0", "9999999999.999999999", "1e9", "-1", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := ParseStart(text)
		if err != nil {
			return
		}
		if at.Location() != time.UTC {
			t.Fatalf("%q is in %s", text, at.Location())
		}
		// Years beyond 9999, which the zone of a last second can reach, have no RFC 3339.
		if year := at.Year(); year < 0 || year > 9999 {
			return
		}
		if again, err := ParseStart(at.Format(time.RFC3339Nano)); err != nil || !again.Equal(at) {
			t.Fatalf("%q is %v, which reads back as %v, %v", text, at, again, err)
		}
	})
}
