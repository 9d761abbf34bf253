package dashboards

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// spark is a host of a fleet; what is 0 is as usual.
type spark struct {
	name, mode, gpu        string
	celsius, watts, freeGB float64
}

// fleetOf stores hosts, each with two exporters, which count once.
func fleetOf(t *testing.T, hosts ...spark) archive {
	t.Helper()
	or := func(value, usual float64) float64 {
		if value == 0 {
			return usual
		}
		return value
	}
	var series []string
	for _, h := range hosts {
		if h.mode == "" {
			h.mode = metric.ModeLive
		}
		if h.gpu == "" {
			h.gpu = "NVIDIA GB10"
		}
		for _, instance := range []string{"a", "b"} {
			of := fmt.Sprintf("host=%q,instance=%q", h.name, instance)
			series = append(series,
				fmt.Sprintf("uma_exporter_mode{%s,mode=%q} 1x40", of, h.mode),
				fmt.Sprintf("uma_gpu_info{%s,uuid=\"1\",gpu=\"0\",name=%q} 1x40", of, h.gpu),
				fmt.Sprintf("uma_gpu_temperature_celsius{%s,uuid=\"1\"} %gx40", of, or(h.celsius, 60)),
				fmt.Sprintf("uma_gpu_power_watts{%s,uuid=\"1\"} %gx40", of, or(h.watts, 30)),
				fmt.Sprintf("uma_memory_pool_bytes{%s} 100x40", of),
				fmt.Sprintf("uma_memory_available_bytes{%s} 60x40", of),
				fmt.Sprintf("uma_memory_ledger_bytes{%s,line=\"free\"} %gx40", of, or(h.freeGB, 50)))
		}
	}
	return stored(t, map[string]string{"hosts": ".+"}, series...)
}

// sparks are as many hosts as usual, named a, b, c and so on.
func sparks(count int) []spark {
	var all []spark
	for i := range count {
		all = append(all, spark{name: string(rune('a' + i))})
	}
	return all
}

// oddOnes are the hosts with what they are unlike their peers in.
func oddOnes(t *testing.T, a archive) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, s := range a.samples(t, odd(), 8*time.Minute) {
		host := s.Metric.Get(string(metric.LabelHost))
		if found[host] != "" {
			t.Errorf("%s has two lines", host)
		}
		found[host] = s.Metric.Get(string(metric.LabelName))
	}
	return found
}

func TestTheHostThatIsUnlikeItsPeersIsNamedWithTheFigure(t *testing.T) {
	hosts := sparks(7)
	for i := range hosts {
		hosts[i].celsius = 60 + float64(i%2) // between 60 and 61
	}
	hosts[3].celsius = 80
	hosts[5].watts, hosts[5].celsius = 90, 70 // farther off in power
	want := map[string]string{"a": alike, "b": alike, "c": alike, "d": oddTemperature, "e": alike, "f": oddPower, "g": alike}
	if found := oddOnes(t, fleetOf(t, hosts...)); !maps.Equal(found, want) {
		t.Errorf("%v", found)
	}
	hosts[3].celsius = 40
	if found := oddOnes(t, fleetOf(t, hosts...)); found["d"] != oddTemperature {
		t.Errorf("a cold host is unlike its peers in %q", found["d"])
	}
}

// Equal hosts have a MAD of 0, by which any difference would be infinitely far.
func TestADifferenceThatMeansNothingIsNoneAmongEqualHosts(t *testing.T) {
	hosts := sparks(6)
	hosts[0].celsius = 64
	a := fleetOf(t, hosts...)
	if found := oddOnes(t, a); found["a"] != alike {
		t.Errorf("4 degrees are odd: %v", found)
	}
	scores := a.ask(t, peerFigures()[3].score(), 8*time.Minute)
	same(t, "scores", scores, map[string]float64{`{host="a"}`: 4 * 0.6745, `{host="b"}`: 0, `{host="c"}`: 0, `{host="d"}`: 0, `{host="e"}`: 0, `{host="f"}`: 0})
	hosts[0].celsius = 66
	if found := oddOnes(t, fleetOf(t, hosts...)); found["a"] != oddTemperature || found["b"] != alike {
		t.Errorf("6 degrees are not odd: %v", found)
	}
}

func TestFewPeersAreNamedInsteadOfAScore(t *testing.T) {
	hosts := sparks(5)
	hosts[0].celsius = 90
	a := fleetOf(t, hosts...)
	for host, text := range oddOnes(t, a) {
		if text != tooFew {
			t.Errorf("%s: %s", host, text)
		}
	}
	if scores := a.ask(t, peerFigures()[3].score(), 8*time.Minute); len(scores) > 0 {
		t.Errorf("scores %v", scores)
	}
	same(t, "peers", a.ask(t, peers(), 8*time.Minute), map[string]float64{`{host="a"}`: 4, `{host="b"}`: 4, `{host="c"}`: 4, `{host="d"}`: 4, `{host="e"}`: 4})
	if want := fmt.Sprintf("fewer than %d peers", fewestHosts-1); tooFew != want || oddFrom != fmt.Sprintf("%g σ", oddScore) {
		t.Errorf("%q and %q are written, %q meant", tooFew, oddFrom, want)
	}
}

// Neither another GPU nor a simulation is a peer.
func TestPeersHaveTheSameGPUAndTheSameKindOfSource(t *testing.T) {
	hosts := append(sparks(6), spark{name: "h200", gpu: "NVIDIA H200", watts: 600}, spark{name: "sim", mode: metric.ModeSimulated, celsius: 20})
	want := map[string]string{"h200": tooFew, "sim": tooFew}
	for _, h := range sparks(6) {
		want[h.name] = alike
	}
	if found := oddOnes(t, fleetOf(t, hosts...)); !maps.Equal(found, want) {
		t.Errorf("%v", found)
	}
}

func TestAHostThatIsGoneStaysInTheTableAsOneThatDoesNotAnswer(t *testing.T) {
	a := stored(t, map[string]string{"hosts": ".+"},
		`uma_exporter_mode{host="here",mode="live"} 1x40`, `uma_exporter_mode{host="here",mode="simulated"} 0x40`, `uma_exporter_mode{host="gone",mode="live"} 1x4`)
	same(t, "answers", a.ask(t, modesOfHosts().Or(goneHosts()), 8*time.Minute), map[string]float64{`{host="here", mode="live"}`: 1, `{host="gone", mode="live"}`: 0})
}

func TestTheCurveOfAHostThatIsGoneIsDrawnAsItsOwn(t *testing.T) {
	a := stored(t, map[string]string{"hosts": ".+"},
		`uma_gpu_temperature_celsius{host="here",uuid="1"} 60x40`, `uma_gpu_temperature_celsius{host="gone",uuid="1"} 60x4`)
	drawn := map[string]map[string]int{}
	for _, q := range panelOf(t, "fleet.json", "Temperature, by host").Targets {
		drawn[q.LegendFormat] = a.curves(t, q.Expr, 8*time.Minute)
	}
	if here, gone := drawn["{{host}}"], drawn["{{host}}, gone"]; here[`{host="here"}`] != 33 || len(here) != 1 || gone[`{host="gone"}`] == 0 || len(gone) != 1 {
		t.Errorf("%v", drawn)
	}
}

// TestHowOftenChanceMarksAHost counts what the comment on fewestHosts states, over figures that differ by chance alone.
func TestHowOftenChanceMarksAHost(t *testing.T) {
	const draws = 20000
	middle := func(values []float64) float64 {
		values = slices.Sorted(slices.Values(values))
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	for hosts, want := range map[int]float64{fewestHosts: 0.03, 3: 0.10} {
		random, marked := rand.New(rand.NewPCG(1, 2)), 0
		for range draws {
			figures, distances := make([]float64, hosts), make([]float64, hosts)
			for i := range figures {
				figures[i] = random.NormFloat64()
			}
			median := middle(figures)
			for i, f := range figures {
				distances[i] = math.Abs(f - median)
			}
			mad := middle(distances)
			for _, d := range distances {
				if 0.6745*d >= oddScore*mad {
					marked++
				}
			}
		}
		if share := float64(marked) / draws / float64(hosts); math.Abs(share-want) > 0.005 {
			t.Errorf("of %d hosts %.4f are marked, not %.2f", hosts, share, want)
		}
	}
}

func TestACurveOfTheFleetDrawsTheHostsThatAreFarthestFromTheMedian(t *testing.T) {
	hosts := sparks(20)
	for i := range hosts {
		hosts[i].celsius = 50 + float64(i)
	}
	a := fleetOf(t, hosts...)
	drawn := a.ask(t, farthest(temperatureByHost().of), 8*time.Minute)
	if len(drawn) != hostsDrawn || drawn[`{host="a"}`] != 50 || drawn[`{host="t"}`] != 69 || drawn[`{host="j"}`] != 0 {
		t.Errorf("%v", drawn)
	}
}
