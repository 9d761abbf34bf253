package runner

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// TestAPageThatIsNotForEverybodyNamesTheFlagThatReadsIt: that a certificate is unknown does not say what to type.
func TestAPageThatIsNotForEverybodyNamesTheFlagThatReadsIt(t *testing.T) {
	closed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	guarded, plain := httptest.NewTLSServer(closed), httptest.NewServer(closed)
	defer guarded.Close()
	defer plain.Close()
	for url, named := range map[string]bool{guarded.URL: true, plain.URL: false} {
		settings := CaptureSettings{Telemetry: []telemetry.Source{{Name: "spark", URL: url}}}
		_, err := settings.exporters(t.Context(), "", slog.New(slog.DiscardHandler))
		if err == nil || strings.Contains(err.Error(), "--telemetry-config") != named {
			t.Errorf("%s: %v", url, err)
		}
	}
}
