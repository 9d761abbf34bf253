package hostfs

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// sampleNode is the memory of a node as the kernel writes it, shortened.
const sampleNode = `Node 1 MemTotal:       99090432 kB
Node 1 MemFree:        91125056 kB
Node 1 MemUsed:         7965376 kB
Node 1 AnonPages:        131072 kB
Node 1 HugePages_Total:     0
Node 1 HugePages_Free:      0
`

func nodeFiles(contents map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{"devices/system/node/online": {Data: []byte("0-1\n")}, "devices/system/node/has_cpu": {Data: []byte("0\n")}}
	for node, text := range contents {
		fsys["devices/system/node/"+node+"/meminfo"] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestNodesInOrderOfTheirNumbers(t *testing.T) {
	sys := nodeFiles(map[string]string{
		"node10": "Node 10 MemTotal:       0 kB\n",
		"node1":  sampleNode,
		"node0":  "Node 0 MemTotal:       502431744 kB\n",
	})
	sys["devices/system/node/node2/cpulist"] = &fstest.MapFile{Data: []byte("\n")} // going away
	want := []Node{
		{0, Meminfo{"MemTotal": 502431744 << 10}},
		{1, Meminfo{"MemTotal": 99090432 << 10, "MemFree": 91125056 << 10, "MemUsed": 7965376 << 10, "AnonPages": 131072 << 10}},
		{10, Meminfo{"MemTotal": 0}},
	}
	if got := must(t, ReadNodes, onDisk(t, sys)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestAKernelWithoutNUMAHasNoNodes(t *testing.T) {
	if _, err := ReadNodes(files(t, nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestAnotherNodesMemoryIsNotTakenForOnes(t *testing.T) {
	for text, why := range map[string]string{
		"":                              "no MemTotal",
		"Node 1 MemFree: 5 kB\n":        "no MemTotal",
		"Node 0 MemTotal: 5 kB\n":       "line 1",
		"MemTotal: 5 kB\n":              "line 1",
		"Node 1 MemTotal: 5 kB\nNode 1": "line 2",
		"Node 1 MemTotal: -5 kB\n":      "line 1",
	} {
		if got, err := ReadNodes(onDisk(t, nodeFiles(map[string]string{"node1": text}))); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "node1/meminfo") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestNodesOfThisMachineHaveNoMoreThanItsMemory reads the files of a real kernel. Their sum is MemTotal but
// in machines that are given memory while they run: a guest that was grown has more than its nodes say,
// which is why whoever takes a node for a part of MemTotal compares first.
func TestNodesOfThisMachineHaveNoMoreThanItsMemory(t *testing.T) {
	nodes, err := ReadNodes(Dir{Path: "/sys"})
	if errors.Is(err, fs.ErrNotExist) {
		nodes = []Node{{Meminfo: must(t, ReadMeminfo, Dir{Path: "/proc"})}} // a kernel without NUMA is one node
	} else if err != nil {
		t.Fatal(err)
	}
	var sum uint64
	for _, node := range nodes {
		sum += node.Meminfo["MemTotal"]
	}
	if total := must(t, ReadMeminfo, Dir{Path: "/proc"})["MemTotal"]; sum == 0 || sum > total {
		t.Errorf("the nodes have %d bytes, the machine %d", sum, total)
	}
}

func FuzzNodeMeminfo(f *testing.F) {
	addSeeds(f, sampleNode, "Node 1 MemTotal: 0 kB\n", "Node 2 MemTotal: 1 kB\n")
	parse := func(text string) (map[string]uint64, error) { return parseNodeMeminfo(text, 1) }
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		memory, err := parseNodeMeminfo(text, 1)
		if err != nil {
			return
		}
		if strings.Count(text, "Node 1 ") < len(memory) || len(memory) == 0 {
			t.Errorf("%d fields of %q", len(memory), text)
		}
		for name, bytes := range memory {
			if bytes%1024 != 0 || name == "" {
				t.Errorf("%q: %d", name, bytes)
			}
		}
		checkCut(t, partOfMap(parse), text, cut, len(memory))
	})
}
