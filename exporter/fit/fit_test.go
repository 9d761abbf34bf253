package fit

import (
	"math/rand/v2"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

// spark is an idle DGX Spark: pool, free and available of a constructed one, with a reserve of 7.3 GiB, 6 % of the pool.
func spark() spec.GPUMemory {
	return spec.GPUMemory{Total: ofGiB(121.69), Free: ofGiB(107.77), Available: ofGiB(113.07), Reserve: ofGiB(7.30)}
}

func ofGiB(inGiB float64) int64 { return int64(inGiB * gib) }

const gib = 1 << 30

// hundredths of a GiB, rounded.
func hundredths(bytes int64) int64 { return (bytes*100 + gib/2) / gib }

func engineNamed(t *testing.T, all []spec.Grant, name string) spec.Grant {
	t.Helper()
	for _, e := range all {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no engine %s in %v", name, all)
	return spec.Grant{}
}

// TestSharesOfAnIdleSpark: 105.77 GiB are for one engine. vLLM: 105.77 / 121.69 = 0.869 and 113.07 / 121.69 = 0.929. SGLang:
// (105.77 - 13.12) / 113.07 = 0.819 and (113.07 - 0.50) / 113.07 = 0.995.
func TestSharesOfAnIdleSpark(t *testing.T) {
	all := Engines(supported.Engines(), spark(), nil)
	for _, want := range []struct {
		name          string
		typed, atMost int64
	}{{"vLLM", 86, 92}, {"SGLang", 81, 99}, {"TensorRT-LLM", 0, 0}, {"llama.cpp", 0, 0}} {
		if e := engineNamed(t, all, want.name); e.Hundredths != want.typed || e.Limit != want.atMost || e.KV != nil {
			t.Errorf("%s: %d, at most %d, want %d and %d", want.name, e.Hundredths, e.Limit, want.typed, want.atMost)
		}
	}
}

// TestKVCacheOfAModelOnAnIdleSpark has weights of 14.19 GiB, and 0.50 to 13.12 GiB for the runtime.
func TestKVCacheOfAModelOnAnIdleSpark(t *testing.T) {
	weights := ofGiB(14.19)
	all := Engines(supported.Engines(), spark(), &weights)
	for _, want := range []struct {
		name      string
		typed     int64
		low, high int64
	}{
		{"vLLM", 86, 7734, 8996},         // 0.86 x 121.69 = 104.65, less 14.19, less 13.12 or 0.50
		{"SGLang", 81, 7699, 7740},       // 0.81 x 112.57 and 0.81 x 113.07, less 14.19
		{"TensorRT-LLM", 91, 6030, 8952}, // 1 - 7.30 / (113.07 - 14.19 - 13.12) = 0.914; 107.77 - 14.19 - 14.19 - 13.12 = 66.27 and 113.07 - 14.19 - 0.50 = 98.38
		{"llama.cpp", 0, 7846, 9108},     // 105.77, less 14.19, less 13.12 or 0.50
	} {
		e := engineNamed(t, all, want.name)
		if e.Hundredths != want.typed || e.KV == nil || off(hundredths(e.KV.Low), want.low) || off(hundredths(e.KV.High), want.high) {
			t.Errorf("%s: %d and %+v, want %d and %d to %d hundredths of a GiB", want.name, e.Hundredths, e.KV, want.typed, want.low, want.high)
		}
	}
}

// off reports more than a hundredth, which the rounded figures of the comments differ by.
func off(a, b int64) bool { return a > b+1 || a < b-1 }

// TestTheSmallKVCacheOfALoggedStartIsInTheInterval: TensorRT-LLM 1.1.0rc3 on GB10 (119.70 GiB) had loaded weights of 63.32 GiB,
// whose files were in the page cache, and got 5.95 GiB with a share of 0.9. With the cache dropped it would have had some 40.
func TestTheSmallKVCacheOfALoggedStartIsInTheInterval(t *testing.T) {
	weights := ofGiB(63.32)
	idle := spec.GPUMemory{Total: ofGiB(119.70), Free: ofGiB(106), Available: ofGiB(111), Reserve: ofGiB(7.18)}
	kv := engineNamed(t, Engines(supported.Engines(), idle, &weights), "TensorRT-LLM").KV
	if logged := ofGiB(5.95); kv.Low > logged || kv.High < 4*logged {
		t.Errorf("%+v does not hold %d, or no more", kv, logged)
	}
}

// TestPageCacheMattersOnlyToAnEngineThatAsksCUDA moves 50 GiB from free memory to the cache.
func TestPageCacheMattersOnlyToAnEngineThatAsksCUDA(t *testing.T) {
	weights := ofGiB(14.19)
	cached := spark()
	cached.Free -= ofGiB(50)
	before, after := Engines(supported.Engines(), spark(), &weights), Engines(supported.Engines(), cached, &weights)
	for i, e := range Sizing(supported.Engines()) {
		if before[i].KV == nil || after[i].KV == nil {
			t.Errorf("%s: its Grant computes no KV cache for a model", e.Title)
		} else if same := *before[i].KV == *after[i].KV; same == e.Sizing.CUDAFree {
			t.Errorf("%s: %+v, then %+v", before[i].Name, before[i].KV, after[i].KV)
		}
	}
}

// TestRuntimeByTheSizeOfTheGPU has the sums of SGLang's source: 512 + 1.5 x 2048 + 2 x 8 + 128, and so on.
func TestRuntimeByTheSizeOfTheGPU(t *testing.T) {
	for _, want := range []struct {
		total float64
		mib   int64
	}{{16, 3728}, {24, 6880}, {48, 6848}, {80, 13440}, {140, 13440}, {180, 26240}} {
		if got := supported.Engines().Runtime(ofGiB(want.total)); got.High != want.mib<<20 || got.Low != gib/2 {
			t.Errorf("%v GiB: %+v, want up to %d MiB", want.total, got, want.mib)
		}
	}
}

// TestSharesHoldOnAnyMachine states what holds whatever the figures are.
func TestSharesHoldOnAnyMachine(t *testing.T) {
	random := rand.New(rand.NewPCG(26, 3))
	for range 20000 {
		total := random.Int64N(512*gib) + 1
		available := random.Int64N(total + 1)
		m := spec.GPUMemory{Total: total, Available: available, Free: random.Int64N(available + 1), Reserve: random.Int64N(total)}
		weights := random.Int64N(300 * gib)
		now := Engines(supported.Engines(), m, &weights)
		for _, e := range now {
			if e.Hundredths < 0 || e.Hundredths > 100 || e.Hundredths > e.Limit || e.Limit > 100 {
				t.Fatalf("%+v: %s: %d, at most %d", m, e.Name, e.Hundredths, e.Limit)
			}
			if e.KV.Low < 0 || e.KV.Low > e.KV.High || e.KV.High > max(0, available-weights) {
				t.Fatalf("%+v with weights %d: %s gets %+v", m, weights, e.Name, *e.KV)
			}
			if last := e.Steps[len(e.Steps)-1].Bytes; last != *e.KV {
				t.Fatalf("%s: the last step is %+v, the result %+v", e.Name, last, *e.KV)
			}
		}
		if vllm := now[0]; spec.Share(vllm.Hundredths, total) > m.Budget() || spec.Share(vllm.Limit, total) > available {
			t.Fatalf("%+v: vLLM may take %d hundredths, at most %d", m, vllm.Hundredths, vllm.Limit)
		}
		cached := m // more page cache, less free memory
		cached.Free = random.Int64N(m.Free + 1)
		freed := m // cache that was dropped
		freed.Free = available
		for i, e := range now {
			if with := Engines(supported.Engines(), cached, &weights)[i]; with.KV.High < e.KV.High || with.Limit < e.Limit || with.Hundredths != e.Hundredths {
				t.Fatalf("%+v: %s: more page cache lowers the top from %+v to %+v", m, e.Name, *e.KV, *with.KV)
			}
			if without := Engines(supported.Engines(), freed, &weights)[i]; without.KV.Low < e.KV.Low {
				t.Fatalf("%+v: %s: less page cache lowers the KV cache from %+v to %+v", m, e.Name, *e.KV, *without.KV)
			}
		}
	}
}
