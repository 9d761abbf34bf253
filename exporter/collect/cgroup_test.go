package collect

// containerFiles are the files of a cgroup as a kernel of today writes them: memory.stat has some 60 lines.
func containerFiles() map[string]string {
	const pressure = "some avg10=0.00 avg60=0.12 avg300=0.05 total=10481234\nfull avg10=0.00 avg60=0.10 avg300=0.04 total=9481234\n"
	return map[string]string{
		"memory.current": "9663676416\n", "memory.peak": "10737418240\n", "memory.max": "34359738368\n", "memory.high": "max\n",
		"memory.swap.current": "4096\n", "memory.events": "low 0\nhigh 12\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n",
		"memory.stat": containerMemoryStat, "io.stat": "259:0 rbytes=13220446208 wbytes=41908961280 rios=12608 wios=40124 dbytes=8192 dios=2\n",
		"memory.pressure": pressure, "io.pressure": pressure, "cpu.pressure": pressure,
	}
}

const containerMemoryStat = `anon 4521984000
file 4806569984
kernel 631242752
kernel_stack 7340032
pagetables 37748736
sec_pagetables 12582912
percpu 2097152
sock 4194304
vmalloc 1048576
shmem 1073741824
zswap 0
zswapped 0
file_mapped 1291845632
file_dirty 0
file_writeback 0
swapcached 0
anon_thp 2147483648
file_thp 0
shmem_thp 0
inactive_anon 5315018752
active_anon 280707072
inactive_file 2883940352
active_file 848887808
unevictable 0
slab_reclaimable 247463936
slab_unreclaimable 121634816
slab 369098752
workingset_refault_anon 0
workingset_refault_file 1120
workingset_activate_anon 0
workingset_activate_file 811
workingset_restore_anon 0
workingset_restore_file 0
workingset_nodereclaim 0
pgdemote_kswapd 0
pgdemote_direct 0
pgdemote_khugepaged 0
pgpromote_success 0
pgscan 0
pgsteal 0
pgscan_kswapd 0
pgscan_direct 0
pgscan_khugepaged 0
pgsteal_kswapd 0
pgsteal_direct 0
pgsteal_khugepaged 0
pgfault 1203344
pgmajfault 17
pgrefill 0
pgactivate 0
pgdeactivate 0
pglazyfree 0
pglazyfreed 0
swpin_zero 0
swpout_zero 0
zswpin 0
zswpout 0
zswpwb 0
thp_fault_alloc 1024
thp_collapse_alloc 0
thp_swpout 0
thp_swpout_fallback 0
`
