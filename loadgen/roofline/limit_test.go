package roofline

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestALimitWorkedOutByHand: 16 layers of 8 KV heads of 128 values at f16 keep 65,536 bytes a token, as llama.cpp's log of that
// model has it; 5.29 GiB of weights.
func TestALimitWorkedOutByHand(t *testing.T) {
	shape := Shape{Layers: 16, KVHeads: 8, HeadSize: 128}
	if got := shape.KVBytesPerToken(2); got != 65536 {
		t.Errorf("%g bytes a token", got)
	}
	if got := shape.KVBytesPerToken(34. / 32); got != 34816 {
		t.Errorf("%g bytes a token at q8_0", got)
	}
	m := Model{WeightsBytes: 5.68e9, KVBytesPerToken: 65536}
	limit, err := Decode(m, Load{Concurrency: 1, Context: 0}, 273e9)
	if err != nil || math.Abs(limit.TokensPerSecond.Low-48.06) > 0.01 || !limit.TokensPerSecond.Exact() || limit.KVShare != 0 {
		t.Errorf("%+v, %v", limit, err)
	}
	// Eight sequences of 10,000 tokens read 5.24 GB of cache beside the weights: 8 tokens a step of 10.92 GB.
	limit, err = Decode(m, Load{Concurrency: 8, Context: 10_000}, 273e9)
	if err != nil || math.Abs(limit.TokensPerSecond.Low-199.94) > 0.02 || math.Abs(limit.BytesPerToken.Low-1.3654e9) > 1e5 || math.Abs(limit.KVShare-0.48) > 0.001 {
		t.Errorf("%+v, %v", limit, err)
	}
	if got := limit.Share(156).String(); got != "78 %" {
		t.Error(got)
	}
}

func TestWhatIsNotKnownGivesARangeOrNothing(t *testing.T) {
	load := Load{Concurrency: 4, Context: 1000}
	dense := Model{WeightsBytes: 10e9, KVBytesPerToken: 100e3}
	experts := Model{WeightsBytes: 2e9, ExpertBytes: 32e9, Experts: 32, ExpertsUsed: 4, KVBytesPerToken: 100e3}
	windowed, drafted := dense, dense
	windowed.Windowed, drafted.Drafted = true, 3
	for name, test := range map[string]struct {
		model     Model
		low, high float64 // tokens a second at 100 GB/s
	}{
		// 2 GB + 0.4 GB of cache, and experts of 1 GB: 4 if all tokens use the same, 16 if each uses its own.
		"experts":  {experts, 4 * 100e9 / 18.4e9, 4 * 100e9 / 6.4e9},
		"windowed": {windowed, 4 * 100e9 / 10.4e9, 4 * 100e9 / 10e9},
		"drafted":  {drafted, 4 * 100e9 / 10.4e9, 16 * 100e9 / 10.4e9},
	} {
		limit, err := Decode(test.model, load, 100e9)
		if got := limit.TokensPerSecond; err != nil || math.Abs(got.Low-test.low) > 1e-9 || math.Abs(got.High-test.high) > 1e-9 || got.Exact() {
			t.Errorf("%s: %+v, %v; want %g to %g", name, got, err, test.low, test.high)
		}
	}
	for want, test := range map[string]struct {
		model     Model
		load      Load
		bandwidth float64
	}{
		"the bandwidth":         {dense, load, 0},
		"which share":           {Shape{Experts: 8, ExpertsUsed: 2}.Model(50e9, 100e3), load, 100e9},
		"the size of":           {Model{KVBytesPerToken: 1}, load, 100e9},
		"the bytes of a token":  {Model{WeightsBytes: 1e9}, load, 100e9},
		"no sequence decodes":   {dense, Load{Context: 1}, 100e9},
		"the number of experts": {Model{WeightsBytes: 1, ExpertBytes: 1, KVBytesPerToken: 1}, load, 100e9},
	} {
		if limit, err := Decode(test.model, test.load, test.bandwidth); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, limit, err)
		}
	}
}
