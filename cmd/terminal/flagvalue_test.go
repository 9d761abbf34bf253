package terminal

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadersTakeWhatTheySayAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		read         func(string) error
		texts, taken []string
	}{
		"at least":  {of(AtLeast(2)), []string{"1", "2", "2147483648", "x", "", "2.0"}, []string{"2"}},
		"at most":   {of(AtMost(3)), []string{"0", "1", "3", "4"}, []string{"1", "3"}},
		"between":   {of(Between(0, 3)), []string{"-1", "0", "3", "4"}, []string{"0", "3"}},
		"word":      {of(OneOf("a", "b")), []string{"a", "b", "A", ""}, []string{"a", "b"}},
		"duration":  {of(Duration), []string{"0s", "1m30s", "-1s", "5"}, []string{"0s", "1m30s"}},
		"some time": {of(PositiveDuration), []string{"0s", "1ns"}, []string{"1ns"}},
		"a stretch": {of(DurationWithin(time.Second, time.Minute)), []string{"999ms", "1s", "1m", "61s"}, []string{"1s", "1m"}},
		"number":    {of(NumberWithin(0, 2)), []string{"-0.1", "0", "2", "2.1", "NaN", "Inf"}, []string{"0", "2"}},
		"share":     {of(Share), []string{"0", "0.5", "1", "1.1"}, []string{"0.5", "1"}},
		"positive":  {of(Positive), []string{"0", "1e-9", "Inf", "NaN"}, []string{"1e-9"}},
		"object":    {of(JSONObject), []string{"{}", "[]", "null", "{"}, []string{"{}"}},
		"address":   {of(Address), []string{"http://a:1/x", "ftp://a", "http://u:p@a/", "a"}, []string{"http://a:1/x"}},
	} {
		var taken []string
		for _, text := range c.texts {
			if c.read(text) == nil {
				taken = append(taken, text)
			}
		}
		if !slices.Equal(taken, c.taken) {
			t.Errorf("%s: of %q it took %q", name, c.texts, taken)
		}
	}
}

// of keeps of a reader whether it takes a text.
func of[T any](read func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := read(text)
		return err
	}
}

func TestAnAddressThatIsRefusedIsNotRepeated(t *testing.T) {
	for _, text := range []string{"http://user:secret@host/", "http://secret host/\x7f"} {
		if _, err := Address(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
