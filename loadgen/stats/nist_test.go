package stats

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// strd is one of the univariate Statistical Reference Datasets of NIST, with what is certified of it.
type strd struct {
	name           string
	values         []float64
	mean, sd, lag1 float64
}

// readSTRD reads a file of three certified values and then the data, one value a line.
func readSTRD(t *testing.T, path string) strd {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := strd{name: filepath.Base(path)}
	certified := map[string]*float64{"mean": &d.mean, "sd": &d.sd, "lag1": &d.lag1}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, text, named := strings.Cut(lines.Text(), " ")
		if !named {
			text = name
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if named {
			*certified[name] = v
		} else {
			d.values = append(d.values, v)
		}
	}
	return d
}

// alternating is how NIST makes its data sets for numerical accuracy: a value, then 1,000 in turn a little
// below and above it.
func alternating(name string, first, below, above float64) strd {
	d := strd{name: name, values: []float64{first}, mean: first, sd: .1, lag1: -.999}
	for range 500 {
		d.values = append(d.values, below, above)
	}
	return d
}

// Certified values have 15 digits. What is lost is what the decimal data lose as float64: of NumAcc4,
// 10,000,000.1 is off by 4e-10 beside a spread of 0.1.
func TestMomentsHaveTheDigitsThatNISTCertifies(t *testing.T) {
	sets := []struct {
		strd
		sdShare float64
	}{
		{readSTRD(t, "testdata/nist/lew.txt"), 1e-14},
		{readSTRD(t, "testdata/nist/mavro.txt"), 1e-12},
		{readSTRD(t, "testdata/nist/michelson.txt"), 1e-13},
		{strd{"numacc1", []float64{10000001, 10000003, 10000002}, 10000002, 1, -.5}, 1e-15},
		{alternating("numacc2", 1.2, 1.1, 1.3), 1e-13},
		{alternating("numacc3", 1000000.2, 1000000.1, 1000000.3), 2e-9},
		{alternating("numacc4", 10000000.2, 10000000.1, 10000000.3), 2e-8},
	}
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			m := must[Moments](t)(MomentsOf(s.values))
			nearly(t, "mean", m.Mean, s.mean, 1e-15)
			nearly(t, "sd", m.SD, s.sd, s.sdShare)
			nearly(t, "lag-1", must[float64](t)(Lag1(s.values)), s.lag1, math.Max(s.sdShare, 1e-13))
		})
	}
}

func TestEffectiveN(t *testing.T) {
	for _, c := range []struct{ rho, want float64 }{
		{0, 10}, {.5, 10. / 3}, {.9, 1}, {1, 1}, {-.5, 10}, {-1, 10}, {math.NaN(), 10},
	} {
		near(t, "effective n", EffectiveN(10, c.rho), c.want, 13)
	}
}
