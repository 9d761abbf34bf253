package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const mebibyte = 1 << 20

// buffers are bytes by name and kind as llama.cpp's log has them, such as "CUDA0 KV".
type buffers map[string]float64

var bufferLine = regexp.MustCompile(`(\S+) +(model|KV|compute|output) buffer size = +([0-9.]+) MiB`)

// readBuffers reads what one start of llama.cpp writes with -lv 4, and refuses a log whose starts differ.
func readBuffers(log string) (buffers, error) {
	found := buffers{}
	for _, line := range bufferLine.FindAllStringSubmatch(log, -1) {
		mib, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			return nil, err
		}
		key := line[1] + " " + line[2]
		if before, seen := found[key]; seen && before != mib*mebibyte {
			return nil, fmt.Errorf("%s is %.2f MiB in one start and %s in another", key, before/mebibyte, line[3])
		}
		found[key] = mib * mebibyte
	}
	for _, kind := range []string{"KV", "compute"} {
		if found.of(kind, anyDevice) == 0 {
			return nil, fmt.Errorf("no %s buffer: llama.cpp writes it with -lv 4", kind)
		}
	}
	return found, nil
}

func anyDevice(string) bool { return true }

// onGPU excludes CUDA_Host, which is pinned memory of the host.
func onGPU(device string) bool {
	return strings.HasPrefix(device, "CUDA") && !strings.HasSuffix(device, "_Host")
}

func onCPU(device string) bool { return device == "CPU" }

// of adds up the buffers of a kind on some devices.
func (b buffers) of(kind string, device func(string) bool) float64 {
	sum := 0.0
	for key, bytes := range b {
		name, itsKind, _ := strings.Cut(key, " ")
		if itsKind == kind && device(name) {
			sum += bytes
		}
	}
	return sum
}

// series sums the samples of a page whose name and labels contain all of the given texts.
func series(page, name string, labels ...string) (float64, bool) {
	sum, found := 0.0, false
	for line := range strings.Lines(page) {
		if rest, is := strings.CutPrefix(line, name); !is || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(line, l) }) {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			return 0, false
		}
		sum, found = sum+value, true
	}
	return sum, found
}

func readText(folder fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(folder, name)
	return string(b), err
}
