package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/cufile"
	"github.com/umascope/umascope/exporter/kernelfs"
)

// inspectionAge is how long what was seen of a process is taken for true: its mappings can be thousands of lines,
// for each of which the kernel holds up the process's own memory calls, and engines open files when they start.
const inspectionAge = 20 * time.Second

// The library and its half for network file systems, by how their files' names begin.
const (
	cufileLibrary     = "libcufile.so"
	cufileRDMALibrary = "libcufile_rdma.so"
)

// cufileLook is one look into a process.
type cufileLook struct {
	at       time.Time
	pid      uint32
	innerPID uint32 // as its logs have it
	comm     string
	cgroup   string
	evidence cufile.Evidence // less what logs tell
	// configPath is the configuration that the process has, "" if there is none; config is nil if it could
	// not be read.
	configPath string
	config     *cufile.Config
	// logs are where its logs may be, by its own names.
	logs []string
}

// lookInto looks into each process that has not been looked into lately. Processes that have ended are left
// out. When the time is up before all have been, it is an error, and the next collection goes on.
func (c *cufileCollector) lookInto(ctx context.Context, pids []uint32) ([]*cufileLook, error) {
	now := c.host.Now()
	var looks []*cufileLook
	current := map[processID]*cufileLook{}
	for _, pid := range pids {
		stat, err := kernelfs.ReadProcessStat(c.host.Proc, pid)
		if err != nil {
			if kernelfs.ProcessExists(c.host.Proc, pid) {
				looks = append(looks, &cufileLook{pid: pid}) // it hides
			}
			continue
		}
		id := processID{pid, stat.StartTicks}
		look := c.looks[id]
		if look == nil || !look.fresh(now) {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("not all processes could be looked into: %w", ctx.Err())
			}
			look = inspect(c.host, pid)
			if again, err := kernelfs.ReadProcessStat(c.host.Proc, pid); err != nil || again.StartTicks != id.start {
				continue // it has ended meanwhile, so that nothing could be seen of it
			}
			look.at, look.comm = now, stat.Comm
			c.looks[id] = look
		}
		current[id] = look
		looks = append(looks, look)
	}
	c.looks = current
	return looks, nil
}

func (l *cufileLook) fresh(now time.Time) bool {
	age := now.Sub(l.at)
	return age >= 0 && age < inspectionAge
}

// inspect looks into a process. What cannot be read leaves the evidence uninspected.
func inspect(host Host, pid uint32) *cufileLook {
	look := &cufileLook{pid: pid, innerPID: pid}
	libraries, mapsErr := kernelfs.MappedLibraries(host.Proc, pid, cufileLibrary, cufileRDMALibrary)
	files, filesErr := kernelfs.OpenFiles(host.Proc, pid)
	look.evidence.Loaded, look.evidence.RDMALoaded = libraries[cufileLibrary], libraries[cufileRDMALibrary]
	look.evidence.Inspected = mapsErr == nil && filesErr == nil
	if !look.evidence.Inspected || !look.evidence.Loaded {
		look.addFiles(files)
		return look
	}
	look.cgroup, _ = kernelfs.ProcessCgroup(host.Proc, pid)
	if status, err := kernelfs.ReadProcessStatus(host.Proc, pid); err == nil {
		look.innerPID = cmp.Or(status.InnerPID, pid)
	}
	environ, err := kernelfs.ReadEnviron(host.Proc, pid)
	look.evidence.ConfigUnknown = err != nil
	look.addConfig(host.Proc, environ)
	look.addFiles(files)
	look.addLogs(host.Proc, files, environ)
	peer, err := kernelfs.HasPeerMemory(host.Sys)
	look.evidence.PeerMemory = peer || err != nil
	return look
}

// addFiles takes in what the descriptors tell. Two of one file, one with O_DIRECT and one without, are a pair.
func (l *cufileLook) addFiles(files []kernelfs.OpenFile) {
	type identity struct {
		device string
		inode  uint64
	}
	type opened struct{ direct, buffered bool }
	ways := map[identity]opened{}
	for _, file := range files {
		if strings.HasPrefix(file.Target, "/dev/nvidia-fs") {
			l.evidence.NvidiaFS = true
		}
		if file.Direct == nil {
			continue
		}
		which := identity{file.Device, file.Inode}
		way := ways[which]
		way.direct, way.buffered = way.direct || *file.Direct, way.buffered || !*file.Direct
		ways[which] = way
	}
	for which, way := range ways {
		l.evidence.DirectFile = l.evidence.DirectFile || way.direct
		if way.direct && way.buffered && which.inode != 0 {
			l.evidence.TwinFile = true
		}
	}
}

// addConfig reads the configuration that the library uses in this process.
func (l *cufileLook) addConfig(proc fs.FS, environ map[string]string) {
	forced, _ := strconv.ParseBool(strings.ToLower(environ["CUFILE_FORCE_COMPAT_MODE"]))
	l.evidence.ForcedCompat = forced
	name := cmp.Or(environ["CUFILE_ENV_PATH_JSON"], cufile.DefaultConfigPath)
	if len(name) > unix.PathMax {
		l.evidence.ConfigUnknown = true // no file has such a name
		return
	}
	text, err := kernelfs.ReadForeign(proc, l.pid, absolute(proc, l.pid, name))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	l.configPath = name
	config, parseErr := cufile.ParseConfig(text)
	if err != nil || parseErr != nil {
		l.evidence.ConfigUnknown = true
		return
	}
	l.config = &config
	l.evidence.ForcedCompat = forced || config.Switches[cufile.ForceCompatMode]
	allowed, said := config.Switches[cufile.AllowCompatMode]
	l.evidence.CompatForbidden = said && !allowed
}

// addLogs finds the logs: those that are open, else where the library would put one.
func (l *cufileLook) addLogs(proc fs.FS, files []kernelfs.OpenFile, environ map[string]string) {
	named := environ["CUFILE_LOGFILE_PATH"]
	for _, file := range files {
		name := kernelfs.ForeignPath(proc, l.pid, file.Target)
		if file.SizeBytes != nil && !file.Deleted && (name == named || cufile.IsLogName(path.Base(name))) {
			l.logs = append(l.logs, name)
		}
	}
	l.evidence.LogOpen = len(l.logs) > 0
	if l.evidence.LogOpen {
		return
	}
	if named == "" {
		named = "cufile.log"
		if l.config != nil {
			named = path.Join(l.config.LogDirectory, named)
		}
	}
	l.logs = []string{absolute(proc, l.pid, named)}
}

// absolute is a process's name for a file that it has named, relative to where it works.
func absolute(proc fs.FS, pid uint32, name string) string {
	if path.IsAbs(name) {
		return name
	}
	directory, err := kernelfs.ForeignWorkingDirectory(proc, pid)
	if err != nil {
		directory = "/"
	}
	return path.Join(directory, name)
}
