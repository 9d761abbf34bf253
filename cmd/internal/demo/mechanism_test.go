package demo

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// course starts engines on one machine, a letter each, n for native and c for container, has each of them serve, and
// returns the accounts of the starts. No time passes but on a virtual clock.
func course(t *testing.T, seed uint64, order string, drops bool) (accounts []account) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const nowhere = "http://127.0.0.1:1/metrics" // nobody looks at the exporter's page
		s, err := openStage(stageSettings{seed: seed, weights: weightBytes, factor: timeFactor, enginePage: nowhere, kvbmPage: nowhere})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if err := s.lively(ctx, seed); err != nil {
			t.Fatal(err)
		}
		for i, letter := range order {
			a := map[rune]arm{'n': nativeArm(), 'c': containerArm()}[letter]
			a.dropsCaches = drops
			if err := s.begin(ctx, a, engineOptions{seed: seed + uint64(i)}); err != nil {
				t.Fatal(err)
			}
			s.awaitEngine(t)
			for question := range 8 {
				s.ask(t, fmt.Sprintf("start %d question %d ", i, question), 600)
			}
			time.Sleep(2 * time.Second)
		}
		accounts = s.accounts()
	})
	return accounts
}

// awaitEngine waits until the engine serves.
func (s *stage) awaitEngine(t *testing.T) {
	t.Helper()
	for range 3000 {
		w := httptest.NewRecorder()
		s.engineHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", nil))
		if w.Code == http.StatusOK {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the engine does not serve")
}

// ask sends a prompt of about so many tokens that begins in its own way.
func (s *stage) ask(t *testing.T, begins string, tokens int) {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"max_tokens":4,"prompt":%q}`, modelName, begins+strings.Repeat("word ", tokens))
	w := httptest.NewRecorder()
	s.engineHandler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/completions", bytes.NewReader([]byte(body))))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
}

// inGiB is a figure as people read it.
func inGiB(bytes int64) float64 { return float64(bytes) / gib }

// near says whether a figure is another one, in GiB.
func near(bytes int64, gibibytes, tolerance float64) bool {
	return math.Abs(inGiB(bytes)-gibibytes) <= tolerance
}

// meanOfArm is that of the memory occupied without KV cache over all starts of an arm.
func meanOfArm(of []account, arm string) float64 {
	sum, n := 0.0, 0.0
	for _, a := range of {
		if a.arm == arm {
			sum, n = sum+inGiB(a.occupiedWithoutKVBytes), n+1
		}
	}
	return sum / n
}

// TestInBlocksTheFiguresAreNearThePublishedOnes: 70.47 GiB occupied without KV cache and 44.31 of it in native runs, 101.30
// and 16.57 in those of the container, whose first run after native ones was the highest in all three published blocks.
// The pool here is 2 GiB larger than the published one, so both cannot be met; what the desktop holds differs by 1 GiB from
// its mean. A KV cache may be off by the share that it takes of both.
func TestInBlocksTheFiguresAreNearThePublishedOnes(t *testing.T) {
	for _, seed := range mechanismSeeds {
		blocks := course(t, seed, "nnnncccc", false)
		native, container := blocks[3], blocks[4]
		if !near(native.occupiedWithoutKVBytes, 70.47, 2.5) || !near(native.kvBytes, 44.31, kvShare*3) {
			t.Errorf("seed %d: native %.2f GiB occupied without KV cache, %.2f of it", seed, inGiB(native.occupiedWithoutKVBytes), inGiB(native.kvBytes))
		}
		if !near(container.occupiedWithoutKVBytes, 101.30, 2.5) || !near(container.kvBytes, 16.57, 3) {
			t.Errorf("seed %d: first of the container %.2f GiB occupied without KV cache, %.2f of it", seed, inGiB(container.occupiedWithoutKVBytes), inGiB(container.kvBytes))
		}
		// What an arm has left decays from run to run of the other: what is missing of the native weights is what is free.
		for i := 5; i < 8; i++ {
			before, now := blocks[i-1], blocks[i]
			fell := before.occupiedWithoutKVBytes - now.occupiedWithoutKVBytes
			gone := before.cachedBytes[weightsFile] - now.cachedBytes[weightsFile]
			if gone < 2*gib || !near(fell, inGiB(gone), 2.5) {
				t.Errorf("seed %d, run %d of the container: %.2f GiB less, of the native weights in the page cache %.2f less", seed, i-3, inGiB(fell), inGiB(gone))
			}
		}
	}
}

// TestWhenArmsAlternateEachFindsWhatTheOtherHasRead: the same arms, the same machine, another order.
func TestWhenArmsAlternateEachFindsWhatTheOtherHasRead(t *testing.T) {
	for _, seed := range mechanismSeeds {
		blocks, abba := course(t, seed, "nnnncccc", false), course(t, seed, "nccnnccn", false)
		for i, a := range abba[1:] {
			others := a.cachedBytes[weightsFile]
			if a.arm == metric.ArmNative {
				others = a.cachedBytes[containerWeightsFile] + a.cachedBytes[imageFile]
			}
			if others < 10*gib {
				t.Errorf("seed %d, start %d, %s: %.1f GiB of what the other arm has read are in the page cache", seed, i+1, a.arm, inGiB(others))
			}
		}
		inBlocks := meanOfArm(blocks, metric.ArmContainer) - meanOfArm(blocks, metric.ArmNative)
		alternating := meanOfArm(abba, metric.ArmContainer) - meanOfArm(abba, metric.ArmNative)
		if inBlocks < 17 || alternating > inBlocks/2 {
			t.Errorf("seed %d: the container has %.1f GiB more in blocks, %.1f where arms alternate", seed, inBlocks, alternating)
		}
	}
}

// TestWithAnEmptyCacheOnlyWhatAnArmReadsAndSharesIsLeft: layers and shared memory, in any order.
func TestWithAnEmptyCacheOnlyWhatAnArmReadsAndSharesIsLeft(t *testing.T) {
	want := inGiB(imageBytes + containerArm().shmemBytes)
	for _, seed := range mechanismSeeds {
		all := course(t, seed, "nccnnccn", true)
		native, container := meanOfArm(all, metric.ArmNative), meanOfArm(all, metric.ArmContainer)
		if more := container - native; math.Abs(more-want) > 1.5 {
			t.Errorf("seed %d: the container has %.2f GiB more, want about %.0f", seed, more, want)
		}
		for i, a := range all {
			own, other := weightsFile, containerWeightsFile
			if a.arm == metric.ArmContainer {
				own, other = other, own
			}
			if a.cachedBytes[own] != weightBytes || a.cachedBytes[other] != 0 {
				t.Errorf("seed %d, start %d, %s: %.1f GiB of its own weights and %.1f of the other arm's in the page cache", seed, i, a.arm, inGiB(a.cachedBytes[own]), inGiB(a.cachedBytes[other]))
			}
			if a.deviceBytes != weightBytes+overheadBytes || a.pinnedBytes != hostTier {
				t.Errorf("seed %d, start %d: %.1f GiB of the GPU and %.1f pinned", seed, i, inGiB(a.deviceBytes), inGiB(a.pinnedBytes))
			}
		}
	}
}
