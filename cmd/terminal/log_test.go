package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

func TestLogFlagsSetLevelAndFormat(t *testing.T) {
	for args, want := range map[string]string{
		"":                                       "level=WARN msg=b\n",
		"--log.level=info":                       "level=INFO msg=a\nlevel=WARN msg=b\n",
		"--log.level=error":                      "",
		"--log.level=warn --log.format=json":     `"level":"WARN","msg":"b"}` + "\n",
		"--log.level=error --log.format=logfmt ": "",
	} {
		var l Log
		app := kingpin.New("uma-tool", "Does things.").Terminate(func(int) {})
		l.Flags(app, "warn")
		if _, err := app.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		log := l.Logger(&out)
		log.Info("a")
		log.Warn("b")
		var got strings.Builder
		for line := range strings.Lines(out.String()) {
			at := max(strings.Index(line, "level="), strings.Index(line, `"level":`)) // after the time
			got.WriteString(line[at:])
		}
		if got.String() != want {
			t.Errorf("%s: got %q, want %q", args, got.String(), want)
		}
	}
}
