package snapshot

import (
	"fmt"
	"regexp"
	"strings"
)

// masker replaces what identifies a machine or its users with numbers of the same shape and length. The same value
// becomes the same number everywhere, so that names and paths still match.
type masker struct {
	identifiers []identifier
	hostName    *regexp.Regexp // nil if unknown
	numbers     map[string]int
	counts      map[string]int // how many of a kind have been seen
}

func newMasker(hostName string) *masker {
	m := &masker{identifiers: identifiers(), numbers: map[string]int{}, counts: map[string]int{}}
	short, _, _ := strings.Cut(hostName, ".")
	if short != "" && short != "localhost" {
		m.hostName = regexp.MustCompile(`\b` + regexp.QuoteMeta(short) + `(\.[A-Za-z0-9-]+)*\b`)
	}
	return m
}

// identifier is a shape to be masked.
type identifier struct {
	kind    string
	pattern *regexp.Regexp
	mask    func(found string, number int) string
}

// identifiers lists the shapes. A shape comes before those that contain it.
func identifiers() []identifier {
	const hex = `[0-9a-fA-F]`
	return []identifier{
		// UUIDs of GPUs, pods (with underscores in cgroup names), file systems, the boot.
		{"uuid", regexp.MustCompile(hex + `{8}([-_])` + hex + `{4}[-_]` + hex + `{4}[-_]` + hex + `{4}[-_]` + hex + `{12}`), maskUUID},
		// Containers (64 digits) and everything else with a hash for a name (32, 40).
		{"id", regexp.MustCompile(hex + `{32,}`), func(found string, n int) string {
			return fmt.Sprintf("%012x", n) + strings.Repeat("0", len(found)-12)
		}},
		// MAC addresses, those of InfiniBand (20 bytes, or GUIDs in groups of four) too.
		{"mac", regexp.MustCompile(hex + `{2}(:` + hex + `{2}){5,}`), func(found string, n int) string {
			return strings.Repeat("02:", (len(found)+1)/3-1) + fmt.Sprintf("%02x", n&0xff)
		}},
		{"guid", regexp.MustCompile(hex + `{4}(:` + hex + `{4}){3,}`), func(found string, n int) string {
			return strings.Repeat("0000:", (len(found)+1)/5-1) + fmt.Sprintf("%04x", n&0xffff)
		}},
		// Network interfaces named by MAC address, and bridges by the id of a container network.
		{"interface", regexp.MustCompile(`\b(enx|wlx|br-)` + hex + `{12}\b`), func(found string, n int) string {
			return found[:len(found)-12] + fmt.Sprintf("%012x", n)
		}},
	}
}

func maskUUID(found string, n int) string {
	separator := found[8:9]
	return strings.Join([]string{"00000000", "0000", "0000", "0000", fmt.Sprintf("%012x", n)}, separator)
}

// mask masks identifiers in a text or name.
func (m *masker) mask(text string) string {
	for _, id := range m.identifiers {
		text = id.pattern.ReplaceAllStringFunc(text, func(found string) string {
			return id.mask(found, m.number(id.kind, strings.ToLower(strings.ReplaceAll(found, "_", "-"))))
		})
	}
	return text
}

// maskNames masks identifiers and the host's name, which is an ordinary word, in text that people choose: names of
// processes and cgroups.
func (m *masker) maskNames(text string) string {
	if m.hostName != nil {
		text = m.hostName.ReplaceAllString(text, "host")
	}
	return m.mask(text)
}

// cgroupNames are names of cgroups by their makers' rules: systemd units, container runtimes. Other names are private.
var cgroupNames = regexp.MustCompile(`\.(slice|scope|service|mount|automount|socket|swap|partition)$|` +
	`^(docker|kubelet|kubepods|besteffort|burstable|libpod_parent|lxc|container|init|runtime|pod[0-9a-fA-F_-]+|` +
	`((libpod|libpod-payload|crio)-)?[0-9a-fA-F]{64})$`)

// machineNames are units that systemd names after a container or virtual machine; the name that people gave is in the
// middle.
var machineNames = regexp.MustCompile(`^(systemd-nspawn@|machine-(?:qemu\\x2d)?)(.+)(\.service|\.scope)$`)

// maskCgroup masks the path of a cgroup. A name that matches no rule becomes group1 and so on.
func (m *masker) maskCgroup(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if found := machineNames.FindStringSubmatch(part); found != nil {
			parts[i] = fmt.Sprintf("%smachine%d%s", found[1], m.number("machine", found[2]), found[3])
		} else if part != "" && !cgroupNames.MatchString(part) {
			parts[i] = fmt.Sprintf("group%d", m.number("cgroup", part))
		}
	}
	return m.maskNames(strings.Join(parts, "/"))
}

// maskProcessCgroups masks the paths in /proc/<pid>/cgroup, lines of hierarchy:controllers:path.
func (m *masker) maskProcessCgroups(text string) string {
	var masked strings.Builder
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) == 3 {
			masked.WriteString(fields[0] + ":" + fields[1] + ":" + m.maskCgroup(fields[2]) + "\n")
		}
	}
	return masked.String()
}

// number numbers the things of a kind from 1 in the order in which they appear.
func (m *masker) number(kind, found string) int {
	key := kind + " " + found
	if n, seen := m.numbers[key]; seen {
		return n
	}
	m.counts[kind]++
	m.numbers[key] = m.counts[kind]
	return m.counts[kind]
}
