package demo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// iterations is how many runs each arm has in a campaign: two whole blocks of ABBA.
const iterations = 4

// inOrder are the arms of a campaign in the order of a plan.
func inOrder(order string, dropsCaches bool) []arm {
	var all []arm
	for i := range 2 * iterations {
		second := i >= iterations
		if order == compare.OrderABBA {
			second = i%4 == 1 || i%4 == 2
		}
		a := nativeArm()
		if second {
			a = containerArm()
		}
		a.dropsCaches = dropsCaches
		all = append(all, a)
	}
	return all
}

// grownLoad is as much as an engine has to be asked until it has taken all the memory that it takes, and no more.
func grownLoad() []string {
	return []string{"--requests", "2", "--concurrency", "2", "--input-tokens", fmt.Sprint(grownTokens/2 + 64), "--output-tokens", "2"}
}

// campaign makes the runs of an order, and returns the accounts of them. Those of a round of ABBA are a pair, as in the
// campaigns of uma-load.
func (s *specimen) campaign(ctx context.Context, order string, arms []arm) ([]account, error) {
	var accounts []account
	for i, a := range arms {
		labels := []string{"campaign=truth"}
		if order == compare.OrderABBA {
			labels = append(labels, fmt.Sprintf("pair=%d", i/2))
		}
		of, _, err := s.measured(ctx, a, labels, grownLoad()...)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, of)
	}
	return accounts, nil
}

// finding is what a campaign has shown, and what was so.
type finding struct {
	comparison compare.Comparison
	memory, kv compare.Metrics
	// trueMemory, trueKV and trueCache are the differences of the accounts, in the mean.
	trueMemory, trueKV, trueCache float64
}

// accountsDiffer is the mean of something over the starts of the container less that over the native ones.
func accountsDiffer(all []account, of func(account) int64) float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for _, a := range all {
		sum[a.arm] += float64(of(a))
		n[a.arm]++
	}
	return sum[metric.ArmContainer]/n[metric.ArmContainer] - sum[metric.ArmNative]/n[metric.ArmNative]
}

func (s *specimen) finding(ctx context.Context, all []account) (finding, error) {
	var out finding
	var err error
	if out.comparison, err = s.compared(ctx, "arm", metric.ArmNative); err != nil {
		return out, err
	}
	if out.memory, err = row(out.comparison, figure.MemoryOccupiedWithoutKV); err != nil {
		return out, err
	}
	if out.kv, err = row(out.comparison, figure.KVCapacity); err != nil {
		return out, err
	}
	out.trueMemory = accountsDiffer(all, func(a account) int64 { return a.occupiedWithoutKVBytes })
	out.trueKV = accountsDiffer(all, func(a account) int64 { return a.kvBytes })
	out.trueCache = accountsDiffer(all, func(a account) int64 {
		var bytes int64
		for _, cached := range a.cachedBytes {
			bytes += cached
		}
		return bytes
	})
	return out, nil
}

// campaigns are those of all seeds.
func campaigns(t *testing.T, seeds []uint64, order string, dropsCaches bool) []finding {
	t.Helper()
	var mutex sync.Mutex
	var made []finding
	eachSeed(t, seeds, func(ctx context.Context, s *specimen) error {
		accounts, err := s.campaign(ctx, order, inOrder(order, dropsCaches))
		if err != nil {
			return err
		}
		out, err := s.finding(ctx, accounts)
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		made = append(made, out)
		return nil
	})
	return made
}

// count is how many campaigns something is so of.
func count(made []finding, so func(finding) bool) int {
	n := 0
	for _, one := range made {
		if so(one) {
			n++
		}
	}
	return n
}

func holds(i *compare.Interval, value float64) bool {
	return i != nil && i[0] <= value && value <= i[1]
}

func average(made []finding, of func(finding) float64) float64 {
	var sum float64
	for _, one := range made {
		sum += of(one)
	}
	return sum / float64(len(made))
}

func within(value, want, tolerance float64) bool { return math.Abs(value-want) <= tolerance }

// plain is a finding that is said without reserve.
func plain(m compare.Metrics) bool {
	return (m.Verdict == compare.Better || m.Verdict == compare.Worse || m.Verdict == compare.Different) && !m.Confounded
}

// standardError is that of the difference of one campaign of runs that begin alike.
const standardError = 0.6 * gib

// runsBeginAlike: caches are dropped before every start and the arms take turns. What the container takes more than the
// native arm is what it reads more, the layers of its image, and its shared memory. The rest of a difference is what the
// people at the machine have done meanwhile, which differs from run to run: runs spread by about 1 GiB.
//
// Four pairs: the standard error is about 0.6 GiB, the difference 18 of them. It is found in every campaign. An interval
// of 95 % holds the true difference, which is the mean over all campaigns of what the accounts differ by, in 95 of 100.
// The KV cache is finding to the byte.
func runsBeginAlike(t *testing.T, seeds []uint64) {
	made := campaigns(t, seeds, compare.OrderABBA, true)
	own := float64(imageBytes + containerArm().shmemBytes)
	truth := average(made, func(c finding) float64 { return c.trueMemory })
	few := 4 * standardError / math.Sqrt(float64(len(made)))
	if !within(truth, own, max(gib, few)) {
		t.Errorf("the accounts differ by %.2f GiB in the mean, want the layers and the shared memory, %.2f GiB", truth/gib, own/gib)
	}
	n := len(made)
	often(t, "the true difference of memory in its interval", count(made, func(c finding) bool { return holds(c.memory.CI95, truth) }), n, 0.95)
	often(t, "more memory, without reserve", count(made, func(c finding) bool { return c.memory.Verdict == compare.Worse && !c.memory.Confounded }), n, 0.95)
	always(t, "the true difference of the KV cache in its interval", count(made, func(c finding) bool { return holds(c.kv.CI95, c.trueKV) }), n)
	never(t, "less memory, or a larger KV cache", count(made, func(c finding) bool { return c.memory.Verdict == compare.Better || c.kv.Verdict == compare.Better }), n)

	always(t, "the page cache is what has grown most", count(made, func(c finding) bool { return mostGrown(c.ledger()) == ledger.PageCache }), n)
	often(t, "by as much as the accounts say", count(made, func(c finding) bool { return within(c.ledger()[ledger.PageCache], c.trueCache, 2*gib) }), n, 0.95)
	always(t, "shared memory by what the container has", count(made, sharedMemoryIsRight), n)
	always(t, "the GPU is not blamed: it holds less by the KV cache that is missing", count(made, func(c finding) bool {
		held := c.ledger()[ledger.GPUProcess]
		return held < 0 && within(held, c.trueKV, gib)
	}), n)
}

// ledger is the difference line by line when the engines were ready.
func (c finding) ledger() map[string]float64 {
	return c.comparison.Strata[0].Pairs[0].LedgerDifference.Ready
}

// mostGrown is the line of the largest rise.
func mostGrown(lines map[string]float64) string {
	most := ""
	for name, bytes := range lines {
		if most == "" || bytes > lines[most] {
			most = name
		}
	}
	return most
}

func sharedMemoryIsRight(c finding) bool {
	return within(c.ledger()[ledger.Shmem], float64(containerArm().shmemBytes), 0.1*gib)
}

// blocksWithCaches is how the published runs were made: native first, then the container, and nobody drops caches. The
// container finds what the native arm has left in the page cache, which fades from run to run as it takes what it
// needs. Much more is found than what the arm takes itself, and the verdict has to be that time may have done it.
func blocksWithCaches(t *testing.T, seeds []uint64) {
	made := campaigns(t, seeds, compare.OrderBlocked, false)
	own := float64(imageBytes + containerArm().shmemBytes)
	n := len(made)
	often(t, "a difference of memory that time may have made", count(made, func(c finding) bool { return c.memory.Verdict == compare.Confounded }), n, 0.95)
	never(t, "a finding without reserve, of any figure", count(made, func(c finding) bool { return anyPlain(c.comparison) }), n)
	if found := average(made, func(c finding) float64 { return *c.memory.Difference }); found < 1.3*own {
		t.Errorf("%.2f GiB are found in the mean, where nothing but the %.2f GiB of the container itself would be no carry-over", found/gib, own/gib)
	}
	always(t, "a warning of blocks", count(made, func(c finding) bool { return warned(c.comparison, compare.CodeBlockedOrder) }), n)
	always(t, "the true difference of the KV cache in its interval", count(made, func(c finding) bool { return holds(c.kv.CI95, c.trueKV) }), n)
	always(t, "the page cache is what has grown most", count(made, func(c finding) bool { return mostGrown(c.ledger()) == ledger.PageCache }), n)
	// Between the account and the moment that the ledger is of, the first texts are read: of what the engine takes then,
	// some comes out of the page cache.
	often(t, "by as much as the accounts say, but for what the engine has taken since", count(made, func(c finding) bool {
		return within(c.ledger()[ledger.PageCache], c.trueCache-gib, 3*gib)
	}), n, 0.95)
	always(t, "shared memory by what the container has", count(made, sharedMemoryIsRight), n)
}

// turnsWithCaches: only the order is another one. Either arm finds what the other has left, and what they differ by
// themselves lies far within the spread. A finding would be one of chance, as there are in 5 of 100.
func turnsWithCaches(t *testing.T, seeds []uint64) {
	made := campaigns(t, seeds, compare.OrderABBA, false)
	n := len(made)
	always(t, "the difference of the accounts in the interval", count(made, func(c finding) bool { return holds(c.memory.CI95, c.trueMemory) && holds(c.kv.CI95, c.trueKV) }), n)
	seldom(t, "more or less memory, without reserve", count(made, func(c finding) bool { return plain(c.memory) }), n, 0.05)
	seldom(t, "a larger or smaller KV cache, without reserve", count(made, func(c finding) bool { return plain(c.kv) }), n, 0.05)
	never(t, "a warning of blocks", count(made, func(c finding) bool { return warned(c.comparison, compare.CodeBlockedOrder) }), n)
	always(t, "shared memory by what the container has", count(made, sharedMemoryIsRight), n)
}

// anyPlain says whether any figure of a comparison is found to differ, without reserve.
func anyPlain(c compare.Comparison) bool {
	return slices.ContainsFunc(c.Strata[0].Pairs[0].Metrics, plain)
}

// warned says whether a comparison has a warning.
func warned(c compare.Comparison, code string) bool {
	is := func(w compare.Warning) bool { return w.Code == code }
	return slices.ContainsFunc(c.Warnings, is) || slices.ContainsFunc(c.Strata[0].Warnings, is) || slices.ContainsFunc(c.Strata[0].Pairs[0].Warnings, is)
}
