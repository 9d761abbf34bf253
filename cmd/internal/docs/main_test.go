//go:build proof

package docs

import (
	"os"
	"path/filepath"
	"testing"
)

// This program is three: the tests; the first process of a namespace, in which a page is typed; and each of the foreign
// programs that the page starts there, by their names.
const (
	insideOf = "UMASCOPE_DOCS_SESSION" // the file of the session that is to be typed
	worldAt  = "UMASCOPE_DOCS_WORLD"   // the socket of the simulated machine
)

func TestMain(m *testing.M) {
	if file := os.Getenv(insideOf); file != "" {
		os.Exit(typeSession(file))
	}
	if os.Getenv(worldAt) != "" {
		os.Exit(standIn(filepath.Base(os.Args[0]), os.Args[1:]))
	}
	os.Exit(m.Run())
}
