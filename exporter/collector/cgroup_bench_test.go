package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/umascope/umascope/exporter/hostfs"
)

// manyCgroups is the directory of a cgroup tree on disk with n containers, half of them in pods.
func manyCgroups(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.controllers", "cpu io memory\n")
	one := func(cgroup string) {
		for file, text := range containerFiles() {
			write(cgroup+"/"+file, text)
		}
	}
	one("system.slice")
	one("kubepods.slice")
	for i := range n {
		if i%2 == 0 {
			one(fmt.Sprintf("system.slice/docker-%064x.scope", i))
		} else {
			one(fmt.Sprintf("kubepods.slice/kubepods-pod%032x.slice/cri-containerd-%064x.scope", i/4, i))
		}
	}
	return root
}

// BenchmarkCgroups measures the collect phase from files on disk to a batch. Its cost has to be linear, with
// 500 containers below 25 ms on four cores.
func BenchmarkCgroups(b *testing.B) {
	for _, n := range []int{30, 250, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			host := spark(b)
			host.Cgroup = hostfs.Dir{Path: manyCgroups(b, n)}
			spec, options := cgroupSpec(), Options{Cgroups: CgroupOptions{Limit: 1000}}
			collect, known := spec.Open(host, options), newFamilies(spec.Metrics)
			b.ReportAllocs()
			for b.Loop() {
				batch := newBatch(known)
				if err := collect(b.Context(), NewSample(host, options), batch); err != nil {
					b.Fatal(err)
				}
				if _, err := batch.close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
