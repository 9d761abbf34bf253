package main

import (
	"os"
	"strings"
)

// processor is what the kernel calls the first one.
func processor() string { return line("/proc/cpuinfo", "model name") }

// memory is all that there is.
func memory() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "unknown memory"
	}
	return mib(float64(kilobytes(string(text), "MemTotal:")))
}

func line(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for l := range strings.Lines(string(text)) {
		if key, value, is := strings.Cut(l, ":"); is && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
