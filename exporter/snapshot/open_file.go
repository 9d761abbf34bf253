package snapshot

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
)

// From a process's table of descriptors a recording keeps only the evidence of KVBM's disk tier, whose file is unlinked
// once it is open, and of GPUDirect Storage. The rest is private.

const (
	maxDescriptors = 4096 // read of one process
	maxKept        = 16   // recorded of one process
)

// descriptorPath is the path of a process's descriptors in an archive.
var descriptorPath = regexp.MustCompile(`^proc/[0-9]+/fd/[0-9]+$`)

func isDescriptor(path string) bool { return descriptorPath.MatchString(path) }

// parseSize parses the entry of an open file: its size in bytes.
//
//	size: 34359738368
func parseSize(text string) (uint64, error) {
	digits, labelled := strings.CutPrefix(strings.TrimSpace(text), "size: ")
	size, err := strconv.ParseUint(digits, 10, 63)
	if !labelled || err != nil {
		return 0, fmt.Errorf("%.40q is not the size of an open file", text)
	}
	return size, nil
}

func formatSize(size int64) []byte { return fmt.Appendf(nil, "size: %d\n", size) }

// diskTierFiles are the names that KVBM gives the file of its disk tier (Dynamo's block_manager, version 1 and 2), with
// the kernel's suffix for an unlinked file.
var diskTierFiles = regexp.MustCompile(`^(dynamo-kvbm-disk-cache-[\w.-]*|kvbm_g3_[\w.-]*\.bin)( \(deleted\))?$`)

// storageDevices are the character devices of nvidia-fs.
var storageDevices = regexp.MustCompile(`^/dev/nvidia-fs[0-9]*$`)

// collectDescriptors records the descriptors of a process that a collector reads.
func (w *walker) collectDescriptors(proc hostfs.Dir, pid uint32) {
	directory := strconv.FormatUint(uint64(pid), 10) + "/fd"
	kept := 0
	for _, fd := range descriptors(proc, directory) {
		target, err := hostfs.ReadProcessLink(proc, pid, "fd/"+fd)
		if err != nil || kept == maxKept {
			continue
		}
		at := procRoot + "/" + directory + "/" + fd + linkArrow
		switch name := path.Base(target); {
		case storageDevices.MatchString(target):
			w.add(at+target, nil)
			kept++
		case strings.HasPrefix(target, "/") && diskTierFiles.MatchString(name):
			// People named the directory.
			w.add(at+"/masked/"+w.masker.maskNames(name), sizeOf(proc, path.Join(directory, fd)))
			w.collectFDInfo(proc, pid, fd)
			kept++
		}
	}
}

// descriptors lists the numbers of a process's descriptors, in order.
func descriptors(proc hostfs.Dir, directory string) []string {
	names, _, _ := proc.Names(directory, maxDescriptors) // those read before an error are valid
	slices.Sort(names)
	return names
}

// sizeOf returns the entry of the open file, empty unless it is a regular file. The size is read through the
// descriptor, without opening the file.
func sizeOf(proc hostfs.Dir, name string) []byte {
	info, err := proc.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() < 0 {
		return nil
	}
	return formatSize(info.Size())
}

// collectFDInfo records how the file was opened and its identity, without the locks held on it.
func (w *walker) collectFDInfo(proc hostfs.Dir, pid uint32, fd string) {
	name := strconv.FormatUint(uint64(pid), 10) + "/fdinfo/" + fd
	text, err := proc.ReadFile(name)
	if err != nil {
		return
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		key, _, _ := strings.Cut(line, ":")
		if slices.Contains([]string{"pos", "flags", "mnt_id", "ino"}, key) {
			kept.WriteString(line)
		}
	}
	w.add(procRoot+"/"+name, []byte(kept.String()))
}
