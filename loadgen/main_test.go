package loadgen

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

// atOnce is how many parallel tests run at least, unless -parallel says it: they wait for clocks far
// longer than they compute. Under the race detector they compute.
const atOnce = 6

func TestMain(m *testing.M) {
	if address := os.Getenv(engineAt); address != "" {
		panic(serveEngine(address))
	}
	if os.Getenv(asCommand) != "" {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	info, known := debug.ReadBuildInfo()
	race := known && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	if !given && !race {
		if err := flag.Set("test.parallel", fmt.Sprint(max(atOnce, runtime.GOMAXPROCS(0)))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
