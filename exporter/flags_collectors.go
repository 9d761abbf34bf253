package exporter

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
)

// maxCachePaths is the maximum number of page cache lookups at a time.
const maxCachePaths = 20

// defineCollectors adds the flags of single collectors. Flags that several of them use are those of every host.
func (l *commandLine) defineCollectors(c *kingpin.CmdClause) {
	c.Flag("collector.host.kernel-log", "Count driver errors in /dev/kmsg; may need CAP_SYSLOG.").BoolVar(&l.options.KernelLog)

	c.Flag("gpu.pcie", "Show PCIe traffic; costs 20 ms per direction and scrape.").BoolVar(&l.options.PCIeThroughput)

	groups := &l.options.Cgroups
	terminal.Flag(c, "cgroup.include", "Also show the cgroups with a match in their path.", "", &groups.Include, regexp.Compile).PlaceHolder("REGEX")
	terminal.Flag(c, "cgroup.limit", "Most cgroups shown, those with GPU memory first.", "200", &groups.Limit, terminal.AtLeast(1))
	c.Flag("cgroup.detail", "Show every kind of memory in memory.stat.").BoolVar(&groups.Detail)
	terminal.Flag(c, "cgroup.runtime-socket", "Docker-compatible socket for names of containers. Its users have root.", "", &groups.RuntimeSocket, socketPath).PlaceHolder("PATH")
	c.Flag("cgroup.names-file", "Names of containers: lines of id, name and image, or JSON objects by id.").PlaceHolder("FILE").StringVar(&groups.NamesFile)

	terminal.Flag(c, "process", "Also show the processes with a match in their name.", "", &l.options.Processes.Match, regexp.Compile).PlaceHolder("REGEX")

	l.defineSources(c)

	terminal.Flags(c, "memory.cache-path", "Show how much of this file or folder is in the page cache, twice a minute at most.",
		&l.options.CachePaths, cachePath(&l.options.CachePaths), terminal.AsGiven).PlaceHolder("PATH")

	c.Flag("collector.nvme.smart", "Read health logs of drives; needs CAP_SYS_ADMIN.").BoolVar(&l.options.NVMeSMART)
}

// defineSources adds the flags that name engines and KV block managers.
func (l *commandLine) defineSources(c *kingpin.CmdClause) {
	o := &l.options.Sources
	c.Flag("discovery", "Find engines by the loopback sockets of GPU processes.").Default("true").BoolVar(&l.discovery)
	terminal.Flags(c, "kvbm.url", "Page of metrics of KVBM or NIXL, such as http://127.0.0.1:6880/metrics.", &o.KVBM, engine.ParseEndpoint, terminal.WithoutQuery).PlaceHolder("URL")
	terminal.Flags(c, "engine.url", "Page of metrics of an engine that is not found, such as http://127.0.0.1:8000/metrics.", &o.Engines, engine.ParseEndpoint, terminal.WithoutQuery).PlaceHolder("URL")
	terminal.Flags(c, "engine.config.file", "TLS and credentials for --engine.url, as in Prometheus' scrape configs.",
		&l.pageAccess, parsePageAccess, terminal.AsGiven).PlaceHolder("[SOURCE=]FILE")
	terminal.Flags(c, "kvbm.log", "Log of an engine with KVBM, for counts of hits and queries.", &o.KVBMLogs, logPath, terminal.AsGiven).PlaceHolder("FILE")
	terminal.Flags(c, "kvbm.bytes-per-block", "Size of a KV block of a source (host:port/path), or of all, for bytes moved.", &l.blockSizes, parseBlockSize, terminal.AsGiven).PlaceHolder("[SOURCE=]BYTES")
	c.Flag("targets.file", "More URLs and logs, as file_sd with the label "+collector.TargetCollectorLabel+".").PlaceHolder("FILE").StringVar(&o.TargetsFile)
	c.Flag("engine.iteration-stats", "Read TensorRT-LLM's JSON statistics, which only one reader gets.").BoolVar(&o.IterationStats)
}

// blockSize is the size of a KV block of a source, "" for all others, in bytes.
type blockSize struct {
	source string
	bytes  uint64
}

func parseBlockSize(text string) (blockSize, error) {
	at := strings.LastIndex(text, "=") // a path may hold one too
	bytes, err := strconv.ParseUint(text[at+1:], 10, 64)
	if err != nil || bytes == 0 || at == 0 {
		return blockSize{}, fmt.Errorf("%q is no number of bytes, and not SOURCE=BYTES", text)
	}
	return blockSize{text[:max(at, 0)], bytes}, nil
}

// pageAccess is how the page of a source is asked for, "" for all engines of flags.
type pageAccess struct {
	source string
	access *engine.Access
}

func parsePageAccess(text string) (pageAccess, error) {
	at := strings.LastIndex(text, "=")
	if at == 0 {
		return pageAccess{}, fmt.Errorf("%q is no file, and not SOURCE=FILE", text)
	}
	access, err := collector.LoadAccess(text[at+1:])
	if err != nil {
		return pageAccess{}, fmt.Errorf("%s: %w", text[at+1:], err)
	}
	return pageAccess{text[:max(at, 0)], access}, nil
}

// enterAccess gives the sources of flags their credentials: those of a source to no other, those without a source to the
// engines that have none of their own.
func (l *commandLine) enterAccess() error {
	targets := l.options.Sources.Targets
	var rest *engine.Access
	for _, given := range l.pageAccess {
		if given.source == "" {
			if rest != nil {
				return errors.New("--engine.config.file: two files without SOURCE=")
			}
			rest = given.access
			continue
		}
		entered := false
		for _, e := range slices.Concat(targets.Engines, targets.KVBM) {
			if e.Source != given.source {
				continue
			}
			e.Access, entered = given.access, true
		}
		if !entered {
			return fmt.Errorf("--engine.config.file: neither --engine.url nor --kvbm.url names %s; a source is host:port/path", given.source)
		}
	}
	if rest != nil && len(targets.Engines) == 0 {
		return errors.New("--engine.config.file: no --engine.url to use it for; in --targets.file each group has its own authorization, basic_auth and tls_config")
	}
	for _, e := range targets.Engines {
		e.Access = cmp.Or(e.Access, rest)
	}
	return nil
}

// checkSources checks the sources together, and enters their credentials and the sizes of their blocks.
func (l *commandLine) checkSources() error {
	o := &l.options.Sources
	o.NoDiscovery = !l.discovery
	if err := l.enterAccess(); err != nil {
		return err
	}
	for _, size := range l.blockSizes {
		if _, twice := o.BytesPerBlock[size.source]; twice {
			return fmt.Errorf("--kvbm.bytes-per-block: %q is given twice", size.source)
		}
		if o.BytesPerBlock == nil {
			o.BytesPerBlock = map[string]uint64{}
		}
		o.BytesPerBlock[size.source] = size.bytes
	}
	if err := o.Targets.Check(); err != nil {
		return fmt.Errorf("--engine.url, --kvbm.url, --kvbm.log: %w", err)
	}
	return nil
}

// logPath accepts paths that do not exist yet: an engine makes its log when it starts.
func logPath(text string) (string, error) {
	if text == "" {
		return "", errors.New("must be a path")
	}
	return filepath.Abs(text)
}

// socketPath parses the path of a socket on this machine, also in the notation of DOCKER_HOST.
func socketPath(text string) (string, error) {
	path := strings.TrimPrefix(text, "unix://")
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("%q is not the absolute path of a socket such as /var/run/docker.sock", text)
	}
	return path, nil
}

// cachePath parses one more path.
func cachePath(paths *[]string) func(string) (string, error) {
	return func(text string) (string, error) {
		switch {
		case !filepath.IsAbs(text):
			return "", fmt.Errorf("%q is not an absolute path", text)
		case slices.Contains(*paths, text):
			return "", fmt.Errorf("%q is given twice", text)
		case len(*paths) == maxCachePaths:
			return "", fmt.Errorf("more than %d paths", maxCachePaths)
		}
		return text, nil
	}
}
