package hostfs

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
)

// Texts as the kernel writes them. Meminfo, vmstat and buddyinfo are of one machine with pages of
// 4 KiB; the disks are those of the reference sample.
const (
	sampleMeminfo = `MemTotal:       127600748 kB
MemFree:         4812340 kB
MemAvailable:   18566368 kB
Buffers:          312044 kB
Cached:         13204112 kB
SwapCached:          128 kB
SwapTotal:      16777212 kB
SwapFree:       16770044 kB
Dirty:              2376 kB
AnonPages:       6520044 kB
Mapped:          1109920 kB
Shmem:            204812 kB
KReclaimable:    1390600 kB
Slab:            1827020 kB
SReclaimable:    1390600 kB
SUnreclaim:       436420 kB
KernelStack:       31552 kB
PageTables:       122296 kB
SecPageTables:      2048 kB
Percpu:            66048 kB
HugePages_Total:       0
HugePages_Free:        0
Hugepagesize:       2048 kB
Hugetlb:               0 kB
VmallocTotal:   135288315904 kB
`
	sampleVmstat = `nr_free_pages 1203085
nr_anon_pages 1630011
nr_shmem 51203
pswpin 32
pswpout 1792
pgmajfault 44121
oom_kill 0
compact_stall 2712345
compact_fail 1350021
`
	sampleBuddyinfo = `Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 
Node 0, zone    DMA32      1      1      4      2      5      4      3      3      4      2    752 
Node 0, zone   Normal   2544    637    994   1117    800    692    536    412    295    204    382 
`
	samplePressure = `some avg10=0.00 avg60=0.12 avg300=0.05 total=10481234
full avg10=0.00 avg60=0.10 avg300=0.04 total=9481234
`
	sampleDiskstats = ` 259       0 nvme0n1 1841223 1021 214478132 402911 2213377 1288421 391882744 1902877 0 1187412 2391004 17 0 8192 3 98211 85216
 259       2 nvme0n1p2 1840402 990 214443128 402812 2213373 1288421 391882740 1902876 2 1187300 2305688 0 0 0 0
   7       0 loop0 12 0 34 5 0 0 0 0 0 8 5
`
	sampleMemoryStat = `anon 4521984000
file 881852416
kernel 5368709120
kernel_stack 10485760
pagetables 20971520
sec_pagetables 1052672
percpu 1048576
sock 8192
vmalloc 2097152
shmem 2147483648
file_mapped 1073741824
slab_reclaimable 41943040
slab_unreclaimable 20971520
slab 62914560
pgfault 1203344
pgmajfault 17
`
	sampleArcstats = `13 1 0x01 98 26656 5022338463 88123456789
name                            type data
hits                            4    1234567
c_max                           4    34284388352
size                            4    17142194176
compressed_size                 4    15142194176
data_size                       4    15000000000
metadata_size                   4    1500000000
dbuf_size                       4    50000000
dnode_size                      4    100000000
bonus_size                      4    40000000
hdr_size                        4    90000000
l2_hdr_size                     4    0
abd_chunk_waste_size            4    362194176
`
)

// files is a directory with these files.
func files(t testing.TB, contents map[string]string) Dir {
	t.Helper()
	return Dir{Path: written(t, contents)}
}

// written is the path of a directory with these files.
func written(t testing.TB, contents map[string]string) string {
	t.Helper()
	return onDisk(t, tree(contents)).Path
}

// tree are these files, to which links can be added.
func tree(contents map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range contents {
		files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return files
}

// onDisk is a directory with these files and links.
func onDisk(t testing.TB, files fstest.MapFS) Dir {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, files); err != nil {
		t.Fatal(err)
	}
	return Dir{Path: root}
}

// textReader makes a reader of files one of texts, which it writes into the same file one after the other.
func textReader[T any](t testing.TB, name string, read func(Dir) (T, error)) func(text string) (T, error) {
	t.Helper()
	dir := files(t, map[string]string{name: ""})
	return func(text string) (T, error) {
		if err := os.WriteFile(dir.path(name), []byte(text), 0o644); err != nil {
			panic(err) // within a fuzz target t is not the test
		}
		return read(dir)
	}
}

// ofProcess is a reader of files of process 735.
func ofProcess[T any](read func(Dir, uint32) (T, error)) func(Dir) (T, error) {
	return func(proc Dir) (T, error) { return read(proc, 735) }
}

// link is a link of a tree.
func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

// failing is a directory in which every operation fails.
func failing(err error) Dir {
	return Dir{Path: "/", Refuse: func(string) error { return err }}
}

// failingAt is a directory in which operations on some names fail.
func failingAt(dir Dir, errs map[string]error) Dir {
	dir.Refuse = func(name string) error { return errs[name] }
	return dir
}

// must is the value of a reader that has to succeed.
func must[T any](t testing.TB, read func(Dir) (T, error), dir Dir) T {
	t.Helper()
	value, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
