package exporter

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/umascope/umascope/exporter/hostfs"
)

// BenchmarkPageOfCgroups makes whole pages of a Spark with many containers, whose files are on disk. Cost has
// to be linear, with 500 containers below 60 ms on four cores.
func BenchmarkPageOfCgroups(b *testing.B) {
	for _, n := range []int{30, 250, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			host := openRecorded(b, "docker-systemd")
			root := b.TempDir()
			copyCgroups(b, host.Cgroup, root, n)
			host.Cgroup = hostfs.Dir{Path: root}
			options := hostOptions("docker-systemd")
			options.Cgroups.Limit = 2 * n
			e := exporterOf(b, host, Settings{Options: options})
			handler := e.Handler()
			request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			b.ReportAllocs()
			for b.Loop() {
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, request)
				if recorder.Code != http.StatusOK {
					b.Fatalf("%d: %.500s", recorder.Code, recorder.Body)
				}
				b.ReportMetric(float64(recorder.Body.Len()), "bytes/page")
			}
		})
	}
}

// copyCgroups writes a tree to disk, with n further containers like the first one.
func copyCgroups(b *testing.B, cgroups hostfs.Dir, root string, n int) {
	b.Helper()
	write := func(name string, text []byte) {
		to := filepath.Join(root, name)
		must(b, os.MkdirAll(filepath.Dir(to), 0o755))
		must(b, os.WriteFile(to, text, 0o644))
	}
	first := fmt.Sprintf("system.slice/docker-%012x%052d.scope", 1, 0)
	err := fs.WalkDir(os.DirFS(cgroups.Path), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := cgroups.ReadFile(name)
		if err != nil {
			return err
		}
		write(name, text)
		if path.Dir(name) == first {
			for i := range n {
				write(fmt.Sprintf("system.slice/docker-%064x.scope/%s", i, path.Base(name)), text)
			}
		}
		return nil
	})
	must(b, err)
}
