package golden

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen"
)

var (
	update   = flag.Bool("update", false, "write the golden outputs of testdata/want")
	into     = flag.String("into", runs, "where -make writes")
	fromDemo = flag.String("from-demo", "", "take the folders of the demo again from this folder, which uma-demo wrote; no test runs")
	again    = flag.String("make", "", "make these folders of testdata/runs again, by name with commas between, or all; no test runs")
)

// root is the folder of the module.
var root = func() string {
	path, err := filepath.Abs("../../..")
	if err != nil {
		panic(err)
	}
	return path
}()

func TestMain(m *testing.M) {
	if address := os.Getenv(asEngine); address != "" {
		panic(serveAt(address))
	}
	if os.Getenv(asLoad) != "" {
		os.Exit(loadgen.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	flag.Parse()
	switch {
	case *fromDemo != "":
		exit(takeDemo(*fromDemo))
	case *again == "":
		os.Exit(m.Run())
	}
	names := strings.Split(*again, ",")
	if *again == "all" {
		names = slices.Sorted(maps.Keys(kinds))
	}
	exit(makeFolders(names, *into, *into != runs))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
