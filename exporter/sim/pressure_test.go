package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// pressureOf parses a file of pressure as the kernel prints it.
func pressureOf(t *testing.T, host *Host, name string) (some, full [4]float64) {
	t.Helper()
	snapshot := host.Collect()
	defer snapshot.Close()
	text, err := snapshot.Proc.ReadFile("pressure/" + name)
	must(t, err)
	_, err = fmt.Sscanf(string(text), "some avg10=%f avg60=%f avg300=%f total=%f\nfull avg10=%f avg60=%f avg300=%f total=%f\n",
		&some[0], &some[1], &some[2], &some[3], &full[0], &full[1], &full[2], &full[3])
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return some, full
}

func TestPressureRisesWithTrafficAndItsAveragesFollow(t *testing.T) {
	host := newHost(t, Config{})
	host.Advance(time.Minute)
	before, _ := pressureOf(t, host, "io")
	start(t, host, "engine", container).Demand(Demand{DirectReadBytesPerSecond: gib / 2})
	host.Advance(10 * time.Minute)
	some, full := pressureOf(t, host, "io")
	share := 100 * (some[3] - before[3]) / (600 * 1e6) // per cent of the time
	if share < 20 || share > 60 {
		t.Errorf("%.1f %% of the time somebody waited for the drive", share)
	}
	for i, average := range some[:3] {
		if average < share*0.8 || average > share*1.05 {
			t.Errorf("average %d is %.2f %%, the share %.2f %%", i, average, share)
		}
	}
	if full[3] >= some[3] || full[3] == 0 {
		t.Errorf("full %v of some %v", full, some)
	}
}

func TestAllTimeIsCountedOnceByMode(t *testing.T) {
	host := newHost(t, Config{Seed: 2})
	sum := func() (ticks int64) {
		snapshot := host.Collect()
		defer snapshot.Close()
		text, err := snapshot.Proc.ReadFile("stat")
		must(t, err)
		line, _, _ := strings.Cut(string(text), "\n")
		for field := range strings.FieldsSeq(strings.TrimPrefix(line, "cpu ")) {
			var n int64
			_, err := fmt.Sscan(field, &n)
			must(t, err)
			ticks += n
		}
		return ticks
	}
	p := start(t, host, "engine", container)
	for _, wanted := range []float64{0, 7.5, 50} {
		p.Demand(Demand{CPUs: wanted, DirectReadBytesPerSecond: gib})
		before := sum()
		host.Advance(100 * time.Second)
		if passed := sum() - before; passed < cpus*100*100-10 || passed > cpus*100*100+10 {
			t.Errorf("with %v CPUs wanted, %d ticks of %d CPUs in 100 s", wanted, passed, cpus)
		}
	}
	if some, full := pressureOf(t, host, "cpu"); some[0] == 0 || full[3] != 0 {
		t.Errorf("nobody waits for a CPU: %v, %v", some, full)
	}
}
