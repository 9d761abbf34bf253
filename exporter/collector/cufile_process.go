package collector

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/hostfs"
)

// The library and its half for network file systems, by the prefix of the file name.
const (
	cufileLibrary     = "libcufile.so"
	cufileRDMALibrary = "libcufile_rdma.so"
)

// cufileLook is one inspection of a process.
type cufileLook struct {
	pid      uint32
	innerPID uint32 // as its logs have it
	comm     string
	cgroup   string
	evidence hostfs.CuFileEvidence // without the evidence of logs
	// configPath is the path of the process's configuration, "" if it has none; config is nil if it could not be read.
	configPath string
	config     *hostfs.CuFileConfig
	// logs are the possible paths of its logs, as the process names them.
	logs []string
}

// lookInto inspects the processes. Processes that the kernel hides are skipped.
func (c *cufileCollector) lookInto(ctx context.Context, pids []uint32) ([]*cufileLook, error) {
	looks, hidden, err := c.looks.into(ctx, pids)
	for _, pid := range hidden {
		looks = append(looks, &cufileLook{pid: pid})
	}
	return looks, err
}

// inspect inspects a process. What cannot be read leaves the evidence uninspected.
func inspect(host Host, pid uint32) *cufileLook {
	look := &cufileLook{pid: pid, innerPID: pid}
	look.comm, _ = hostfs.Comm(host.Proc, pid) // it may have ended since
	libraries, mapsErr := hostfs.MappedLibraries(host.Proc, pid, cufileLibrary, cufileRDMALibrary)
	files, filesErr := hostfs.OpenFiles(host.Proc, pid)
	look.evidence.Loaded, look.evidence.RDMALoaded = libraries[cufileLibrary], libraries[cufileRDMALibrary]
	look.evidence.Inspected = mapsErr == nil && filesErr == nil
	if !look.evidence.Inspected || !look.evidence.Loaded {
		look.addFiles(files)
		return look
	}
	look.cgroup, _ = hostfs.ProcessCgroup(host.Proc, pid)
	if status, err := hostfs.ReadProcessStatus(host.Proc, pid); err == nil {
		look.innerPID = cmp.Or(status.InnerPID, pid)
	}
	environ, err := hostfs.ReadEnviron(host.Proc, pid)
	look.evidence.ConfigUnknown = err != nil
	look.addConfig(host.Proc, environ)
	look.addFiles(files)
	look.addLogs(host.Proc, files, environ)
	peer, err := hostfs.HasPeerMemory(host.Sys)
	look.evidence.PeerMemory = peer || err != nil
	return look
}

// addFiles adds the evidence of open descriptors. Two descriptors of one file, one with O_DIRECT and one without, are a
// pair.
func (l *cufileLook) addFiles(files []hostfs.OpenFile) {
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
func (l *cufileLook) addConfig(proc hostfs.Dir, environ map[string]string) {
	forced, _ := strconv.ParseBool(strings.ToLower(environ["CUFILE_FORCE_COMPAT_MODE"]))
	l.evidence.ForcedCompat = forced
	name := cmp.Or(environ["CUFILE_ENV_PATH_JSON"], hostfs.DefaultCuFileConfigPath)
	if len(name) > unix.PathMax {
		l.evidence.ConfigUnknown = true // no file has such a name
		return
	}
	text, err := hostfs.ReadForeign(proc, l.pid, absolute(proc, l.pid, name))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	l.configPath = name
	config, parseErr := hostfs.ParseCuFileConfig(text)
	if err != nil || parseErr != nil {
		l.evidence.ConfigUnknown = true
		return
	}
	l.config = &config
	l.evidence.ForcedCompat = forced || config.Switches[hostfs.ForceCompatMode]
	allowed, said := config.Switches[hostfs.AllowCompatMode]
	l.evidence.CompatForbidden = said && !allowed
}

// addLogs finds the logs: the open ones, else the path where the library would create one.
func (l *cufileLook) addLogs(proc hostfs.Dir, files []hostfs.OpenFile, environ map[string]string) {
	named := environ["CUFILE_LOGFILE_PATH"]
	for _, file := range files {
		name := hostfs.ForeignPath(proc, l.pid, file.Target)
		isLog := file.SizeBytes != nil && !file.Deleted && (name == named || hostfs.IsCuFileLogName(path.Base(name)))
		if isLog && len(l.logs) < maxLogsOfProcess && !slices.Contains(l.logs, name) {
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

// absolute returns a process's path relative to its working directory.
func absolute(proc hostfs.Dir, pid uint32, name string) string {
	if path.IsAbs(name) {
		return name
	}
	directory, err := hostfs.ForeignWorkingDirectory(proc, pid)
	if err != nil {
		directory = "/"
	}
	return path.Join(directory, name)
}
