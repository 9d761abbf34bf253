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
	"github.com/umascope/umascope/exporter/ledger"
)

// kB is the unit of /proc/meminfo.
const kB = 1024

// handWorked are the ledgers of all hosts in bytes, worked out from the raw text of their archives.
// Sums are written as they were made. Managed is, over the top-level cgroups,
// kernel - (slab + kernel_stack + pagetables + sec_pagetables + percpu + vmalloc).
func handWorked() map[string]map[string]int64 {
	hosts := map[string]map[string]int64{
		"gb10-idle": {
			ledger.Free: 113001500 * kB, ledger.Anon: 6568100 * kB, ledger.PageCache: (312844 + 5653480 - 152832) * kB,
			ledger.Shmem: 152832 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 412772 * kB, ledger.SlabUnreclaimable: 391244 * kB,
			ledger.KernelStack: 18640 * kB, ledger.PageTables: (31928 + 2048) * kB, ledger.Percpu: 14720 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 45088768, // process 3150
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB -
				45088768 - 2621440,
		},
		"gb10-load": {
			ledger.Free: 7065704 * kB, ledger.Anon: 11551232 * kB, ledger.PageCache: (412560 + 7206900 - 1203200) * kB,
			ledger.Shmem: 1203200 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 611840 * kB, ledger.SlabUnreclaimable: 562176 * kB,
			ledger.KernelStack: 24704 * kB, ledger.PageTables: (78848 + 18432) * kB, ledger.Percpu: 16384 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 100739842048 + 228589568, // processes 6330 and 3150, which is in two lists
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				832045056 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-7065704-11551232-6416260-1203200-0-611840-562176-24704-97280-16384-0)*kB -
				100968431616 - 213909504,
		},
		// The host tier of 8388608 kB, pinned, is in Shmem; the model's weights are in Cached.
		"kvbm-disk": {
			ledger.Free: 50139744 * kB, ledger.Anon: 11551232 * kB, ledger.PageCache: (412560 + 31279612 - 9591808) * kB,
			ledger.Shmem: 9591808 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 611840 * kB, ledger.SlabUnreclaimable: 562176 * kB,
			ledger.KernelStack: 24704 * kB, ledger.PageTables: (78848 + 18432) * kB, ledger.Percpu: 16384 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 32212254720 + 228589568, // processes 6330 and 3150, which is in two lists
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				693633024 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-50139744-11551232-22100364-9591808-0-611840-562176-24704-97280-16384-0)*kB -
				32440844288 - 75497472,
		},
		// The memory of gb10-load, of which four engines hold what vLLM holds there.
		"engines": {
			ledger.Free: 7065704 * kB, ledger.Anon: 11551232 * kB, ledger.PageCache: (412560 + 7206900 - 1203200) * kB,
			ledger.Shmem: 1203200 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 611840 * kB, ledger.SlabUnreclaimable: 562176 * kB,
			ledger.KernelStack: 24704 * kB, ledger.PageTables: (78848 + 18432) * kB, ledger.Percpu: 16384 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 61203283968 + 23622320128 + 9663676416 + 6250561536 + 228589568,
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				832045056 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-7065704-11551232-6416260-1203200-0-611840-562176-24704-97280-16384-0)*kB -
				100968431616 - 213909504,
		},
		// Memory of a discrete GPU is not in the pool: no line gpu_process.
		"h200-idle": {
			ledger.Free: 130575832 * kB, ledger.Anon: 19952 * kB, ledger.PageCache: (13212 + 1078444 - 7368) * kB,
			ledger.Shmem: 7368 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 16472 * kB, ledger.SlabUnreclaimable: 38372 * kB,
			ledger.KernelStack: 3664 * kB, ledger.PageTables: (1340 + 0) * kB, ledger.Percpu: 4480 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 11747328 - (9884464 + 655360 + 671744 + 0 + 447552 + 0) + // group1
				36864 - (3088 + 0 + 0 + 0 + 31824 + 0), // inference.slice
			ledger.Unattributed: (131981020-130575832-19952-1084288-7368-0-16472-38372-3664-1340-4480-0)*kB - 90160,
		},
		"h200-load": {
			ledger.Free: 122498184 * kB, ledger.Anon: 427064 * kB, ledger.PageCache: (23984 + 7401052 - 2112712) * kB,
			ledger.Shmem: 2112712 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 108548 * kB, ledger.SlabUnreclaimable: 56156 * kB,
			ledger.KernelStack: 3988 * kB, ledger.PageTables: (10300 + 0) * kB, ledger.Percpu: 4480 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 11849728 - (10017184 + 638976 + 651264 + 0 + 447264 + 0) + // group1
				1185402880 - (99911224 + 278528 + 9322496 + 0 + 32112 + 0), // inference.slice
			ledger.Unattributed: (131981020-122498184-427064-5312324-2112712-0-108548-56156-3988-10300-4480-0)*kB - 1075953560,
		},
		// Most of anon is the prompt cache that llama.cpp keeps in RAM, at most 8192 MiB.
		"h200-llamacpp": {
			ledger.Free: 114695180 * kB, ledger.Anon: 8999428 * kB, ledger.PageCache: (20764 + 7605140 - 68824) * kB,
			ledger.Shmem: 68824 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 186520 * kB, ledger.SlabUnreclaimable: 69592 * kB,
			ledger.KernelStack: 4704 * kB, ledger.PageTables: (20928 + 0) * kB, ledger.Percpu: 4672 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 196784128 - (193344128 + 1163264 + 1589248 + 0 + 543888 + 0) + // group1
				22745088 - (1055344 + 344064 + 19197952 + 0 + 32112 + 0), // inference.slice
			ledger.Unattributed: (131981020-114695180-8999428-7557080-68824-0-186520-69592-4704-20928-4672-0)*kB - 2259216,
		},
		// About half of shmem is the host tier of KVBM, 2 GB.
		"h200-vllm-kvbm": {
			ledger.Free: 120075004 * kB, ledger.Anon: 3107516 * kB, ledger.PageCache: (235696 + 7913516 - 4145612) * kB,
			ledger.Shmem: 4145612 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 144704 * kB, ledger.SlabUnreclaimable: 89888 * kB,
			ledger.KernelStack: 8736 * kB, ledger.PageTables: (19488 + 0) * kB, ledger.Percpu: 4864 * kB, ledger.Hugetlb: 0,
			ledger.Managed:      170938368 - (142970304 + 5701632 + 19226624 + 0 + 704736 + 0), // group1
			ledger.Unattributed: (131981020-120075004-3107516-4003600-4145612-0-144704-89888-8736-19488-4864-0)*kB - 2335072,
		},
		"h200x2": {
			ledger.Free: 254361408 * kB, ledger.Anon: 437708 * kB, ledger.PageCache: (23968 + 7312564 - 2120904) * kB,
			ledger.Shmem: 2120904 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 107764 * kB, ledger.SlabUnreclaimable: 73716 * kB,
			ledger.KernelStack: 6656 * kB, ledger.PageTables: (10860 + 0) * kB, ledger.Percpu: 9344 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 9793536 - (7258048 + 884736 + 667648 + 0 + 844832 + 0) + // group1
				1188274176 - (100071528 + 557056 + 9605120 + 0 + 60656 + 0), // inference.slice
			ledger.Unattributed: (263998500-254361408-437708-5215628-2120904-0-107764-73716-6656-10860-9344-0)*kB - 1078118088,
		},
		// The kernel files of these two are those of gb10-idle, but their GPUs are discrete.
		"gpu-lost": {
			ledger.Free: 113001500 * kB, ledger.Anon: 6568100 * kB, ledger.PageCache: (312844 + 5653480 - 152832) * kB,
			ledger.Shmem: 152832 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 412772 * kB, ledger.SlabUnreclaimable: 391244 * kB,
			ledger.KernelStack: 18640 * kB, ledger.PageTables: (31928 + 2048) * kB, ledger.Percpu: 14720 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB - 2621440,
		},
		"mig": {
			ledger.Free: 113001500 * kB, ledger.Anon: 6568100 * kB, ledger.PageCache: (312844 + 5653480 - 152832) * kB,
			ledger.Shmem: 152832 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 412772 * kB, ledger.SlabUnreclaimable: 391244 * kB,
			ledger.KernelStack: 18640 * kB, ledger.PageTables: (31928 + 2048) * kB, ledger.Percpu: 14720 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB - 2621440,
		},
		"nvidia-fs": {
			ledger.Free: 193457112 * kB, ledger.Anon: 15043584 * kB, ledger.PageCache: (421888 + 51943424 - 2248704) * kB,
			ledger.Shmem: 2248704 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 585520 * kB, ledger.SlabUnreclaimable: 765860 * kB,
			ledger.KernelStack: 25120 * kB, ledger.PageTables: (158100 + 0) * kB, ledger.Percpu: 16480 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				650772480 - (493879296 + 10092544 + 138412032 + 0 + 4718592 + 2097152) + // system.slice
				119799808 - (90177536 + 5898240 + 20971520 + 0 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (263872848-193457112-15043584-50116608-2248704-0-585520-765860-25120-158100-16480-0)*kB - 1703936,
		},
		// Memory of this GPU is NUMA node 1 of the pool.
		"gh200": {
			ledger.FreeCMA: 0, ledger.Free: 292331520 * kB, ledger.Anon: 21626880 * kB, ledger.PageCache: (1310720 + 193724416 - 6291456) * kB,
			ledger.Shmem: 6291456 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 3670016 * kB, ledger.SlabUnreclaimable: 1572864 * kB,
			ledger.KernelStack: 131072 * kB, ledger.PageTables: (262144 + 16384) * kB, ledger.Percpu: 393216 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 84255178752 + 545259520, // processes 4211 and 5120
			ledger.Managed: 3866624 - (2883584 + 327680 + 458752 + 0 + 131072 + 0) + // init.scope
				5102370816 - (3489660928 + 83886080 + 167772160 + 14680064 + 268435456 + 16777216) + // system.slice
				823066624 - (671088640 + 16777216 + 50331648 + 1048576 + 67108864 + 4194304), // user.slice
			ledger.Unattributed: (601456640-292331520-21626880-188743680-6291456-0-3670016-1572864-131072-278528-393216-0)*kB -
				84800438272 - 1073741824,
		},
		// Linux 5.4 names no kernel memory of cgroups, so managed is unknown.
		"old-kernel": {
			ledger.FreeCMA: 0, ledger.Free: 32389132 * kB, ledger.Anon: 9437184 * kB, ledger.PageCache: (524288 + 20971520 - 1048576) * kB,
			ledger.Shmem: 1048576 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 1572864 * kB, ledger.SlabUnreclaimable: 524288 * kB,
			ledger.KernelStack: 20480 * kB, ledger.PageTables: (61440 + 0) * kB, ledger.Percpu: 13312 * kB, ledger.Hugetlb: 0,
			ledger.Unattributed: (65842188 - 32389132 - 9437184 - 20447232 - 1048576 - 0 - 1572864 - 524288 - 20480 - 61440 - 13312 - 0) * kB,
		},
		"docker-systemd": {
			ledger.Free: 20063020 * kB, ledger.Anon: 8928768 * kB, ledger.PageCache: (412560 + 7128432 - 1201408) * kB,
			ledger.Shmem: 1201408 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 390472 * kB, ledger.SlabUnreclaimable: 342400 * kB,
			ledger.KernelStack: 23616 * kB, ledger.PageTables: (74340 + 14336) * kB, ledger.Percpu: 14016 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 90731184128 + 228589568, // processes 4127 and 2871
			ledger.Managed: 3624960 - (2831152 + 278528 + 417792 + 0 + 94336 + 0) + // init.scope
				769716224 - (491782144 + 12222464 + 49491968 + 12582912 + 4298944 + 2191360) + // system.slice
				141443072 - (104857600 + 6176768 + 25165824 + 2097152 + 1572800 + 1044480), // user.slice
			ledger.Unattributed: (127600748-20063020-8928768-6339584-1201408-0-390472-342400-23616-88676-14016-0)*kB -
				90959773696 - 197678032,
		},
		"docker-cgroupfs": {
			ledger.Free: 901497352 * kB, ledger.Anon: 28728320 * kB, ledger.PageCache: (1012560 + 117898416 - 17305600) * kB,
			ledger.Shmem: 17305600 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 1204488 * kB, ledger.SlabUnreclaimable: 1521652 * kB,
			ledger.KernelStack: 33968 * kB, ledger.PageTables: (268288 + 0) * kB, ledger.Percpu: 50072 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 1870659584 - (1509949440 + 13631488 + 264241152 + 0 + 9437184 + 4718592) + // docker
				4296704 - (3145728 + 311296 + 524288 + 0 + 314560 + 0) + // init.scope
				229404672 - (216006656 + 3440640 + 5767168 + 0 + 3355392 + 831488) + // system.slice
				15826944 - (12582912 + 622592 + 2097152 + 0 + 419392 + 102400), // user.slice
			ledger.Unattributed: (1056476500-901497352-28728320-101605376-17305600-0-1204488-1521652-33968-268288-50072-0)*kB - 68688384,
		},
		"kubernetes": {
			ledger.Free: 473114396 * kB, ledger.Anon: 11774072 * kB, ledger.PageCache: (512560 + 38593888 - 2363392) * kB,
			ledger.Shmem: 2363392 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 663712 * kB, ledger.SlabUnreclaimable: 822260 * kB,
			ledger.KernelStack: 27360 * kB, ledger.PageTables: (98936 + 0) * kB, ledger.Percpu: 39892 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 4296704 - (3145728 + 311296 + 524288 + 0 + 314560 + 0) + // init.scope
				661401600 - (543319640 + 8323072 + 88203264 + 0 + 6354240 + 2617344) + // kubepods.slice
				398336000 - (377487360 + 6275072 + 8912896 + 0 + 4403968 + 1253376) + // system.slice
				13107200 - (10485760 + 524288 + 1572864 + 0 + 419392 + 102400), // user.slice
			ledger.Unattributed: (528280812-473114396-11774072-36743056-2363392-0-663712-822260-27360-98936-39892-0)*kB - 12590696,
		},
		"cgroup-v1": {
			ledger.Free: 22849824 * kB, ledger.Anon: 1833472 * kB, ledger.PageCache: (212560 + 7131824 - 41216) * kB,
			ledger.Shmem: 41216 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 337008 * kB, ledger.SlabUnreclaimable: 244556 * kB,
			ledger.KernelStack: 16368 * kB, ledger.PageTables: 34816 * kB, ledger.Percpu: 16384 * kB, ledger.Hugetlb: 0,
			ledger.Unattributed: (32880212 - 22849824 - 1833472 - 7303168 - 41216 - 0 - 337008 - 244556 - 16368 - 34816 - 16384 - 0) * kB,
		},
		// Without a GPU there is no line gpu_process; on cgroup v1 managed is unknown.
		"no-gpu": {
			ledger.Free: 22673256 * kB, ledger.Anon: 69468 * kB, ledger.PageCache: (65492 + 1601644 - 8872) * kB,
			ledger.Shmem: 8872 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 95308 * kB, ledger.SlabUnreclaimable: 26660 * kB,
			ledger.KernelStack: 2008 * kB, ledger.PageTables: (2404 + 0) * kB, ledger.Percpu: 712 * kB, ledger.Hugetlb: 0,
			ledger.Unattributed: (24684084 - 22673256 - 69468 - 1658264 - 8872 - 0 - 95308 - 26660 - 2008 - 2404 - 712 - 0) * kB,
		},
	}
	// The memory of gb10-idle, with 4,761 blocks of 2 MiB free in CMA.
	cma := maps.Clone(hosts["gb10-idle"])
	cma[ledger.FreeCMA] = 4761 * 2048 * kB
	cma[ledger.Free] -= 4761 * 2048 * kB
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
		"MemTotal": {ledger.Unattributed: 1}, "MemFree": {ledger.Free: 1}, "AnonPages": {ledger.Anon: 1},
		"Buffers": {ledger.PageCache: 1}, "Cached": {ledger.PageCache: 1}, "Shmem": {ledger.Shmem: 1, ledger.PageCache: -1},
		"SwapCached": {ledger.SwapCache: 1}, "SReclaimable": {ledger.SlabReclaimable: 1}, "SUnreclaim": {ledger.SlabUnreclaimable: 1},
		"KernelStack": {ledger.KernelStack: 1}, "PageTables": {ledger.PageTables: 1}, "SecPageTables": {ledger.PageTables: 1},
		"Percpu": {ledger.Percpu: 1}, "Hugetlb": {ledger.Hugetlb: 1},
		// MemFree contains CmaFree.
		"CmaFree": {ledger.FreeCMA: 1, ledger.Free: -1},
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
					want[ledger.Unattributed] -= step
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
