package exporter

import (
	"bytes"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// kB is the unit of /proc/meminfo.
const kB = 1024

// handWorked are the ledgers of all hosts in bytes, worked out from the raw text of their archives.
// Sums are written as they were made. Managed is, over the top-level cgroups,
// kernel - (slab + kernel_stack + pagetables + sec_pagetables + percpu + vmalloc).
func handWorked() map[string]map[string]int64 {
	hosts := map[string]map[string]int64{
		"gb10-idle": {
			metric.LineFree: 113001500 * kB, metric.LineAnon: 6568100 * kB, metric.LinePageCache: (312844 + 5653480 - 152832) * kB,
			metric.LineShmem: 152832 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 412772 * kB, metric.LineSlabUnreclaimable: 391244 * kB,
			metric.LineKernelStack: 18640 * kB, metric.LinePageTables: (31928 + 2048) * kB, metric.LinePercpu: 14720 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 45088768, // process 3150
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB -
				45088768 - 2621440,
		},
		"gb10-load": {
			metric.LineFree: 7065704 * kB, metric.LineAnon: 11551232 * kB, metric.LinePageCache: (412560 + 7206900 - 1203200) * kB,
			metric.LineShmem: 1203200 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 611840 * kB, metric.LineSlabUnreclaimable: 562176 * kB,
			metric.LineKernelStack: 24704 * kB, metric.LinePageTables: (78848 + 18432) * kB, metric.LinePercpu: 16384 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 100739842048 + 228589568, // processes 6330 and 3150, which is in two lists
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				832045056 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-7065704-11551232-6416260-1203200-0-611840-562176-24704-97280-16384-0)*kB -
				100968431616 - 213909504,
		},
		// The host tier of 8388608 kB, pinned, is in Shmem; the model's weights are in Cached.
		"kvbm-disk": {
			metric.LineFree: 50139744 * kB, metric.LineAnon: 11551232 * kB, metric.LinePageCache: (412560 + 31279612 - 9591808) * kB,
			metric.LineShmem: 9591808 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 611840 * kB, metric.LineSlabUnreclaimable: 562176 * kB,
			metric.LineKernelStack: 24704 * kB, metric.LinePageTables: (78848 + 18432) * kB, metric.LinePercpu: 16384 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 32212254720 + 228589568, // processes 6330 and 3150, which is in two lists
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				693633024 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-50139744-11551232-22100364-9591808-0-611840-562176-24704-97280-16384-0)*kB -
				32440844288 - 75497472,
		},
		// The memory of gb10-load, of which four engines hold what vLLM holds there.
		"engines": {
			metric.LineFree: 7065704 * kB, metric.LineAnon: 11551232 * kB, metric.LinePageCache: (412560 + 7206900 - 1203200) * kB,
			metric.LineShmem: 1203200 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 611840 * kB, metric.LineSlabUnreclaimable: 562176 * kB,
			metric.LineKernelStack: 24704 * kB, metric.LinePageTables: (78848 + 18432) * kB, metric.LinePercpu: 16384 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 61203283968 + 23622320128 + 9663676416 + 6250561536 + 228589568,
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				832045056 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-7065704-11551232-6416260-1203200-0-611840-562176-24704-97280-16384-0)*kB -
				100968431616 - 213909504,
		},
		// Memory of a discrete GPU is not in the pool: no line gpu_process.
		"h200-idle": {
			metric.LineFree: 130575832 * kB, metric.LineAnon: 19952 * kB, metric.LinePageCache: (13212 + 1078444 - 7368) * kB,
			metric.LineShmem: 7368 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 16472 * kB, metric.LineSlabUnreclaimable: 38372 * kB,
			metric.LineKernelStack: 3664 * kB, metric.LinePageTables: (1340 + 0) * kB, metric.LinePercpu: 4480 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 11747328 - (9884464 + 655360 + 671744 + 0 + 447552 + 0) + // group1
				36864 - (3088 + 0 + 0 + 0 + 31824 + 0), // inference.slice
			metric.LineUnattributed: (131981020-130575832-19952-1084288-7368-0-16472-38372-3664-1340-4480-0)*kB - 90160,
		},
		"h200-load": {
			metric.LineFree: 122498184 * kB, metric.LineAnon: 427064 * kB, metric.LinePageCache: (23984 + 7401052 - 2112712) * kB,
			metric.LineShmem: 2112712 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 108548 * kB, metric.LineSlabUnreclaimable: 56156 * kB,
			metric.LineKernelStack: 3988 * kB, metric.LinePageTables: (10300 + 0) * kB, metric.LinePercpu: 4480 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 11849728 - (10017184 + 638976 + 651264 + 0 + 447264 + 0) + // group1
				1185402880 - (99911224 + 278528 + 9322496 + 0 + 32112 + 0), // inference.slice
			metric.LineUnattributed: (131981020-122498184-427064-5312324-2112712-0-108548-56156-3988-10300-4480-0)*kB - 1075953560,
		},
		// Most of anon is the prompt cache that llama.cpp keeps in RAM, at most 8192 MiB.
		"h200-llamacpp": {
			metric.LineFree: 114695180 * kB, metric.LineAnon: 8999428 * kB, metric.LinePageCache: (20764 + 7605140 - 68824) * kB,
			metric.LineShmem: 68824 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 186520 * kB, metric.LineSlabUnreclaimable: 69592 * kB,
			metric.LineKernelStack: 4704 * kB, metric.LinePageTables: (20928 + 0) * kB, metric.LinePercpu: 4672 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 196784128 - (193344128 + 1163264 + 1589248 + 0 + 543888 + 0) + // group1
				22745088 - (1055344 + 344064 + 19197952 + 0 + 32112 + 0), // inference.slice
			metric.LineUnattributed: (131981020-114695180-8999428-7557080-68824-0-186520-69592-4704-20928-4672-0)*kB - 2259216,
		},
		// About half of shmem is the host tier of KVBM, 2 GB.
		"h200-vllm-kvbm": {
			metric.LineFree: 120075004 * kB, metric.LineAnon: 3107516 * kB, metric.LinePageCache: (235696 + 7913516 - 4145612) * kB,
			metric.LineShmem: 4145612 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 144704 * kB, metric.LineSlabUnreclaimable: 89888 * kB,
			metric.LineKernelStack: 8736 * kB, metric.LinePageTables: (19488 + 0) * kB, metric.LinePercpu: 4864 * kB, metric.LineHugetlb: 0,
			metric.LineManaged:      170938368 - (142970304 + 5701632 + 19226624 + 0 + 704736 + 0), // group1
			metric.LineUnattributed: (131981020-120075004-3107516-4003600-4145612-0-144704-89888-8736-19488-4864-0)*kB - 2335072,
		},
		"h200x2": {
			metric.LineFree: 254361408 * kB, metric.LineAnon: 437708 * kB, metric.LinePageCache: (23968 + 7312564 - 2120904) * kB,
			metric.LineShmem: 2120904 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 107764 * kB, metric.LineSlabUnreclaimable: 73716 * kB,
			metric.LineKernelStack: 6656 * kB, metric.LinePageTables: (10860 + 0) * kB, metric.LinePercpu: 9344 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 9793536 - (7258048 + 884736 + 667648 + 0 + 844832 + 0) + // group1
				1188274176 - (100071528 + 557056 + 9605120 + 0 + 60656 + 0), // inference.slice
			metric.LineUnattributed: (263998500-254361408-437708-5215628-2120904-0-107764-73716-6656-10860-9344-0)*kB - 1078118088,
		},
		// The kernel files of these two are those of gb10-idle, but their GPUs are discrete.
		"gpu-lost": {
			metric.LineFree: 113001500 * kB, metric.LineAnon: 6568100 * kB, metric.LinePageCache: (312844 + 5653480 - 152832) * kB,
			metric.LineShmem: 152832 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 412772 * kB, metric.LineSlabUnreclaimable: 391244 * kB,
			metric.LineKernelStack: 18640 * kB, metric.LinePageTables: (31928 + 2048) * kB, metric.LinePercpu: 14720 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB - 2621440,
		},
		"mig": {
			metric.LineFree: 113001500 * kB, metric.LineAnon: 6568100 * kB, metric.LinePageCache: (312844 + 5653480 - 152832) * kB,
			metric.LineShmem: 152832 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 412772 * kB, metric.LineSlabUnreclaimable: 391244 * kB,
			metric.LineKernelStack: 18640 * kB, metric.LinePageTables: (31928 + 2048) * kB, metric.LinePercpu: 14720 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB - 2621440,
		},
		"nvidia-fs": {
			metric.LineFree: 193457112 * kB, metric.LineAnon: 15043584 * kB, metric.LinePageCache: (421888 + 51943424 - 2248704) * kB,
			metric.LineShmem: 2248704 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 585520 * kB, metric.LineSlabUnreclaimable: 765860 * kB,
			metric.LineKernelStack: 25120 * kB, metric.LinePageTables: (158100 + 0) * kB, metric.LinePercpu: 16480 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				650772480 - (493879296 + 10092544 + 138412032 + 0 + 4718592 + 2097152) + // system.slice
				119799808 - (90177536 + 5898240 + 20971520 + 0 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (263872848-193457112-15043584-50116608-2248704-0-585520-765860-25120-158100-16480-0)*kB - 1703936,
		},
		// Memory of this GPU is NUMA node 1 of the pool.
		"gh200": {
			metric.LineFreeCMA: 0, metric.LineFree: 292331520 * kB, metric.LineAnon: 21626880 * kB, metric.LinePageCache: (1310720 + 193724416 - 6291456) * kB,
			metric.LineShmem: 6291456 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 3670016 * kB, metric.LineSlabUnreclaimable: 1572864 * kB,
			metric.LineKernelStack: 131072 * kB, metric.LinePageTables: (262144 + 16384) * kB, metric.LinePercpu: 393216 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 84255178752 + 545259520, // processes 4211 and 5120
			metric.LineManaged: 3866624 - (2883584 + 327680 + 458752 + 0 + 131072 + 0) + // init.scope
				5102370816 - (3489660928 + 83886080 + 167772160 + 14680064 + 268435456 + 16777216) + // system.slice
				823066624 - (671088640 + 16777216 + 50331648 + 1048576 + 67108864 + 4194304), // user.slice
			metric.LineUnattributed: (601456640-292331520-21626880-188743680-6291456-0-3670016-1572864-131072-278528-393216-0)*kB -
				84800438272 - 1073741824,
		},
		// Linux 5.4 names no kernel memory of cgroups, so managed is unknown.
		"old-kernel": {
			metric.LineFreeCMA: 0, metric.LineFree: 32389132 * kB, metric.LineAnon: 9437184 * kB, metric.LinePageCache: (524288 + 20971520 - 1048576) * kB,
			metric.LineShmem: 1048576 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 1572864 * kB, metric.LineSlabUnreclaimable: 524288 * kB,
			metric.LineKernelStack: 20480 * kB, metric.LinePageTables: (61440 + 0) * kB, metric.LinePercpu: 13312 * kB, metric.LineHugetlb: 0,
			metric.LineUnattributed: (65842188 - 32389132 - 9437184 - 20447232 - 1048576 - 0 - 1572864 - 524288 - 20480 - 61440 - 13312 - 0) * kB,
		},
		"docker-systemd": {
			metric.LineFree: 20063020 * kB, metric.LineAnon: 8928768 * kB, metric.LinePageCache: (412560 + 7128432 - 1201408) * kB,
			metric.LineShmem: 1201408 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 390472 * kB, metric.LineSlabUnreclaimable: 342400 * kB,
			metric.LineKernelStack: 23616 * kB, metric.LinePageTables: (74340 + 14336) * kB, metric.LinePercpu: 14016 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 90731184128 + 228589568, // processes 4127 and 2871
			metric.LineManaged: 3624960 - (2831152 + 278528 + 417792 + 0 + 94336 + 0) + // init.scope
				769716224 - (491782144 + 12222464 + 49491968 + 12582912 + 4298944 + 2191360) + // system.slice
				141443072 - (104857600 + 6176768 + 25165824 + 2097152 + 1572800 + 1044480), // user.slice
			metric.LineUnattributed: (127600748-20063020-8928768-6339584-1201408-0-390472-342400-23616-88676-14016-0)*kB -
				90959773696 - 197678032,
		},
		"docker-cgroupfs": {
			metric.LineFree: 901497352 * kB, metric.LineAnon: 28728320 * kB, metric.LinePageCache: (1012560 + 117898416 - 17305600) * kB,
			metric.LineShmem: 17305600 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 1204488 * kB, metric.LineSlabUnreclaimable: 1521652 * kB,
			metric.LineKernelStack: 33968 * kB, metric.LinePageTables: (268288 + 0) * kB, metric.LinePercpu: 50072 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 1870659584 - (1509949440 + 13631488 + 264241152 + 0 + 9437184 + 4718592) + // docker
				4296704 - (3145728 + 311296 + 524288 + 0 + 314560 + 0) + // init.scope
				229404672 - (216006656 + 3440640 + 5767168 + 0 + 3355392 + 831488) + // system.slice
				15826944 - (12582912 + 622592 + 2097152 + 0 + 419392 + 102400), // user.slice
			metric.LineUnattributed: (1056476500-901497352-28728320-101605376-17305600-0-1204488-1521652-33968-268288-50072-0)*kB - 68688384,
		},
		"kubernetes": {
			metric.LineFree: 473114396 * kB, metric.LineAnon: 11774072 * kB, metric.LinePageCache: (512560 + 38593888 - 2363392) * kB,
			metric.LineShmem: 2363392 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 663712 * kB, metric.LineSlabUnreclaimable: 822260 * kB,
			metric.LineKernelStack: 27360 * kB, metric.LinePageTables: (98936 + 0) * kB, metric.LinePercpu: 39892 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 4296704 - (3145728 + 311296 + 524288 + 0 + 314560 + 0) + // init.scope
				661401600 - (543319640 + 8323072 + 88203264 + 0 + 6354240 + 2617344) + // kubepods.slice
				398336000 - (377487360 + 6275072 + 8912896 + 0 + 4403968 + 1253376) + // system.slice
				13107200 - (10485760 + 524288 + 1572864 + 0 + 419392 + 102400), // user.slice
			metric.LineUnattributed: (528280812-473114396-11774072-36743056-2363392-0-663712-822260-27360-98936-39892-0)*kB - 12590696,
		},
		"cgroup-v1": {
			metric.LineFree: 22849824 * kB, metric.LineAnon: 1833472 * kB, metric.LinePageCache: (212560 + 7131824 - 41216) * kB,
			metric.LineShmem: 41216 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 337008 * kB, metric.LineSlabUnreclaimable: 244556 * kB,
			metric.LineKernelStack: 16368 * kB, metric.LinePageTables: 34816 * kB, metric.LinePercpu: 16384 * kB, metric.LineHugetlb: 0,
			metric.LineUnattributed: (32880212 - 22849824 - 1833472 - 7303168 - 41216 - 0 - 337008 - 244556 - 16368 - 34816 - 16384 - 0) * kB,
		},
		// Without a GPU there is no line gpu_process; on cgroup v1 managed is unknown.
		"no-gpu": {
			metric.LineFree: 22673256 * kB, metric.LineAnon: 69468 * kB, metric.LinePageCache: (65492 + 1601644 - 8872) * kB,
			metric.LineShmem: 8872 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 95308 * kB, metric.LineSlabUnreclaimable: 26660 * kB,
			metric.LineKernelStack: 2008 * kB, metric.LinePageTables: (2404 + 0) * kB, metric.LinePercpu: 712 * kB, metric.LineHugetlb: 0,
			metric.LineUnattributed: (24684084 - 22673256 - 69468 - 1658264 - 8872 - 0 - 95308 - 26660 - 2008 - 2404 - 712 - 0) * kB,
		},
	}
	// The memory of gb10-idle, with 4,761 blocks of 2 MiB free in CMA.
	cma := maps.Clone(hosts["gb10-idle"])
	cma[metric.LineFreeCMA] = 4761 * 2048 * kB
	cma[metric.LineFree] -= 4761 * 2048 * kB
	hosts["gb10-cma"] = cma
	return hosts
}

func TestLedgerOfEveryHostIsTheOneWorkedOutByHand(t *testing.T) {
	eachHost(t, func(t *testing.T, name string) {
		want, worked := handWorked()[name]
		if !worked {
			t.Fatal("nobody has worked out the ledger of this host by hand")
		}
		got := ledgerOfHost(t, openRecorded(t, name))
		for line, byHand := range want {
			if bytes, there := got[line]; !there || bytes != float64(byHand) {
				t.Errorf("%s is %.0f bytes (there: %v), by hand %d", line, bytes, there, byHand)
			}
		}
		for line := range got {
			if _, expected := want[line]; !expected {
				t.Errorf("line %s was not expected", line)
			}
		}
	})
}

// TestOneFieldMovesItsLineAndTheRestOnly adds 1 GiB to every field of every host's meminfo in turn.
func TestOneFieldMovesItsLineAndTheRestOnly(t *testing.T) {
	// Cached contains Shmem, so shared memory comes out of the page cache's line.
	moves := map[string]map[string]float64{
		"MemTotal": {metric.LineUnattributed: 1}, "MemFree": {metric.LineFree: 1}, "AnonPages": {metric.LineAnon: 1},
		"Buffers": {metric.LinePageCache: 1}, "Cached": {metric.LinePageCache: 1}, "Shmem": {metric.LineShmem: 1, metric.LinePageCache: -1},
		"SwapCached": {metric.LineSwapCache: 1}, "SReclaimable": {metric.LineSlabReclaimable: 1}, "SUnreclaim": {metric.LineSlabUnreclaimable: 1},
		"KernelStack": {metric.LineKernelStack: 1}, "PageTables": {metric.LinePageTables: 1}, "SecPageTables": {metric.LinePageTables: 1},
		"Percpu": {metric.LinePercpu: 1}, "Hugetlb": {metric.LineHugetlb: 1},
		// MemFree contains CmaFree.
		"CmaFree": {metric.LineFreeCMA: 1, metric.LineFree: -1},
	}
	eachHost(t, func(t *testing.T, name string) {
		host := openRecorded(t, name)
		before := settledLedger(t, host)
		for _, field := range meminfoFields(t, host) {
			after := ledgerEdited(t, host, host.Proc, "meminfo", func(meminfo []byte) []byte { return grow(meminfo, field, gibibyte/1024) })
			if field == "MemTotal" { // the kernel reports it for the nodes, too
				after = ledgerWith(t, name, func(host *collector.Host) { growPool(t, host) })
			}
			want := map[string]float64{}
			for line, step := range moves[field] {
				want[line] += step
				if field != "MemTotal" {
					want[metric.LineUnattributed] -= step
				}
			}
			wantMoves(t, field, before, after, want)
		}
	})
}

func TestLittleIsUnattributedOnHostsWithoutGPU(t *testing.T) {
	checked := 0
	for _, name := range hostNames() {
		page := renderPage(t, name)
		if !bytes.Contains(page, []byte(`memory_architecture="none"`)) {
			continue
		}
		checked++
		pool := seriesOf(t, page, "uma_memory_pool_bytes ")
		rest := seriesOf(t, page, `uma_memory_ledger_bytes{line="unattributed"} `)
		if math.Abs(rest) >= 0.02*pool {
			t.Errorf("%s: %.0f of %.0f bytes are unattributed", name, rest, pool)
		}
	}
	if checked == 0 {
		t.Error("no host without GPU")
	}
}

func seriesOf(t *testing.T, page []byte, series string) float64 {
	t.Helper()
	_, after, found := bytes.Cut(page, []byte("\n"+series))
	text, _, _ := strings.Cut(string(after), "\n")
	value, err := strconv.ParseFloat(text, 64)
	if !found || err != nil {
		t.Fatalf("%s: %v", series, err)
	}
	return value
}

// ledgerEdited is the ledger of a host of which a file is changed, until it is read.
func ledgerEdited(t *testing.T, host collector.Host, dir hostfs.Dir, name string, change func([]byte) []byte) map[string]float64 {
	t.Helper()
	var unchanged []byte
	edit(t, dir, name, func(content []byte) []byte {
		unchanged = content
		return change(content)
	})
	defer edit(t, dir, name, func([]byte) []byte { return unchanged })
	return ledgerOfHost(t, host)
}

// settledLedger is the second ledger of a host: one may lose its GPU during the first.
func settledLedger(t *testing.T, host collector.Host) map[string]float64 {
	t.Helper()
	ledgerOfHost(t, host)
	return ledgerOfHost(t, host)
}

// ledgerOfHost is the ledger on the page of a host, in bytes by line.
func ledgerOfHost(t *testing.T, host collector.Host) map[string]float64 {
	t.Helper()
	e := exporterOf(t, host, Settings{Collectors: []string{"memory"}})
	var page bytes.Buffer
	must(t, e.WritePage(t.Context(), &page))
	lines := map[string]float64{}
	for _, match := range regexp.MustCompile(`(?m)^uma_memory_ledger_bytes\{line="(\w+)"\} (.*)$`).FindAllStringSubmatch(page.String(), -1) {
		value, err := strconv.ParseFloat(match[2], 64)
		must(t, err)
		lines[match[1]] = value
	}
	return lines
}

// growPool adds 1 GiB to the machine and to its first NUMA node.
func growPool(t *testing.T, host *collector.Host) {
	t.Helper()
	edit(t, host.Proc, "meminfo", func(meminfo []byte) []byte { return grow(meminfo, "MemTotal", gibibyte/1024) })
	edit(t, host.Sys, "devices/system/node/node0/meminfo", func(node []byte) []byte {
		return grow(node, "Node 0 MemTotal", gibibyte/1024)
	})
}

// meminfoFields lists the fields in kB.
func meminfoFields(t *testing.T, host collector.Host) []string {
	t.Helper()
	meminfo, err := host.Proc.ReadFile("meminfo")
	must(t, err)
	var fields []string
	for _, match := range regexp.MustCompile(`(?m)^(.+?):.* kB$`).FindAllSubmatch(meminfo, -1) {
		fields = append(fields, string(match[1]))
	}
	if len(fields) < 20 {
		t.Fatalf("only %d fields", len(fields))
	}
	return fields
}

// grow adds to one field of a meminfo.
func grow(meminfo []byte, field string, kibibytes int64) []byte {
	row := regexp.MustCompile(`(?m)^(` + regexp.QuoteMeta(field) + `: +)(\d+) kB$`)
	return row.ReplaceAllFunc(meminfo, func(line []byte) []byte {
		parts := row.FindSubmatch(line)
		before, _ := strconv.ParseInt(string(parts[2]), 10, 64)
		return append(bytes.Clone(parts[1]), strconv.FormatInt(before+kibibytes, 10)+" kB"...)
	})
}
