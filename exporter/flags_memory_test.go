package exporter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageCacheOfFilesThatTheCommandLineNames asks the kernel that the test runs on.
func TestPageCacheOfFilesThatTheCommandLineNames(t *testing.T) {
	directory := t.TempDir()
	must(t, os.WriteFile(filepath.Join(directory, "shard"), make([]byte, 1<<16), 0o600))
	missing := filepath.Join(directory, "none")
	_, page, _ := run(t, "--once", "--collector.nvme.smart", "--memory.cache-path="+directory, "--memory.cache-path="+missing)
	wantIn(t, page,
		`uma_page_cache_known{path="`+directory+`"} 1`, `uma_page_cache_resident_bytes{path="`+directory+`"} `,
		`uma_page_cache_known{path="`+missing+`"} 0`, `uma_collector_privilege{collector="memory",needs="page_cache_owner"} 1`,
		`uma_collector_privilege{collector="nvme",needs="nvme_admin"}`, `uma_collector_state{collector="memory",state="ok"} 1`,
	)
	if strings.Contains(page, `uma_page_cache_resident_bytes{path="`+missing+`"}`) {
		t.Error("the page has a figure of a path that is not there")
	}
	_, page, _ = run(t, "--once")
	wantNotIn(t, page, "uma_page_cache", "uma_nvme_smart", "page_cache_owner", "nvme_admin")
}
