package runner

import (
	"github.com/umascope/umascope/loadgen/openai"
	"strings"
	"testing"
)

func TestALogIsKeptWithoutSecretsHoweverItIsWritten(t *testing.T) {
	const text = "started\nkey plum-key-1234 of a request\n\nPLUM=plum-key-1234\nlast plum-key-1234"
	want := strings.ReplaceAll(text, "plum-key-1234", "[redacted]")
	for size := 1; size <= len(text); size++ {
		var kept strings.Builder
		log := &redactedLog{to: &kept, secrets: openai.NewRedactor([]string{"plum-key-1234"})}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if got, err := log.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("%d of %d bytes (%v)", got, n, err)
			}
			rest = rest[n:]
		}
		if err := log.Close(); err != nil || kept.String() != want {
			t.Errorf("in pieces of %d bytes: %q (%v)", size, kept.String(), err)
		}
	}
}
