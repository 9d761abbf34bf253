package exporter

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
)

const (
	drawnHost     = "gb10-load"
	drawnScope    = "system.slice/docker-0000000000010000000000000000000000000000000000000000000000000000.scope"
	drawnTemplate = "testdata/drawing/unified-memory.svg.tmpl"
	drawing       = "unified-memory.svg"

	drawnLeft, drawnWidth = 20.0, 600.0
)

// pool is a machine as the drawing and the page have it, sizes in bytes.
type pool struct {
	total, available, memFree int64
	can                       collector.Allocatable
	lines                     map[string]int64
	// The container: what is charged to it, of which kinds, and what its processes hold by the GPU.
	charged, limit, held int64
	stat                 map[string]int64
}

// drawnPool reads the constructed Spark as the exporter does, and its files where no line of the ledger has the figure.
func drawnPool(t *testing.T) pool {
	t.Helper()
	scrape, err := openHostNamed(t, drawnHost).runner.Scrape(t.Context())
	must(t, err)
	memory := explain(scrape).Memory
	p := pool{total: int64(memory.PoolBytes), lines: map[string]int64{}, stat: map[string]int64{}}
	for _, line := range memory.Lines {
		p.lines[line.Name] = int64(line.Bytes)
	}
	p.memFree, p.can = p.lines[ledger.Free], *memory.Allocatable
	p.charged, p.held = int64(*memory.Groups[0].ChargedBytes), int64(memory.Groups[0].HeldBytes)
	host := openRecorded(t, drawnHost)
	meminfo, err := hostfs.ReadMeminfo(host.Proc)
	must(t, err)
	p.available = int64(meminfo["MemAvailable"])
	p.limit = number(t, host.Cgroup, drawnScope+"/memory.max")
	for line := range strings.Lines(content(t, host.Cgroup, drawnScope+"/memory.stat")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		p.stat[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return p
}

func content(t *testing.T, files hostfs.Dir, name string) string {
	t.Helper()
	data, err := files.ReadFile(name)
	must(t, err)
	return string(data)
}

func number(t *testing.T, files hostfs.Dir, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(content(t, files, name)), 10, 64)
	must(t, err)
	return n
}

// dockerStats is the figure of that command: what is charged without page cache that was used once.
func (p pool) dockerStats() int64 { return p.charged - p.stat["inactive_file"] }

// used is the figure of free.
func (p pool) used() int64 { return p.total - p.available }

// block is a rectangle of the drawing, to the scale of the pool.
type block struct {
	Class, X, Width string
	Name            string // of the lines of the ledger that it stands for
	bytes, after    int64  // its size, and what is drawn before it
}

// drawn gives a block its place.
func (p pool) drawn(b block) block {
	scale := func(bytes int64) float64 { return drawnWidth * float64(bytes) / float64(p.total) }
	b.X, b.Width = fmt.Sprintf("%.1f", drawnLeft+scale(b.after)), fmt.Sprintf("%.1f", scale(b.bytes))
	return b
}

// GiB is the size of a block.
func (b block) GiB() string { return gib(b.bytes) }

// parts are the ledger in the order in which it is drawn: what only the driver names, what nobody does, what the kernel does.
func (p pool) parts() []block {
	var small int64
	for _, line := range []string{
		ledger.Shmem, ledger.SwapCache, ledger.SlabReclaimable, ledger.SlabUnreclaimable,
		ledger.KernelStack, ledger.PageTables, ledger.Percpu, ledger.Hugetlb,
	} {
		small += p.lines[line]
	}
	parts := []block{
		{Class: "gpu", Name: "gpu_process", bytes: p.lines[ledger.GPUProcess]},
		{Class: "rest", Name: "unattributed", bytes: p.lines[ledger.Unattributed]},
		{Class: "managed", Name: "managed", bytes: p.lines[ledger.Managed]},
		{Class: "anon", Name: "anon", bytes: p.lines[ledger.Anon]},
		{Class: "kernel", Name: "shmem, kernel", bytes: small},
		{Class: "cache", Name: "page_cache", bytes: p.lines[ledger.PageCache]},
		{Class: "free", Name: "free", bytes: p.lines[ledger.Free]},
	}
	var after int64
	for i := range parts {
		parts[i].after = after
		after += parts[i].bytes
		parts[i] = p.drawn(parts[i])
	}
	return parts
}

// row is what one tool sees of the pool.
type row struct {
	Title string
	Notes []string
	Parts []block
}

// rows are the tools. What a container is charged stands where its kind of memory begins.
func (p pool) rows(parts []block) []row {
	of := map[string]block{}
	for _, part := range parts {
		of[part.Class] = part
	}
	managed := p.managed()
	var charged []block
	for class, bytes := range map[string]int64{
		"managed": managed, "anon": p.stat["anon"], "cache": p.stat["file"] - p.stat["shmem"],
		"kernel": p.stat["shmem"] + p.stat["kernel"] - managed + p.stat["sock"],
	} {
		charged = append(charged, p.drawn(block{Class: class, bytes: bytes, after: of[class].after}))
	}
	slices.SortFunc(charged, func(a, b block) int { return cmp.Compare(a.after, b.after) })
	return []row{
		{"nvidia-smi, list of processes: " + of["gpu"].GiB(), []string{"Memory-Usage of the device: Not Supported"}, []block{of["gpu"]}},
		{"cgroup of the container: " + gib(p.charged), []string{
			"docker stats shows " + gib(p.dockerStats()) + " of it, without idle cache.",
			"The limit, " + gib(p.limit) + ", counts it and none of the " + gib(p.held),
			"that the container holds by the GPU.",
		}, charged},
		{"free: used " + gib(p.used()) + ", available " + gib(p.available), []string{"Used contains what the GPU holds."}, []block{p.drawn(block{Class: "used", bytes: p.used()})}},
		{"cudaMemGetInfo: free " + of["free"].GiB(), []string{
			"MemFree: page cache does not count as free.",
			"Up to " + gib(p.can.UpTo) + " if page cache is given up (not tried on",
			"a GB10); fit grants " + gib(p.can.Granted()) + ".",
		}, []block{of["free"]}},
	}
}

// managed is what the exporter calls kernel_other.
func (p pool) managed() int64 {
	rest := p.stat["kernel"]
	for _, named := range []string{"slab", "kernel_stack", "pagetables", "sec_pagetables", "percpu", "vmalloc", "zswap"} {
		rest -= p.stat[named]
	}
	return rest
}

// TestTheDrawingOfOnePoolIsOfTheConstructedSpark writes the drawing anew with -update. Its shapes are in the template,
// its sizes and figures come from the host.
func TestTheDrawingOfOnePoolIsOfTheConstructedSpark(t *testing.T) {
	p := drawnPool(t)
	parts := p.parts()
	if last := parts[len(parts)-1]; last.after+last.bytes != p.total {
		t.Errorf("the parts add up to %d, the pool is %d", last.after+last.bytes, p.total)
	}
	rows := p.rows(parts)
	var charged int64
	for _, part := range rows[1].Parts {
		charged += part.bytes
	}
	if charged != p.charged {
		t.Errorf("the kinds of the container add up to %d, charged is %d", charged, p.charged)
	}
	shapes, err := template.New("unified-memory.svg.tmpl").Funcs(template.FuncMap{
		"bands": ledger.Bands,
		"add":   func(a, b int) int { return a + b }, "mul": func(a, b int) int { return a * b },
	}).ParseFiles(drawnTemplate)
	must(t, err)
	var out bytes.Buffer
	err = shapes.Execute(&out, map[string]any{
		"Pool": gib(p.total), "Parts": parts, "Rows": rows, "Driver": parts[0],
		"Kernel": p.drawn(block{after: parts[2].after, bytes: p.total - parts[2].after}),
	})
	must(t, err)
	compareGolden(t, drawing, out.Bytes())
}
